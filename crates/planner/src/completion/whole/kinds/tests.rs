use std::path::Path;

use super::*;
use crate::completion::whole::overrun::is_allowed;

/// A VM with a section of 1 ms, and 0.1 ms more for the hypervisor, in each period of 5 ms.
fn system(vcpu: &str) -> System {
    let vm = |name: &str, vcpu: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n\
             [[vm.vcpu]]\n{vcpu}\n[[vm.task]]\nname = \"t\"\nperiod = \"50ms\"\nwcet = \"2ms\"\n\
             sections = [{{ resource = \"bus\", length = \"1ms\" }}]\n"
        )
    };
    let text = format!(
        "platform = \"qemu-virt\"\nlocks = \"planned\"\n[[resource]]\nname = \"bus\"\n\
         vms = [\"a\", \"b\"]\n{}{}",
        vm("a", vcpu),
        vm("b", "")
    );
    System::from_toml("s.toml", &text, Path::new("")).unwrap_or_else(|it| panic!("{it}"))
}

/// Overrun that was chosen has its kind, its protocol and room, or goes; budgets that are given
/// stay.
#[test]
fn overrun_goes_where_it_does_not_fit() {
    let (mut before, mut after, mut kept) = (0, 0, 0);
    for server in ["planned", "deferrable"] {
        for budget in ["", "budget = \"3.9ms\"", "budget = \"3.91ms\"", "budget = \"5ms\""] {
            let vcpu = format!(
                "pcpu = 0\nserver = \"{server}\"\nperiod = \"5ms\"\noverrun = \"planned\"\n{budget}"
            );
            let described = system(&vcpu);
            let open = Open::of(&described);
            let mut all = starts(&described);
            let sporadic = others(&all[1], &open, Decision::Kind((0, 0)));
            all.extend(sporadic);
            for mut start in all {
                before += usize::from(!is_allowed(&start));
                let given = vcpu_budget(&start);
                fit(&mut start, &open);
                assert!(is_allowed(&start), "{server} {budget}");
                let has = start.overrun(0, 0) > Duration(0);
                after += usize::from(has);
                match budget {
                    "" => kept += usize::from(has && vcpu_budget(&start) < given),
                    "budget = \"3.9ms\"" => assert_eq!(vcpu_budget(&start), given),
                    _ => assert!(!has && vcpu_budget(&start) == given, "{server} {budget}"),
                }
            }
        }
    }
    assert!(before > 4 && after > 4 && kept > 1, "{before} {after} {kept}");
}

/// Candidates that differ only in this are not the same.
#[test]
fn starts_are_different_candidates() {
    let vcpu = "pcpu = 0\nserver = \"planned\"\nperiod = \"5ms\"\nbudget = \"1ms\"\n\
                overrun = \"planned\"";
    let all: Vec<_> = starts(&system(vcpu)).iter().map(super::super::decisions).collect();
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    // Sporadic servers have no overrun.
    assert_eq!((all.len(), different.len()), (9, 8));
}

fn vcpu_budget(system: &System) -> Duration {
    let server = vcpu(system, (0, 0)).server.as_ref();
    server.and_then(|it| it.class.value.budget()).map_or(Duration(0), |it| it.budget)
}
