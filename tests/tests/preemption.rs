//! Long work of the hypervisor for a VCPU (requests for colours, audits, restarts) is done in the
//! turn of this VCPU: others on its PCPU do not wait for it, and it has no more time than its budget.

use abi::trace::{Kind, Record};
use tests::{Case, Run, Vm};

/// Ticks of QEMU's counter in a microsecond, times 10.
const TICKS_PER_10_US: u64 = 625;

const fn ticks(us: u64) -> u64 {
    us * TICKS_PER_10_US / 10
}

/// The longest chunk: an instruction takes a nanosecond, and `make bench-exits` allows 30,000.
const CHUNK: u64 = ticks(30);
/// What taking turns costs, and interrupts that are served before; and the line that another PCPU of the emulator prints, if it
/// begins just before: it has its turn then.
const TURN: u64 = ticks(10);

/// Budget and period of the VM with the higher priority, in microseconds.
const FIRST: (u64, u64) = (150, 700);
/// Those of the other one: periods of the first begin at all times of its own.
const WORKER: (u64, u64) = (500, 1000);

fn server(vm: Vm, pcpu: usize, (budget, period): (u64, u64)) -> Vm {
    vm.more(&format!(
        "[[vm.vcpu]]\npcpu = {pcpu}\nserver = \"deferrable\"\n\
         budget = \"{budget}us\"\nperiod = \"{period}us\"\n"
    ))
}

/// A guest with the higher priority that takes all the time that it gets.
fn first(bursts: u64) -> Vm {
    let vm = Vm::rt("rt-supply").named("first").bootargs(&format!("supply.bursts={bursts}"));
    server(vm, 1, FIRST)
}

fn color(bootargs: &str) -> Vm {
    let vm = Vm::rt("rt-color").bootargs(bootargs);
    vm.key("colors", "0-3").key("extra_colors", "4-7").key("extra_memory", "4MiB")
}

/// When VCPUs of a VM ran, in a trace of their PCPU: from, to. Not the first time, of which the
/// trace may not have all.
fn turns(trace: &[Record], vm: u8) -> Vec<(u64, u64)> {
    let decided = |record: &&Record| matches!(record.kind(), Some(Kind::VcpuRun | Kind::Idle));
    let decisions: Vec<_> = trace.iter().filter(decided).collect();
    let pairs = decisions.windows(2).map(|pair| (pair[0], pair[1]));
    let own = pairs.filter(|(run, _)| run.kind() == Some(Kind::VcpuRun) && run.vm() == vm);
    own.map(|(run, next)| (run.ticks, next.ticks)).skip(1).collect()
}

/// All of its budget in each period, at most one chunk late.
fn is_not_delayed(turns: &[(u64, u64)]) {
    let (budget, period) = (ticks(FIRST.0), ticks(FIRST.1));
    for pair in turns.windows(2) {
        let [(start, end), (next, _)] = pair else { unreachable!() };
        let distance = next - start;
        assert!(
            distance.abs_diff(period) <= CHUNK + TURN,
            "at {start}: {distance} ticks between the starts of periods of {period}"
        );
        let burst = end - start;
        assert!(burst.abs_diff(budget) <= TURN, "at {start}: {burst} of {budget} ticks");
    }
}

/// In no number of periods there is more than so many budgets, and a chunk: with which it is over
/// its budget in the end, and which it pays back.
fn keeps_its_budget(turns: &[(u64, u64)]) {
    let (budget, period) = (ticks(WORKER.0), ticks(WORKER.1));
    for (index, &(from, _)) in turns.iter().enumerate() {
        let mut used = 0;
        for &(start, end) in &turns[index..] {
            used += end - start;
            // Two budgets of a deferrable server may meet where its period ends.
            let budgets = (end - from).div_ceil(period) + 1;
            let most = budgets * budget + CHUNK + TURN;
            assert!(used <= most, "from {from} to {end}: {used} of {most} ticks");
        }
    }
}

/// A VM has long work of a kind all the time; a third one tells the time.
fn nobody_waits_for(case: &str) {
    let worker = color(&format!("case={case} rounds=1000000000"));
    let traces = Case::new(&format!("preemption-{case}"))
        .timeout(300)
        .vm(first(1_000_000_000))
        .vm(server(worker.number("restart_limit", 1_000_000_000), 1, WORKER))
        .vm(Vm::rt("rt-beacon").bootargs("beacon.lines=1000000"))
        .trace_until("beacon: 40 ");
    let [first, worker] = [0, 1].map(|vm| turns(&traces[1], vm));
    assert!(first.len() > 50 && worker.len() > 50, "{} and {} turns", first.len(), worker.len());
    is_not_delayed(&first);
    keeps_its_budget(&worker);
}

#[test]
fn nobody_waits_for_requests() {
    nobody_waits_for("requests");
}

#[test]
fn nobody_waits_for_audits() {
    nobody_waits_for("audits");
}

#[test]
fn nobody_waits_for_restarts() {
    nobody_waits_for("restarts");
}

/// The second VCPU, on a CPU of its own, resets the VM while the first one is in the middle of a
/// request, most of the time without the CPU.
#[test]
fn a_vm_stops_while_its_work_waits() {
    let rare = (100, 1000);
    let vm = color("case=restart").number("restart_limit", 1);
    let run = Case::new("preemption-stop")
        .timeout(300)
        .vm(first(400))
        .vm(server(server(vm, 1, rare), 2, WORKER))
        .run()
        .ended();
    run.expect("bulkhead", "color: reset, restart 1 of 1");
    run.expect("color", "color: pool-is-whole ok");
    run.expect("color", "color: audit ok");
    run.expect("color", " passed, 0 failed");
}

/// A VM whose VCPUs have these PCPUs, each with servers, gets the colours that it asks for.
#[track_caller]
fn asks_for_colours(name: &str, pcpus: [usize; 2], case: &str) -> Run {
    let half = (300, 1000);
    let vm = color(&format!("case={case} serial=0x0a010000 reset=1")).number("restart_limit", 1);
    let vm = vm.more("color_serial = true\n");
    let vm = pcpus.into_iter().fold(vm, |vm, pcpu| server(vm, pcpu, half));
    let run = Case::new(name).timeout(300).vm(first(400)).vm(vm).run().ended();
    run.never("color", "skipped, there is no second VCPU");
    run.never("color", "skipped, no port");
    run.never("color", "FAILED");
    run.expect("color", " passed, 0 failed");
    run
}

#[test]
fn a_vcpu_that_shares_its_cpu_asks_in_every_way() {
    let run = asks_for_colours("preemption-cases", [1, 2], "all");
    for case in ["basic", "block", "user", "serial", "serial-reset", "writer", "two", "changes"] {
        run.expect("color", &format!("color: {case} ok"));
    }
    run.expect("bulkhead", "color: reset, restart 1 of 1");
}

/// One VCPU is stopped in the middle of a request, and the other one touches the pages, changes the
/// tables or resets the VM.
#[test]
fn siblings_on_a_cpu_get_in_the_way_of_a_request() {
    for case in ["writer", "changes", "serial", "serial-reset"] {
        let run = asks_for_colours(&format!("preemption-siblings-{case}"), [1, 1], case);
        run.expect("color", &format!("color: {case} ok"));
    }
}
