//! The possible growth of execution times, for people.

use lab::amount::time;
use report::text::table;
use verdict::{Sensitivity, TaskSensitivity};

/// The tasks, and all of them together.
pub fn show(sensitivity: &Sensitivity) -> String {
    let together = together(sensitivity);
    if sensitivity.all_ppm.is_none() {
        return format!("\n{together}\n");
    }
    let row = |it: &TaskSensitivity| {
        vec![
            it.vm.clone(),
            it.vcpu.to_string(),
            it.task.clone(),
            time(it.wcet_ns),
            it.growth_ns.map_or("-".into(), time),
            it.growth_ppm.map_or("-".into(), percent_down),
        ]
    };
    let rows: Vec<_> = sensitivity.tasks.iter().map(row).collect();
    let heading = ["VM", ">VCPU", "task", ">WCET", ">can grow by", ">of it"];
    format!("\n{}\n{together}\n", table(&heading, &rows))
}

/// All tasks together, in a sentence.
pub fn together(sensitivity: &Sensitivity) -> String {
    match sensitivity.all_ppm {
        Some(all) => format!("all execution times together can grow by {}", percent_down(all)),
        None if sensitivity.tasks.is_empty() => {
            "there are no tasks whose execution times could grow".into()
        }
        None => "no execution time can grow: some task or chain can be late as it is".into(),
    }
}

/// Returns a part in per cent with two decimals, rounded down, so that it is no larger than the part.
fn percent_down(ppm: u64) -> String {
    format!("{}.{:02} %", ppm / 10_000, ppm % 10_000 / 100)
}
