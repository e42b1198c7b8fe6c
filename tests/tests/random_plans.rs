//! Plans by chance: the hypervisor starts what was planned, and refuses what was changed with a message, or runs
//! it. `BULKHEAD_PLANS` and `BULKHEAD_SEED` give other numbers than those of `make test`.

use system::plan;
use testing::Random;
use tests::{Case, Run, Vm};

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |it| it.parse().expect("a number"))
}

/// One to four VMs that say a line each, with whatever a description may give them.
fn case(seed: u64) -> (Case, Vec<String>) {
    let random = &mut Random::new(seed);
    let mut case = Case::new(&format!("random-{seed}")).timeout(60);
    let colored = random.one_in(2);
    let budgets = random.one_in(3);
    if colored && random.one_in(2) {
        case = case.platform("hypervisor_colors", "15");
    }
    if budgets {
        case = case.counts_cycles(32);
    }
    let vms = 1 + random.below(4);
    let mut names = Vec::new();
    for number in 0..vms {
        let name = format!("vm{number}");
        let memory = 4 * (1 + random.below(8));
        let mut vm = Vm::rt("rt-beacon")
            .named(&name)
            .memory(&format!("{memory}MiB"))
            .bootargs("beacon.lines=2 beacon.ms=1");
        if colored {
            let first = 3 * number;
            vm = vm.key("colors", &format!("{first}-{}", first + [0, 1][random.below(2) as usize]));
            vm = match random.below(3) {
                0 => vm.more("vllc = true\n"),
                1 => vm.key("extra_colors", &(first + 2).to_string()).key("extra_memory", "2MiB"),
                _ => vm,
            };
        }
        if random.one_in(3) {
            vm = vm.more("warm_up = false\n");
        }
        if random.one_in(3) {
            vm = vm.key("on_crash", "restart").number("restart_limit", random.below(5));
        }
        // At most four of these share a PCPU.
        for _ in 0..=random.below(3) {
            let server = ["periodic", "deferrable", "sporadic"][random.below(3) as usize];
            let period = [1_000, 2_000, 5_000, 10_000][random.below(4) as usize];
            vm = vm.more(&format!(
                "[[vm.vcpu]]\npcpu = {number}\nserver = {server:?}\nperiod = \"{period}us\"\nbudget = \"{}us\"\n",
                period * (20 + random.below(13)) / 100,
            ));
            if budgets && random.one_in(2) {
                let accesses = 200_000 + random.below(800_000);
                vm = vm
                    .more(&format!("bandwidth = {{ accesses = {accesses}, period = \"1ms\" }}\n"));
            }
        }
        names.push(name);
        case = case.vm(vm);
    }
    (case, names)
}

#[track_caller]
fn survived(run: &Run, seed: u64) {
    for word in ["hypervisor panic", "hypervisor exception", "panicked"] {
        assert!(!run.log().contains(word), "seed {seed}: {word}\n{}", run.log());
    }
}

#[test]
fn what_is_planned_by_chance_boots() {
    let first = number("BULKHEAD_SEED", 1);
    let plans = number("BULKHEAD_PLANS", 4);
    let mut started = 0;
    for seed in first..first + plans {
        let (case, names) = case(seed);
        let run = case.run().ended();
        survived(&run, seed);
        for name in &names {
            run.expect(name, "beacon: ");
            run.summary(name, "off", "power-off", 0);
            started += 1;
        }
    }
    println!("random plans: {plans} booted, {started} VMs reached their last line");
}

/// Changes a few places: a number, a letter, a line. `None` if that is no device tree any more.
fn changed(source: &str, random: &mut Random) -> Option<Vec<u8>> {
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let at = random.below(lines.len() as u64) as usize;
        match random.below(6) {
            0 if lines[at].trim_end().ends_with(';') && !lines[at].contains('}') => {
                lines.remove(at);
            }
            1 => {
                let line = lines[at].clone();
                lines.insert(at, line);
            }
            _ => {
                let digits: Vec<usize> = lines[at]
                    .char_indices()
                    .filter(|(_, it)| it.is_ascii_alphanumeric())
                    .map(|(at, _)| at)
                    .collect();
                let Some(&digit) = digits.get(random.below(digits.len() as u64) as usize) else {
                    continue;
                };
                let new = b"0123456789abcdef"[random.below(16) as usize] as char;
                lines[at].replace_range(digit..=digit, &new.to_string());
            }
        }
    }
    plan::compile("plan.dts", &lines.join("\n")).ok()
}

#[test]
fn what_is_changed_by_chance_is_refused_or_runs() {
    let first = number("BULKHEAD_SEED", 1);
    let plans = number("BULKHEAD_PLANS", 6);
    let (mut refused, mut ran) = (0, 0);
    for seed in first..first + plans {
        let random = &mut Random::new(seed ^ 0xc4a9_6e5d);
        let case = case(seed).0.timeout(30);
        let source = case.plan().to_dts();
        let tree = (0..1000).find_map(|_| changed(&source, random)).expect("one of them is a tree");
        // Whatever the guests make of it: a plan that says something else may be one.
        let run = case.start(&case.image_with_plan(&tree), qemu::Time::Deterministic);
        let run = Run::of(run.finish(std::time::Duration::from_secs(30)));
        survived(&run, seed);
        if run.lines("bulkhead").iter().any(|line| line.contains("no VM was started")) {
            run.expect("bulkhead", "plan: /");
            assert!(!run.lines("bulkhead").contains(&"ready"), "seed {seed}\n{}", run.log());
            refused += 1;
        } else {
            run.expect("bulkhead", "ready");
            ran += 1;
        }
    }
    println!("changed plans: {refused} refused with node and property, {ran} ran");
}
