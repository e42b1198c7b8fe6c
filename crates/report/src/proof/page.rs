//! The page.

use crate::page::Page;
use crate::proof::{Proof, Responses};

/// The page.
pub fn html(proof: &Proof) -> String {
    let mut page = Page::new(&proof.name);
    page.text(if proof.holds {
        "Everything holds with the plan."
    } else {
        "Not everything holds."
    });
    page.list(proof.failures.iter().cloned());
    let ms = |ns: Option<u64>| ns.map_or("-".into(), |ns| format!("{:.3}", ns as f64 / 1e6));
    let max = |it: &Option<Responses>| ms(it.as_ref().and_then(|it| it.max_ns));
    let rows: Vec<Vec<String>> = proof
        .tasks
        .iter()
        .map(|task| {
            let vm = proof.vms.get(task.vm).map_or("", |vm| &vm.name);
            vec![
                format!("{vm}/{} {}", task.vcpu, task.name),
                ms(task.deadline_ns),
                ms(task.bound_with_ns),
                max(&task.simulated),
                max(&task.with),
                max(&task.without),
            ]
        })
        .collect();
    page.section("Tasks (ms)");
    let heading = ["task", ">deadline", ">bound", ">simulated", ">executed", ">without isolation"];
    page.table(&heading, &rows);
    page.list(proof.notes.iter().cloned());
    page.html()
}
