//! VCPUs that always access memory make exactly the accesses of their budgets, period after period: seen in
//! the trace, where each account stands with its time. The counter is that of cycles, because QEMU's CPUs
//! count no accesses.

mod real;

use real::{Recorded, campaign, project};
use trace::{Entry, Event, VcpuId};

/// Accesses beyond a budget at most until EL2 has stopped the VCPU: cycles, and so instructions, of
/// which all but one are EL2's own.
const OVERSHOOT: u64 = 128;

/// Periods after which no other CPU has anything to do: QEMU runs CPUs in turns, and the cycles of all are one.
const FIRST: u64 = 500;

fn vm(name: &str, arguments: &str, more: &str) -> String {
    let kernel = project().join("build/guests/rt-supply.bin");
    format!(
        "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel:?}\n\
         bootargs = \"supply.gap_ns=2500 {arguments}\"\n{more}"
    )
}

fn system(vms: &[String]) -> String {
    let counter = "[platform.bandwidth]\ncounter = \"cycles\"\n";
    format!(
        "name = \"memory-budgets\"\n[platform]\nboard = \"qemu-virt\"\n{counter}{}",
        vms.concat()
    )
}

/// What was told of a VCPU's accesses, with the times.
fn accounts(track: &[Entry], of: VcpuId) -> Vec<(u64, u64)> {
    let account = |entry: &Entry| match entry.event {
        Event::Account { vcpu, accesses } | Event::Overflow { vcpu, accesses } if vcpu == of => {
            Some((entry.ticks, accesses))
        }
        _ => None,
    };
    track.iter().filter_map(account).collect()
}

const ALONE: VcpuId = VcpuId { vm: 0, vcpu: 0 };

#[test]
fn a_vcpu_makes_the_accesses_of_its_budget_in_each_period() {
    let periods = campaign("BULKHEAD_PERIODS", 20_000);
    let (budget, period_us) = (60_000, 200);
    let arguments = format!("supply.bursts={periods} supply.skip=10");
    let vcpu = format!(
        "[[vm.vcpu]]\npcpu = 1\nbandwidth = {{ accesses = {budget}, period = \"{period_us}us\" }}\n"
    );
    let run = Recorded::new(&system(&[vm("alone", &arguments, &vcpu)]));
    run.replay();
    let trace = run.trace();
    let epoch = trace.epoch().expect("the start is recorded");
    let period = period_us * trace.header.frequency_hz / 1_000_000;
    let accounts = accounts(&trace.tracks[1], ALONE);
    let (mut made, mut number, mut worst) = (0, 0, 0);
    for &(ticks, accesses) in accounts.iter().take(periods as usize) {
        number += 1;
        made += accesses;
        // In its own period, and whatever was too much before is missing now.
        assert_eq!((ticks - epoch) / period + 1, number, "one overflow in each period");
        let beyond = made.checked_sub(number * budget).expect("it uses all of its budget");
        if number > FIRST {
            assert!(beyond <= OVERSHOOT, "{beyond} beyond {number} budgets");
            assert!(accesses <= budget + OVERSHOOT, "{accesses} in period {number}");
            worst = worst.max(beyond);
        }
    }
    assert_eq!(number, periods);
    println!("{worst} accesses beyond the budget at most");
}

/// Two VCPUs on two PCPUs share a budget; a critical VM beside them mostly waits, so that they get credits.
#[test]
fn the_vcpus_of_a_vm_share_its_budget_and_its_credits() {
    let (budget, period_us) = (50_000_u64, 200);
    let pool = format!("bandwidth = {{ accesses = {budget}, period = \"{period_us}us\" }}\n");
    let vcpus = "[[vm.vcpu]]\npcpu = 1\n[[vm.vcpu]]\npcpu = 2\n";
    for compensation in ["", "compensation = 2\n"] {
        let shared =
            vm("shared", "races.cpus=2 races.ms=500", &(pool.clone() + compensation + vcpus));
        let critical =
            vm("critical", "beacon.lines=40", "critical = true\n[[vm.vcpu]]\npcpu = 0\n");
        let shared = shared.replace("rt-supply", "rt-races");
        let run = Recorded::new(&system(&[shared, critical.replace("rt-supply", "rt-beacon")]));
        run.replay();
    }
}
