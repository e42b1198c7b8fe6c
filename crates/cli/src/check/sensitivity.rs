//! By how much execution times can grow, for people.

use lab::amount::time;
use report::text::table;
use verdict::{Sensitivity, TaskSensitivity};

/// The tasks, and all of them together.
pub fn show(sensitivity: &Sensitivity) -> String {
    let Some(all) = sensitivity.all_ppm else {
        return match sensitivity.tasks.is_empty() {
            true => "\nthere are no tasks whose execution times could grow\n".into(),
            false => {
                "\nno execution time can grow: some task or chain can be late as it is\n".into()
            }
        };
    };
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
    let together = format!("all execution times together can grow by {}\n", percent_down(all));
    format!("\n{}\n{together}", table(&heading, &rows))
}

/// In per cent with two decimals, rounded down: so much is sure.
fn percent_down(ppm: u64) -> String {
    format!("{}.{:02} %", ppm / 10_000, ppm % 10_000 / 100)
}
