//! Sets of changes that help where no single one does.

use super::{refused, task, vcpu, vm};

/// Two given VCPUs with budgets that are too small, in one VM with open tasks.
#[test]
fn two_changes_help_together() {
    let given = |pcpu: u64| {
        vcpu(&format!("server = \"sporadic\"\nperiod = \"10ms\"\nbudget = \"1ms\"\npcpu = {pcpu}"))
    };
    let tasks = task("one", "40ms", "\"9ms\"") + &task("two", "40ms", "\"9ms\"");
    let text = format!("platform = \"qemu-virt\"\n{}", vm("a", &(given(0) + &given(1) + &tasks)));
    let errors = refused(&text);
    assert!(errors.contains("it fits "), "{errors}");
}
