//! The experiment of vCache, section 6.2, with few task sets: what the paper says about the
//! order of the schemes holds, and this project's planner is better.
//!
//! `bulkhead reproduce vcache-fig13a vcache-fig13b` draws ten thousand.

mod systems;

use analysis::Duration;
use planner::baseline::{Coloring, Packing, evenly, pack};
use planner::published::cache_aware_vm::cache_aware_vm;
use planner::published::cache_to_vm::cache_to_vm;
use planner::search::Planner;
use planner::{Demand, Evaluator, Setting, Vm, exact};
use systems::vms;
use taskgen::vcache::TABLE_3;

/// Debug builds, which compare each bound of the analysis with a brute-force search, try fewer.
const SETS: u64 = if cfg!(debug_assertions) { 6 } else { 25 };
const COLORS: usize = 24;

/// Total VM utilisations of a system; none where a scheme fails.
#[derive(Clone, Copy, Debug)]
struct Totals {
    ccp: [Option<f64>; 3],
    ccs: [Option<f64>; 3],
    cavm: Option<f64>,
    cavm_exact: Option<f64>,
    ours: Option<f64>,
}

fn totals(vms: &[Vm], reload: Duration) -> Totals {
    let setting = Setting::new(32, reload).unwrap();
    let mut evaluator = Evaluator::new(setting);
    let mut packed = |coloring| {
        [Packing::Best, Packing::Worst, Packing::First].map(|packing| {
            let colors = evenly(COLORS, 8);
            let of_vm = |(vm, colors): (&Vm, &[usize])| {
                let period = vm.vcpus()[0].period;
                let packed = pack(&mut evaluator, vm.tasks(), colors, period, packing, coloring)?;
                let budgets: u64 = packed.iter().map(|vcpu| vcpu.budget.0).sum();
                Some(budgets as f64 / period.0 as f64)
            };
            vms.iter().zip(colors.chunks(4)).map(of_vm).sum()
        })
    };
    let (ccp, ccs) = (packed(Coloring::Partitioned), packed(Coloring::Shared));
    let mut design = |vm: &Vm| {
        let period = vm.vcpus()[0].period;
        cache_aware_vm(&mut evaluator, vm.tasks(), vm.vcpus().len(), COLORS, period)
    };
    let designs: Option<Vec<_>> = vms.iter().map(&mut design).collect();
    let demands: Option<Vec<&Demand>> =
        designs.as_ref().map(|vms| vms.iter().flatten().map(|vcpu| &vcpu.demand).collect());
    let total = |allocate: &dyn Fn(&[&Demand]) -> Vec<Option<_>>| {
        let allocation: planner::published::cache_to_vm::Allocation =
            allocate(demands.as_ref()?).pop()??;
        Some(allocation.total.0 as f64 / 1e18)
    };
    Totals {
        ccp,
        ccs,
        cavm: total(&|demands| cache_to_vm(demands, COLORS)),
        cavm_exact: total(&|demands| exact::cache_to_vm(demands, COLORS)),
        ours: Planner::new(vms, &setting).plan(COLORS).map(|plan| plan.total.0 as f64 / 1e18),
    }
}

/// Means over those systems that all schemes in question plan.
fn means<const N: usize>(all: &[Totals], of: impl Fn(&Totals) -> [Option<f64>; N]) -> [f64; N] {
    let mut sums = [0.0; N];
    let mut count = 0.0;
    for totals in all {
        let values = of(totals);
        if values.iter().all(Option::is_some) {
            count += 1.0;
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value.unwrap();
            }
        }
    }
    assert!(count >= SETS as f64 / 2.0, "only {count} systems are comparable");
    sums.map(|sum| sum / count)
}

fn run(reload: Duration) -> Vec<Totals> {
    let all: Vec<_> = (0..SETS).map(|set| totals(&vms(&TABLE_3, set, 4, 100), reload)).collect();
    for totals in &all {
        let (cavm, exact, ours) = (totals.cavm, totals.cavm_exact, totals.ours);
        assert!(exact.zip(cavm).is_none_or(|(exact, cavm)| exact <= cavm), "{totals:?}");
        assert!(ours.is_some_and(|ours| exact.is_none_or(|exact| ours <= exact)), "{totals:?}");
    }
    all
}

#[test]
fn sharing_pays_where_reloading_is_cheap() {
    let all = run(Duration(207_000));
    let means = means(&all, |totals| {
        let [bfd_p, wfd_p, ffd_p] = totals.ccp;
        let [bfd_s, wfd_s, ffd_s] = totals.ccs;
        [bfd_p, wfd_p, ffd_p, bfd_s, wfd_s, ffd_s, totals.cavm, totals.ours]
    });
    let [ccp @ .., bfd_s, wfd_s, ffd_s, cavm, ours] = means;
    for (ccp, ccs) in ccp.into_iter().zip([bfd_s, wfd_s, ffd_s]) {
        assert!(ccs < ccp, "{means:?}");
        // vCache: 1.19 to 1.55 times less.
        assert!(ccs / cavm > 1.19 && ccp / cavm < 1.55, "{means:?}");
    }
    assert!(cavm / ours > 1.05, "{means:?}");
}

#[test]
fn sharing_does_not_pay_where_reloading_is_dear() {
    let all = run(Duration(10_000_000));
    let means = means(&all, |totals| {
        let [bfd_p, wfd_p, ffd_p] = totals.ccp;
        let [bfd_s, wfd_s, ffd_s] = totals.ccs;
        [bfd_p, wfd_p, ffd_p, bfd_s, wfd_s, ffd_s, totals.cavm, totals.ours]
    });
    let [bfd_p, wfd_p, ffd_p, bfd_s, wfd_s, ffd_s, cavm, ours] = means;
    for (ccp, ccs) in [(bfd_p, bfd_s), (wfd_p, wfd_s), (ffd_p, ffd_s)] {
        assert!(cavm < ccp && ccp < ccs, "{means:?}");
    }
    assert!(wfd_s < bfd_s && wfd_s < ffd_s, "{means:?}");
    assert!(cavm / ours > 1.05, "{means:?}");
}
