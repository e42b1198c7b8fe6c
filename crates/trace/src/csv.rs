//! Traces as CSV: one line for each entry, in the order of time.
//!
//! | column | what |
//! |---|---|
//! | `time_ns` | nanoseconds from the start of the servers' first period, or from the first entry |
//! | `ticks` | time in ticks of the trace's clock |
//! | `pcpu` | index of the PCPU |
//! | `event` | `run`, `idle`, `stop`, `wake`, `block`, `tick`, `exit`, `interrupt`, `mark`, `vm-stop`, `vm-start`, `epoch`, `account`, `overflow`, `recharge`, `grant`, `lost` |
//! | `vm`, `vcpu` | name of the VM and index of the VCPU, if it is about them |
//! | `task`, `job`, `step` | of marks about jobs: name, number, `release`, `start` or `finish` |
//! | `value` | `run`: budget that is left in nanoseconds, empty without one; `exit`: ESR_EL2; `interrupt`: INTID; other marks: their value; `vm-stop`: number of the reason; `vm-start`: restarts; `epoch`: frequency of the clock in Hz; `account`, `overflow`, `recharge`, `grant`: accesses to memory; `lost`: number of records |

use std::io::Write;

use crate::Source;
use crate::records::rows;

const COLUMNS: [&str; 10] =
    ["time_ns", "ticks", "pcpu", "event", "vm", "vcpu", "task", "job", "step", "value"];

/// Writes a trace.
pub fn write<S: Source>(trace: &S, out: impl Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    for row in rows(trace) {
        writer.write_record([
            row.time_ns.to_string(),
            row.ticks.to_string(),
            row.pcpu.to_string(),
            row.event.to_owned(),
            row.vm.unwrap_or_default(),
            shown(row.vcpu),
            row.task.unwrap_or_default(),
            shown(row.job),
            shown(row.step),
            shown(row.value),
        ])?;
    }
    writer.flush()?;
    Ok(())
}

/// Returns the text of a value; none if there is no value.
fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
