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

use crate::{Event, Trace};

const COLUMNS: [&str; 10] =
    ["time_ns", "ticks", "pcpu", "event", "vm", "vcpu", "task", "job", "step", "value"];

/// Writes a trace.
pub fn write(trace: &Trace, out: impl Write) -> Result<(), csv::Error> {
    let clock = trace.clock();
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    for (pcpu, entry) in trace.merged() {
        let event = entry.event;
        let (mut vm, mut vcpu) = (String::new(), String::new());
        let (mut task, mut job, mut step) = (String::new(), String::new(), String::new());
        if let Some(id) = event.vcpu() {
            vm = trace.header.vm_name(id.vm);
            vcpu = id.vcpu.to_string();
        }
        let mut value = match event {
            Event::Run { budget, .. } => budget.map(|ticks| clock.length_ns(ticks)),
            Event::Exit { syndrome, .. } => Some(syndrome),
            Event::Interrupt { intid, .. } => Some(intid),
            Event::Mark { value, .. } => Some(value),
            Event::VmStop { vm: index, reason: number }
            | Event::VmStart { vm: index, restarts: number } => {
                vm = trace.header.vm_name(index);
                Some(number)
            }
            Event::Epoch { frequency_hz } => Some(frequency_hz),
            Event::Lost { records } => Some(records),
            Event::Account { accesses, .. }
            | Event::Overflow { accesses, .. }
            | Event::Recharge { accesses, .. }
            | Event::Grant { accesses, .. } => Some(accesses),
            Event::Lock { vcpu, task: number, resource, .. } => {
                task = trace.header.task_name(vcpu, number);
                Some(u64::from(resource))
            }
            _ => None,
        };
        if let Some((id, mark)) = event.job() {
            task = trace.header.task_name(id, mark.task);
            job = mark.job.to_string();
            step = mark.step.to_string();
            value = None;
        }
        let value = value.map_or_else(String::new, |value| value.to_string());
        let (time, ticks) = (clock.ns(entry.ticks).to_string(), entry.ticks.to_string());
        let (pcpu, name) = (pcpu.to_string(), event.name().to_owned());
        writer.write_record([time, ticks, pcpu, name, vm, vcpu, task, job, step, value])?;
    }
    writer.flush()?;
    Ok(())
}
