//! A run that is over, for people.

use lab::deadlines::Task;
use lab::record::Recorded;
use lab::run::{Runner, Summary, VmDocument};
use report::text::table;

use super::counts;
use crate::check::chains;

/// Returns tables of VMs, tasks and caches, and the problems.
pub fn text(summary: &Summary) -> String {
    let document = summary.document();
    let rows: Vec<_> = document.vms.iter().map(vm_row).collect();
    let heading = [
        "VM",
        "state",
        ">restarts",
        ">exits",
        ">interrupts",
        ">lines",
        ">first line",
        ">last line",
    ];
    let mut text = format!("\n{}", table(&heading, &rows));
    let tasks = document.vms.iter().flat_map(|vm| vm.tasks.iter().map(|it| task_row(&vm.name, it)));
    let tasks: Vec<_> = tasks.collect();
    if !tasks.is_empty() {
        let heading = [
            "VM",
            "task",
            ">period",
            ">jobs",
            ">misses",
            ">response min",
            ">mean",
            ">max",
            ">deadline",
            ">bound",
        ];
        text.push('\n');
        text.extend(summary.heading().map(|heading| format!("{heading}\n")));
        text.push_str(&table(&heading, &tasks));
    }
    text.push_str(&chains::seen(&document.chains));
    text.extend(document.cachescope.iter().map(|it| format!("\n{}", counts::text(it))));
    text.push('\n');
    text.extend(document.trace.iter().map(|it| recording(it, summary.runner())));
    // QEMU also warns of things that are as they should be.
    for line in document.qemu_messages.lines().filter(|_| !document.problems.is_empty()) {
        text.push_str(&format!("QEMU says: {line}\n"));
    }
    text.extend(summary.notes().iter().map(|note| format!("note: {note}\n")));
    text.extend(document.problems.iter().map(|problem| format!("not well: {problem}\n")));
    if document.problems.is_empty() && summary.is_over() {
        text.push_str(&match summary.unseen() {
            None => "all is well\n".into(),
            Some(unseen) => format!("nothing went wrong, but {unseen}\n"),
        });
    } else {
        text.push_str(&format!("log: {}\n", document.log_file));
    }
    text
}

fn vm_row(vm: &VmDocument) -> Vec<String> {
    let number = |value: Option<u64>| value.map_or("-".into(), |value| value.to_string());
    let time = |time: Option<u64>| {
        time.map_or("-".into(), |millis| format!("{}.{:03} s", millis / 1000, millis % 1000))
    };
    let state = match &vm.reason {
        Some(reason) => format!("{} ({reason})", vm.state),
        None => vm.state.clone(),
    };
    vec![
        vm.name.clone(),
        state,
        number(vm.restarts),
        number(vm.exits),
        number(vm.interrupts),
        vm.lines.to_string(),
        time(vm.first_line_ms),
        time(vm.last_line_ms),
    ]
}

fn task_row(vm: &str, task: &Task) -> Vec<String> {
    let micros = |nanos: Option<u64>| {
        nanos.map_or("-".into(), |nanos| format!("{}.{:03} us", nanos / 1000, nanos % 1000))
    };
    vec![
        vm.into(),
        task.name.clone(),
        task.period_us.map_or("-".into(), |period| format!("{period} us")),
        task.jobs.to_string(),
        task.misses.to_string(),
        micros(task.response_min_ns),
        micros(task.response_mean_ns),
        micros(task.response_max_ns),
        micros(task.deadline_ns),
        micros(task.bound_ns),
    ]
}

/// Returns the line about the recorded trace, and lost records.
fn recording(Recorded { file, records, lost }: &Recorded, runner: Runner) -> String {
    let writer = match runner {
        Runner::Hypervisor => "the hypervisor wrote records",
        Runner::Kvm => "records came from the VMs and the scheduler",
    };
    let lost = match lost {
        0 => "none lost".into(),
        lost => format!("{lost} LOST: {writer} faster than this machine read them"),
    };
    format!("trace: {file}, {records} records, {lost}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_said_of_what_ran_the_system() {
        let recorded = |lost| Recorded { file: "f".into(), records: 7, lost };
        let text = |lost, runner| recording(&recorded(lost), runner);
        assert_eq!(text(0, Runner::Kvm), "trace: f, 7 records, none lost\n");
        let [board, kvm] = [Runner::Hypervisor, Runner::Kvm].map(|runner| text(5, runner));
        assert!(board.contains(" 5 LOST: the hypervisor wrote records faster"), "{board}");
        assert!(kvm.contains(" 5 LOST: ") && !kvm.contains("hypervisor"), "{kvm}");
    }
}
