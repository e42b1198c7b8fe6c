//! The same seed gives the same numbers on all machines and in all versions.

use std::fmt::Write;
use std::fs;

use policy::time::Duration;
use taskgen::automotive::Automotive;
use taskgen::capped::Capped;
use taskgen::randfixedsum::RandFixedSum;
use taskgen::vcache::TABLE_3;
use taskgen::vmpcp::TABLE_1;
use taskgen::{Random, effect_chains, log_uniform, uunifast, uunifast_discard};

/// Numbers of 0..1 as billionths of billionths: all of their digits.
fn parts(numbers: &[f64]) -> String {
    let parts: Vec<String> = numbers.iter().map(|x| ((x * 1e18) as u64).to_string()).collect();
    parts.join(" ")
}

fn drawn() -> String {
    let mut text = String::new();
    let mut random = Random::new(2017, 1);
    let mut line = |name: &str, numbers: String| writeln!(text, "{name}: {numbers}").unwrap();
    for n in [1, 3, 8] {
        line("uunifast", parts(&uunifast::sample(&mut random, n, 0.8).unwrap()));
    }
    let sample = uunifast_discard::sample(&mut random, 6, 2.0, 0.6, 10_000).unwrap();
    line("uunifast-discard", parts(&sample));
    for (n, sum) in [(5, 2.0), (9, 3.3)] {
        let generator = RandFixedSum::new(n, sum, 0.05, 0.9).unwrap();
        line("randfixedsum", parts(&generator.sample(&mut random)));
    }
    let capped = Capped::new(1.7, &[0.1, 0.25, 0.9, 0.5, 0.7]).unwrap();
    line("capped", parts(&capped.sample(&mut random).unwrap()));
    let (min, max, step) = (Duration(1_000_000), Duration(1_000_000_000), Duration(1_000));
    for _ in 0..3 {
        let period = log_uniform::sample(&mut random, min, max, step).unwrap();
        line("log-uniform", period.0.to_string());
    }
    let automotive = Automotive::default();
    for _ in 0..5 {
        let it = automotive.sample(&mut random);
        let times = [it.period, it.bcet, it.acet, it.wcet].map(|time| time.0.to_string());
        line("automotive", times.join(" "));
    }
    for set in 0..2 {
        for vm in TABLE_3.sample(&mut Random::new(2017, set)).unwrap() {
            line("vcache vm", vm.vcpu_period.0.to_string());
            for task in vm.tasks {
                let wcet: Vec<_> =
                    [1, 2, 8, 32].iter().map(|k| task.wcet[k - 1].0.to_string()).collect();
                let numbers = [task.period.0.to_string(), task.working_set.to_string()];
                line("vcache task", format!("{} {}", numbers.join(" "), wcet.join(" ")));
            }
        }
    }
    for vcpu in TABLE_1.sample(&mut Random::new(2014, 0)).unwrap().iter().flatten().take(4) {
        line("vmpcp vcpu", vcpu.priority.to_string());
        for task in &vcpu.tasks {
            let (period, wcet) = (task.period.0, task.wcet.0);
            line("vmpcp task", format!("{period} {wcet} {:?}", task.mutexes));
        }
    }
    let mut random = Random::new(2019, 0);
    let set = Automotive::default().set(&mut random, 0.5, 0.01, 10_000).unwrap();
    line("automotive set", set.len().to_string());
    let periods: Vec<Duration> = set.iter().map(|it| it.period).collect();
    for _ in 0..12 {
        line("effect chain", format!("{:?}", effect_chains::sample(&mut random, &periods)));
    }
    text
}

#[test]
fn numbers_are_the_stored_ones() {
    let drawn = drawn();
    let now = concat!(env!("CARGO_TARGET_TMPDIR"), "/golden.txt");
    fs::write(now, &drawn).unwrap();
    for (drawn, stored) in drawn.lines().zip(include_str!("golden.txt").lines()) {
        assert_eq!(drawn, stored, "all that is drawn now: {now}");
    }
    assert_eq!(drawn.lines().count(), include_str!("golden.txt").lines().count(), "{now}");
}
