//! The entries of a trace as rows of a table.

use crate::{Event, Source, Step};

/// An entry, with names where it has numbers. The columns of [`crate::csv`] say what each field is.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "said with the columns")]
pub struct Row {
    pub time_ns: i64,
    pub ticks: u64,
    pub pcpu: usize,
    pub event: &'static str,
    pub vm: Option<String>,
    pub vcpu: Option<u8>,
    pub task: Option<String>,
    pub job: Option<u32>,
    pub step: Option<Step>,
    pub value: Option<u64>,
}

/// All entries, in the order of time.
pub fn rows<S: Source>(trace: &S) -> impl Iterator<Item = Row> + '_ {
    let (clock, header) = (trace.clock(), trace.header());
    trace.merged().map(move |(pcpu, entry)| {
        let event = entry.event;
        let mut row = Row {
            time_ns: clock.ns(entry.ticks),
            ticks: entry.ticks,
            pcpu,
            event: event.name(),
            vm: None,
            vcpu: None,
            task: None,
            job: None,
            step: None,
            value: None,
        };
        if let Some(id) = event.vcpu() {
            row.vm = Some(header.vm_name(id.vm));
            row.vcpu = Some(id.vcpu);
        }
        row.value = match event {
            Event::Run { budget, .. } => budget.map(|ticks| clock.length_ns(ticks)),
            Event::Exit { syndrome, .. } => Some(syndrome),
            Event::Interrupt { intid, .. } => Some(intid),
            Event::Mark { value, .. } => Some(value),
            Event::VmStop { vm: index, reason: number }
            | Event::VmStart { vm: index, restarts: number } => {
                row.vm = Some(header.vm_name(index));
                Some(number)
            }
            Event::Epoch { frequency_hz } => Some(frequency_hz),
            Event::Lost { records } => Some(records),
            Event::Account { accesses, .. }
            | Event::Overflow { accesses, .. }
            | Event::Recharge { accesses, .. }
            | Event::Grant { accesses, .. } => Some(accesses),
            Event::Lock { vcpu, task: number, resource, .. } => {
                row.task = Some(header.task_name(vcpu, number));
                Some(u64::from(resource))
            }
            _ => None,
        };
        if let Some((id, mark)) = event.job() {
            row.task = Some(header.task_name(id, mark.task));
            row.job = Some(mark.job);
            row.step = Some(mark.step);
            row.value = None;
        }
        row
    })
}
