//! Least budgets beside all others.

use std::path::Path;

use super::*;
use crate::completion::whole::Request;

/// Two VMs with a VCPU each on the last PCPU, whose budgets are open.
fn system(periods: [u64; 2], wcets: [u64; 2]) -> System {
    let vm = |name: &str, period: u64, wcet: u64| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
             kernel = \"rt.bin\"\n[[vm.vcpu]]\npcpu = 3\nserver = \"deferrable\"\n\
             period = \"{period}us\"\n[[vm.task]]\nname = \"t\"\nvcpu = 0\n\
             period = \"20ms\"\nwcet = \"{wcet}us\"\n[[vm.task]]\nname = \"u\"\n\
             vcpu = 0\nperiod = \"35ms\"\nwcet = \"{wcet}us\"\n"
        )
    };
    let [one, other] = [0, 1].map(|at| vm(["a", "b"][at], periods[at], wcets[at]));
    let text = format!("platform = \"qemu-virt\"\n{one}{other}");
    System::from_toml("s.toml", &text, Path::new("")).unwrap_or_else(|it| panic!("{it}"))
}

/// The budgets hold, none of them can be less, and where there are none, no others hold.
#[test]
fn least_budgets_are_the_least_and_none_is_missed() {
    let (candidates, mut found, mut missed) = (Cell::new(0), 0, 0);
    let request = Request::new(u64::MAX, &candidates, &|| false);
    for periods in [[5_000, 5_000], [3_000, 5_000], [7_000, 4_000], [2_500, 9_000]] {
        for wcets in [[500, 900], [1_500, 2_000], [3_000, 3_500], [4_500, 4_000], [5_500, 5_000]] {
            let open = system(periods, wcets);
            let judge = Judge::new(&request);
            let patterns = Patterns::new(&judge, &open).expect("PCPUs are apart");
            let need = patterns.need(&open);
            let with = |budgets: [u64; 2]| {
                let budget = |(vm, budget): (usize, u64)| {
                    let period = Duration(periods[vm] * 1_000);
                    ((vm, 0), Budget { budget: Duration(budget), period })
                };
                let budgets = budgets.into_iter().enumerate().map(budget).collect();
                with_budgets(open.clone(), &Need { budgets, ..Need::default() })
            };
            if !need.holds() {
                missed += 1;
                for (one, other) in (1..25).flat_map(|one| (1..25).map(move |it| (one, it))) {
                    let part = |vm: usize, part: u64| periods[vm] * 1_000 / 25 / 16 * 16 * part;
                    let tried = with([part(0, one), part(1, other)]);
                    assert!(!judge.holds(&tried), "{periods:?} {wcets:?} {one} {other}");
                }
                continue;
            }
            found += 1;
            let mut budgets = [0; 2];
            need.budgets.iter().for_each(|((vm, _), it)| budgets[*vm] = it.budget.0);
            assert!(judge.holds(&with(budgets)), "{periods:?} {wcets:?} {budgets:?}");
            for vm in 0..2 {
                let mut less = budgets;
                less[vm] -= patterns.grain;
                assert!(!judge.holds(&with(less)), "{periods:?} {wcets:?} {less:?}");
            }
        }
    }
    assert!(found > 3 && missed > 3, "{found} {missed}");
}

/// Where all that is left is more than a VCPU can get, less can be enough.
#[test]
fn a_budget_is_found_beside_one_above_that_comes_at_a_bad_time() {
    let (candidates, request_of) = (Cell::new(0), Request::new);
    let request = request_of(u64::MAX, &candidates, &|| false);
    let judge = Judge::new(&request);
    let open = system([3_000, 5_000], [900, 900]);
    let patterns = Patterns::new(&judge, &open).expect("PCPUs are apart");
    let class = vcpu(&open, (0, 0)).server.as_ref().expect("a server").class.value;
    let above = |budget: u64| {
        let budget = Budget { budget: Duration(budget * 1_000), period: Duration(3_000_000) };
        ((0, 0), class.with_budget(budget))
    };
    let time = |steps: u64| steps * 1_000;
    // 2.5 ms of 5 ms are left, but two budgets of 1.5 ms can come one after the other.
    let most = patterns.served(&open, (1, 0), &[above(1_500)], 2_500, time);
    assert!(most.is_some_and(|most| (1_000..2_000).contains(&most)), "{most:?}");
    let least = patterns.least(&open, (1, 0), None, (&[above(1_500)], &[]), 2_500_000, false);
    assert!(least.is_some(), "it gets enough for its tasks");
}
