//! Systems of vMPCP, section V.A: whether they are schedulable, by server and analysis.

mod evaluate;
mod sweep;

pub use evaluate::{Analysis, Evaluator, Outcome, Scheme, draw};
pub use sweep::Settings;
