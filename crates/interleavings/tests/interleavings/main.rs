//! What CPUs of the hypervisor do at the same time, interleaving by interleaving. Each mutant is found.

mod attention;
mod channel;
mod cpus;
mod links;
mod ticket;
mod wire;

/// Returns the number of interleavings to draw in place of `usual`: BULKHEAD_INTERLEAVINGS, if it is set.
fn iterations(usual: usize) -> usize {
    std::env::var("BULKHEAD_INTERLEAVINGS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}
