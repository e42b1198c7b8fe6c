//! Tasks that share resources across VCPUs: the analysis beside the printed equations, and beside
//! a model of the protocol that goes tick by tick.

mod case_study;
mod counterexamples;
mod counts;
mod described;
mod equations;
mod hostile;
mod model;
mod policy;
mod random;
mod searches;
mod simulated;
mod supply;
