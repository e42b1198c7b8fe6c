//! What the records of a run say.

use abi::trace::{Kind, Record};

pub fn time_of_action(record: &Record) -> u64 {
    // The record of the epoch is written before it.
    if record.kind() == Some(Kind::Epoch) { 0 } else { record.ticks }
}

/// Start and length of each execution of a VM.
pub fn runs(records: &[Record], vm: u8) -> Vec<(u64, u64)> {
    let acts = |it: &&Record| matches!(it.kind(), Some(Kind::VcpuRun | Kind::Idle));
    let acts: Vec<_> = records.iter().filter(acts).collect();
    let pairs =
        acts.windows(2).filter(|pair| pair[0].kind() == Some(Kind::VcpuRun) && pair[0].vm() == vm);
    pairs.map(|pair| (pair[0].ticks, pair[1].ticks - pair[0].ticks)).collect()
}
