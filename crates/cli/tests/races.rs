//! Timers, waiting, interrupts between VCPUs and of a device, by chance, under servers that are chosen by chance
//! too: no interrupt is lost or doubled, and what was decided comes out again.

mod real;

use testing::Random;

use real::{Recorded, campaign, project};

/// Longest period of a server.
const PERIOD_MAX_US: u64 = 2_000;
/// Ticks of QEMU's counter in 2 microseconds.
const TICKS_PER_2_US: u64 = 125;

const DEVICE: &str = r#"[[vm.device]]
compatible = ["arm,pl031", "arm,primecell"]
address = 0x0901_0000
size = "4KiB"
interrupt = 34
"#;

/// Five VCPUs of two VMs on PCPUs 1 and 2.
fn system(seed: u64) -> String {
    let mut random = Random::new(seed);
    let kernel = project().join("build/guests/rt-races.bin");
    // A PCPU has one background VCPU at most: one that waits for another's lock would wait for ever.
    let mut background = [false; 2];
    let mut vcpu = || {
        let pcpu = random.below(2);
        let taken = &mut background[pcpu as usize];
        let kind = ["periodic", "deferrable", "sporadic", "background"][random.below(4) as usize];
        if kind == "background" && !std::mem::replace(taken, true) {
            return format!("[[vm.vcpu]]\npcpu = {}\nserver = \"background\"\n", pcpu + 1);
        }
        let kind = if kind == "background" { "deferrable" } else { kind };
        let period = [500, 1_000, 1_500, PERIOD_MAX_US][random.below(4) as usize];
        // Five of them fit.
        let budget = period * (8 + random.below(10)) / 100;
        format!(
            "[[vm.vcpu]]\npcpu = {}\nserver = {kind:?}\nbudget = \"{budget}us\"\nperiod = \"{period}us\"\n",
            pcpu + 1
        )
    };
    let mut vm = |name: &str, cpus: u64, number: u64, device: &str| {
        let vcpus: String = (0..cpus).map(|_| vcpu()).collect();
        format!(
            "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel:?}\n\
             bootargs = \"races.cpus={cpus} races.seed={} races.ms=400 races.device={}\"\n{vcpus}{device}",
            2 * seed + number,
            u8::from(!device.is_empty()),
        )
    };
    let (a, b) = (vm("a", 3, 0, DEVICE), vm("b", 2, 1, ""));
    format!("platform = \"qemu-virt\"\n{a}{b}")
}

#[test]
#[ignore = "takes half a minute"]
fn no_interrupt_is_lost_whatever_coincides() {
    for seed in 1..=campaign("BULKHEAD_SEEDS", 8) {
        let system = system(seed);
        let run = Recorded::new(&system);
        for (vm, cpus) in [("a", 3), ("b", 2)] {
            let wrong = |key| run.value(vm, "races: lost", key);
            let wrong = ["lost", "doubled", "early", "strayed"].map(wrong);
            assert_eq!(wrong, [0; 4], "seed {seed}: {system}{}", run.out);
            let count = |key| run.value(vm, "races: cpus", key);
            assert_eq!(count("cpus"), cpus, "seed {seed}: {}", run.out);
            let few = count("timers") < 1_000 || count("sgis") < 500;
            assert!(!few, "seed {seed}: too little happens\n{}", run.out);
            // A budget that is used up is renewed within a period, as are those that go before.
            let late = count("late_max_ticks") as u64 * 2 / TICKS_PER_2_US;
            assert!(
                late <= 3 * PERIOD_MAX_US,
                "seed {seed}: a timer is {late} us late\n{}",
                run.out
            );
        }
        assert!(run.value("a", "races: cpus", "alarms") > 100, "seed {seed}: {}", run.out);
        run.replay();
    }
}
