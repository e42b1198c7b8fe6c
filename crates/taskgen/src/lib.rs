//! Random task sets for experiments.
//!
//! | module | what it draws |
//! |---|---|
//! | [`uunifast`] | utilisations with a given sum, each at least 0 |
//! | [`uunifast_discard`] | the same, none above a common limit, by trial |
//! | [`randfixedsum`] | numbers between common limits with a given sum, without trials |
//! | [`capped`] | numbers with a given sum, each below a limit of its own |
//! | [`log_uniform`] | periods |
//! | [`automotive`] | periods and execution times as in engine control units |
//! | [`effect_chains`] | cause-effect chains as in engine control units |
//! | [`wcet`] | execution times as functions of the cache size |
//! | [`vcache`] | whole systems: the experiment of vCache, section 6.2 |
//! | [`vmpcp`] | whole systems with mutexes: the experiments of vMPCP, section V.A |
//!
//! All draws with a given sum are uniform: every point that satisfies the limits
//! is equally likely. (Dirichlet-Rescale, often used for limits that differ, is not:
//! [`capped`] is.)
//!
//! The same seed gives the same numbers on all machines and in all versions: the
//! generator is ChaCha8, and logarithms and powers are those of `libm`. A change of
//! the numbers would be a change of experiments, and is caught by a test.
//!
//! ```
//! use taskgen::{Random, uunifast};
//!
//! let mut random = Random::new(2017, 0);
//! let utilizations = uunifast::sample(&mut random, 5, 0.8)?;
//! assert_eq!(utilizations.len(), 5);
//! assert!((utilizations.iter().sum::<f64>() - 0.8).abs() < 1e-12);
//! # Ok::<(), taskgen::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod automotive;
pub mod capped;
pub mod effect_chains;
mod error;
pub mod log_uniform;
pub mod randfixedsum;
mod random;
pub mod uunifast;
pub mod uunifast_discard;
pub mod vcache;
pub mod vmpcp;
pub mod wcet;

pub use error::Error;
pub use random::Random;
