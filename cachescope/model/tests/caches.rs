//! The caches against a reference, and against properties that they must have.

mod reference;

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_cachescope_model::{
    Access, Block, Cache, Found, Geometry, Hierarchy, LineOperation, Machine, Options, Owner,
    Policy, Position, Replacement, Request,
};
use proptest::prelude::*;
use reference::{Counts, Lru, Reference, Tree, Use};

/// A CPU, a line and what the CPU does with it.
type Step = (usize, u64, Use);

/// Accesses of Linux on two CPUs under the hypervisor, recorded while user space starts.
const RECORDED: &str = include_str!("traces/linux.txt");

fn options(arguments: &[&str]) -> Options {
    let all = ["out=x"].iter().chain(arguments).copied();
    Options::parse(all, |_| unreachable!("no file is named")).unwrap()
}

fn recorded() -> Vec<Step> {
    let step = |line: &str| {
        let (kind, number) = line.split_once(' ').unwrap();
        let cpu = kind[1..].parse().unwrap();
        let what = if kind.starts_with('w') { Use::Store } else { Use::Load };
        (cpu, u64::from_str_radix(number, 16).unwrap(), what)
    };
    RECORDED.lines().map(step).collect()
}

/// One step of the model.
fn step(model: &mut Hierarchy, cpu: usize, who: Owner, line: u64, what: Use) {
    let load = Request { cpu, who, line, store: false, whole: false, now: 0 };
    let store = Request { store: true, ..load };
    match what {
        Use::Load => _ = model.access(load),
        Use::Store => _ = model.access(store),
        Use::Fetch => _ = model.fetch(load),
        Use::Operate(LineOperation::Zero) => {
            _ = model.access(Request { whole: true, ..store });
        }
        Use::Operate(operation) => model.operate(cpu, operation, line, 0),
    }
}

/// Runs both and compares what they count and what they hold.
fn compare(options: &Options, cpus: usize, steps: &[Step]) -> Counts {
    let mut model = Hierarchy::new(options, cpus);
    let l1 = options.l1.expect("the reference has private caches");
    let owners = options.owners.clone();
    let mut reference = Reference {
        private: vec![Lru::new(l1.sets(), l1.ways() as usize); cpus],
        instructions: vec![Lru::new(options.l1i.sets(), options.l1i.ways() as usize); cpus],
        shared: Lru::new(options.llc.sets(), options.llc.ways() as usize),
        inclusive: options.inclusive,
        counts: Counts::default(),
        owner_of: Box::new(move |line| owners.of(line * 64).index()),
    };
    for &(cpu, line, what) in steps {
        let who = options.vm_of(cpu).unwrap_or(Owner::UNOWNED);
        step(&mut model, cpu, who, line, what);
        reference.step(cpu, who.index(), line, what);
    }
    let all: Vec<Owner> = options.owners.iter().collect();
    let totals: Vec<_> = all.iter().map(|&owner| model.tally().totals(owner, 1)).collect();
    let mut evictions = BTreeMap::new();
    for found in model.tally().evictions(&all) {
        let kind = (found.accessor.index(), found.incoming.index(), found.evicted.index());
        *evictions.entry(kind).or_default() += found.count;
    }
    let counts = Counts {
        l1_misses: totals.iter().map(|totals| totals.l1_misses).sum(),
        l1i_misses: totals.iter().map(|totals| totals.l1i_misses).sum(),
        read: totals.iter().map(|totals| totals.memory_read_bytes).sum(),
        llc_misses: totals.iter().map(|totals| totals.llc_misses).sum(),
        written: totals.iter().map(|totals| totals.memory_written_bytes).sum(),
        evictions,
    };
    assert_eq!(counts, reference.counts);
    assert_eq!(sorted(model.last(0)), reference.shared.lines());
    for cpu in 0..cpus {
        assert_eq!(
            sorted(model.private(cpu).unwrap()),
            reference.private[cpu].lines(),
            "CPU {cpu}"
        );
    }
    counts
}

fn sorted(cache: &Cache) -> Vec<(u64, bool)> {
    let mut lines: Vec<_> = cache.lines().collect();
    lines.sort_unstable();
    lines
}

const MEMORY: [&str; 3] =
    ["vm=hypervisor:0x40000000+96MiB", "vm=linux:0x46000000+512MiB", "vm=rt:0x66000000+16MiB"];

#[test]
fn a_recorded_trace_has_the_misses_of_the_reference() {
    let steps = recorded();
    let cpus: BTreeSet<usize> = steps.iter().map(|step| step.0).collect();
    assert!(cpus.len() > 1 && steps.len() > 10_000, "{} steps of {cpus:?}", steps.len());
    // Caches of the Cortex-A53 are too large for a short trace to fill them.
    for (l1, llc) in [("32KiB:4", "1MiB:16"), ("2KiB:2", "16KiB:4"), ("512:1", "8KiB:8")] {
        for inclusive in ["inclusive=off", "inclusive=on"] {
            let (l1, llc) = (format!("l1={l1}"), format!("llc={llc}"));
            let mut arguments = vec![l1.as_str(), llc.as_str(), inclusive];
            arguments.extend(MEMORY);
            arguments.extend(["cpu=0:linux", "cpu=1:linux", "cpu=2:rt"]);
            let counts = compare(&options(&arguments), 4, &steps);
            assert!(counts.llc_misses > 0);
        }
    }
}

fn steps(cpus: usize, lines: u64) -> impl Strategy<Value = Vec<Step>> {
    let line = (0..lines).prop_map(|line| line + 0x4000_0000 / 64);
    let what = prop_oneof![
        4 => Just(Use::Load),
        4 => Just(Use::Store),
        2 => Just(Use::Fetch),
        1 => Just(Use::Operate(LineOperation::Zero)),
        1 => Just(Use::Operate(LineOperation::CleanToShared)),
        1 => Just(Use::Operate(LineOperation::Clean)),
        1 => Just(Use::Operate(LineOperation::Remove)),
    ];
    prop::collection::vec((0..cpus, line, what), 1..1500)
}

proptest! {
    #[test]
    fn random_traces_have_the_misses_of_the_reference(
        steps in steps(3, 600),
        l1 in prop::sample::select(vec!["128:1", "512:2", "1KiB:4"]),
        llc in prop::sample::select(vec!["1KiB:4", "4KiB:16", "3KiB:12", "16KiB:1"]),
        inclusive in any::<bool>(),
    ) {
        let (l1, llc) = (format!("l1={l1}"), format!("llc={llc}"));
        let inclusive = if inclusive { "inclusive=on" } else { "inclusive=off" };
        let options = options(&[
            &l1, &llc, inclusive, "l1i=512:2", "vm=a:0x40000000+16KiB", "vm=b:0x40004000+16KiB",
            "cpu=0:a", "cpu=1:b", "cpu=2:b",
        ]);
        compare(&options, 3, &steps);
    }

    /// Where nothing is shared, a line that one CPU has changed is in no cache of another, and what a
    /// CPU does alone is what it does with a shared cache.
    #[test]
    fn caches_that_are_not_shared_are_coherent(
        steps in steps(3, 600),
        l1 in prop::sample::select(vec!["none", "128:1", "1KiB:4"]),
        inclusive in prop::sample::select(vec!["inclusive=on", "inclusive=off"]),
    ) {
        let l1 = format!("l1={l1}");
        let arguments = [&l1, inclusive, "llc=4KiB:4", "l1i=512:2", "llc-shared=off"];
        let options = options(&arguments);
        let mut model = Hierarchy::new(&options, 3);
        for &(cpu, line, what) in &steps {
            step(&mut model, cpu, Owner::UNOWNED, line, what);
        }
        let lines = |cpu| {
            model.private(cpu).into_iter().chain([model.last(cpu)]).flat_map(Cache::lines)
        };
        for (cpu, other) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            let held: BTreeSet<u64> = lines(other).map(|(line, _)| line).collect();
            let shared = lines(cpu).find(|(line, changed)| *changed && held.contains(line));
            prop_assert!(shared.is_none(), "{shared:x?} of CPU {cpu} is in a cache of {other}");
        }
        let alone = |shared| {
            let mut arguments = arguments;
            arguments[4] = shared;
            let mut model = Hierarchy::new(&self::options(&arguments), 1);
            for &(_, line, what) in &steps {
                step(&mut model, 0, Owner::UNOWNED, line, what);
            }
            (model.tally().totals(Owner::UNOWNED, 1), model.bus().transfers())
        };
        prop_assert_eq!(alone("llc-shared=on"), alone("llc-shared=off"));
    }

    /// Mattson's inclusion: with the same sets, more ways hold all that fewer hold.
    #[test]
    fn lru_with_more_ways_holds_a_superset(steps in steps(1, 200)) {
        let cache = |ways: u32| {
            let geometry = Geometry::new(8 * 64 * u64::from(ways), ways, 64).unwrap();
            Cache::new(geometry, Policy::Lru, 0)
        };
        let mut caches: Vec<Cache> = (1..=6).map(cache).collect();
        for &(_, line, what) in &steps {
            let store = what == Use::Store;
            for cache in &mut caches {
                if cache.touch(line, store) == Found::No {
                    cache.fill(line, store);
                }
            }
            for pair in caches.windows(2) {
                for (line, _) in pair[0].lines() {
                    prop_assert!(pair[1].contains(line), "line {line:#x}");
                }
            }
        }
    }

    #[test]
    fn plru_is_the_tree_that_it_is_named_after(
        power in 0_u32..=6,
        uses in prop::collection::vec(any::<usize>(), 1..400),
    ) {
        let ways = 1_u32 << power;
        let geometry = Geometry::new(u64::from(ways) * 64, ways, 64).unwrap();
        let mut model = Replacement::new(Policy::Plru, geometry, 0);
        let mut tree = Tree::new(0..ways as usize);
        for way in uses {
            prop_assert_eq!(model.victim(0), tree.victim());
            model.touch(0, way % ways as usize);
            tree.touch(way % ways as usize);
        }
    }

    #[test]
    fn a_cache_holds_a_line_once_in_its_set_and_never_too_many(
        steps in steps(1, 300),
        policy in prop::sample::select(vec![Policy::Lru, Policy::Plru, Policy::Random]),
    ) {
        let geometry = Geometry::new(4096, 8, 64).unwrap();
        let mut cache = Cache::new(geometry, policy, 3);
        let mut held = BTreeSet::new();
        for &(_, line, what) in &steps {
            let store = what == Use::Store;
            let found = cache.touch(line, store);
            prop_assert_eq!(found != Found::No, held.contains(&line));
            if found == Found::No {
                if let Some(victim) = cache.fill(line, store) {
                    prop_assert!(held.remove(&victim.line));
                    prop_assert_eq!(victim.line % geometry.sets(), line % geometry.sets());
                }
                held.insert(line);
            }
        }
        prop_assert_eq!(cache.lines().map(|(line, _)| line).collect::<BTreeSet<_>>(), held);
    }

    #[test]
    fn an_inclusive_cache_holds_all_that_private_ones_hold(steps in steps(3, 600)) {
        let options = options(&["l1=1KiB:4", "llc=2KiB:2", "inclusive=on", "llc-policy=random"]);
        let mut model = Hierarchy::new(&options, 3);
        for &(cpu, line, what) in &steps {
            step(&mut model, cpu, Owner::UNOWNED, line, what);
            for cpu in 0..3 {
                for (line, _) in model.private(cpu).unwrap().lines() {
                    prop_assert!(model.last(0).contains(line), "line {line:#x} of CPU {cpu}");
                }
            }
        }
    }

    /// VM a has the even pages, VM b the odd ones: two colours.
    ///
    /// Stands behind P11 of the safety manual.
    #[test]
    fn disjoint_colors_never_evict_each_other(
        steps in prop::collection::vec((0_usize..2, 0_u64..2000, any::<bool>()), 1..3000),
        policy in prop::sample::select(vec!["lru", "plru", "random"]),
        inclusive in prop::sample::select(vec!["inclusive=on", "inclusive=off"]),
    ) {
        let evictions = |colored: bool| {
            let policy = format!("llc-policy={policy}");
            let mut arguments =
                vec!["l1=1KiB:2".into(), "llc=16KiB:2".into(), policy, inclusive.into()];
            for page in 0..64 {
                let vm = if page % 2 == 0 { "a" } else { "b" };
                arguments.push(format!("vm={vm}:{:#x}+4096", 0x4000_0000 + page * 4096_u64));
            }
            arguments.extend(["cpu=0:a".into(), "cpu=1:b".into()]);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let mut machine = Machine::new(options(&arguments), 2);
            for &(cpu, line, store) in &steps {
                let block = Block { instructions: 1, first_access: 0, privileged: false };
                machine.enter_block(cpu, block);
                let page = line / 64 * 2 + if colored { cpu as u64 } else { 0 };
                let address = 0x4000_0000 + page * 4096 + line % 64 * 64;
                machine.access(Position { at: 0, next: 1 }, Access { address, store });
            }
            machine.summary().evictions
        };
        let colored = evictions(true);
        prop_assert_eq!((colored.cross_by_accessor, colored.cross_by_line), (0, 0));
        // The same accesses in one colour: who fills the cache, evicts the other.
        let shared = evictions(false);
        prop_assert!(shared.total >= shared.cross_by_accessor);
        if steps.len() > 2500 {
            prop_assert!(shared.cross_by_accessor > 0);
        }
    }
}
