//! Memory budgets and delays by hand.

use policy::bandwidth::Parameters;
use policy::cpu::WHOLE_CPU;
use policy::server::Policy;
use policy::time::{Duration, Instant};
use sim::{
    Accesses, Compensation, Contention, Error, Event, Execution, Limits, Memory, MemoryBudget,
    Pcpu, Pool, Release, Silent, Simulation, System, Task, Vcpu,
};

fn task(period: u64, time: u64, accesses: Accesses) -> Task {
    Task {
        name: format!("{time} in {period}"),
        offset: 0,
        period,
        deadline: period,
        release: Release::Periodic,
        execution: Execution::Always(time),
        accesses,
    }
}

/// It executes all the time.
fn endless(accesses: Accesses) -> Task {
    task(u64::MAX, u64::MAX, accesses)
}

fn parameters(budget: u64, period: u64) -> Parameters {
    Parameters { budget, period: Duration(period), start: Instant(0) }
}

fn vcpu(memory: MemoryBudget, tasks: Vec<Task>) -> Vcpu {
    Vcpu { memory, ..Vcpu::new("vcpu", WHOLE_CPU, tasks) }
}

/// Each VCPU has a PCPU for itself.
fn system(vcpus: Vec<Vcpu>, memory: Memory) -> System {
    let pcpus = vcpus.into_iter().map(|vcpu| Pcpu { vcpus: vec![vcpu] }).collect();
    System { memory, ..System::new(pcpus) }
}

fn contention(latency: u64, always_longest: bool) -> Memory {
    let contention = Some(Contention { latency, always_longest });
    Memory { contention, ..Memory::default() }
}

fn run(system: &System, until: u64) -> Simulation {
    let mut simulation = Simulation::new(system, 1).unwrap();
    simulation.run(Limits { until, events: u64::MAX }, &mut Silent).unwrap();
    simulation
}

/// 10 accesses in 100 ns, of which it may make 4 in 50.
#[test]
fn a_job_waits_for_accesses() {
    let own = MemoryBudget::Own(parameters(4, 50));
    let found = run(
        &system(vec![vcpu(own, vec![task(500, 100, Accesses::PerJob(10))])], Memory::default()),
        500,
    );
    // 4 until 40, 4 from 50 to 90, 2 from 100 to 120.
    assert_eq!(found.task(0, 0, 0).response_max_ns, 120);
    let vcpu = found.vcpu(0, 0);
    assert_eq!((vcpu.accesses, vcpu.throttled_ns, vcpu.supply_ns), (10, 20, 100));
}

#[test]
fn one_that_waits_for_accesses_frees_its_pcpu() {
    let own = MemoryBudget::Own(parameters(4, 50));
    let high = vcpu(own, vec![task(500, 100, Accesses::PerJob(10))]);
    let low = Vcpu::new("low", Policy::Background, vec![task(500, 25, Accesses::None)]);
    let system = System::new(vec![Pcpu { vcpus: vec![high, low] }]);
    let found = run(&system, 500);
    assert_eq!(found.task(0, 0, 0).response_max_ns, 120);
    // 40 to 50, 90 to 100, 120 to 125.
    assert_eq!(found.task(0, 1, 0).response_max_ns, 125);
}

#[test]
fn a_shared_budget_is_that_of_all() {
    let sharing = || vcpu(MemoryBudget::Shared(0), vec![endless(Accesses::Every(1))]);
    let pool = Pool { name: "vm".into(), parameters: parameters(160, 1_000), compensation: None };
    let memory = Memory { pools: vec![pool], contention: None };
    let idle = vcpu(MemoryBudget::None, Vec::new());
    let found = run(&system(vec![idle, sharing(), sharing()], memory), 10_000);
    assert_eq!((found.vcpu(1, 0).accesses, found.vcpu(2, 0).accesses), (800, 800));
}

/// Each access of a job meets one of a neighbour that makes them when it does.
#[test]
fn with_others_all_accesses_are_delayed() {
    let victim = vcpu(MemoryBudget::None, vec![task(500, 100, Accesses::PerJob(10))]);
    let other = vcpu(MemoryBudget::None, vec![endless(Accesses::WithOthers)]);
    let found = run(&system(vec![victim.clone(), other.clone()], contention(7, true)), 500);
    assert_eq!(found.task(0, 0, 0).response_max_ns, 170);
    assert_eq!((found.vcpu(0, 0).delayed_ns, found.vcpu(1, 0).accesses), (70, 10));
    // Two neighbours delay twice.
    let found =
        run(&system(vec![victim.clone(), other.clone(), other.clone()], contention(7, true)), 500);
    assert_eq!(found.task(0, 0, 0).response_max_ns, 240);
    // One that may make 3 in each 100: at 10, 27, 44, and 101, 118, 135.
    let few = Vcpu { memory: MemoryBudget::Own(parameters(3, 100)), ..other };
    let found = run(&system(vec![victim, few], contention(7, true)), 500);
    assert_eq!(found.task(0, 0, 0).response_max_ns, 142);
    assert_eq!(found.vcpu(1, 0).throttled_ns, (100 - 44) + (200 - 135));
}

/// Also if the job that waits is preempted by one that makes accesses too.
#[test]
fn an_access_delays_one_access_of_a_pcpu() {
    let low = task(500, 10, Accesses::PerJob(2));
    let high = Task { offset: 6, ..task(500, 2, Accesses::PerJob(2)) };
    let victim = vcpu(MemoryBudget::None, vec![high, low]);
    // One access in each 100: that at 5, for which the job waits after the other one.
    let own = MemoryBudget::Own(parameters(1, 100));
    let other = vcpu(own, vec![endless(Accesses::WithOthers)]);
    let found = run(&system(vec![victim, other], contention(3, false)), 500);
    assert_eq!(found.task(0, 0, 0).response_max_ns, 2);
    assert_eq!(found.task(0, 0, 1).response_max_ns, 10 + 3 + 2);
}

/// An access waits for the rest of one that another PCPU has made shortly before.
#[test]
fn an_access_waits_until_another_one_is_over() {
    let job = |offset, accesses| Task { offset, ..task(1_000, 100, accesses) };
    let system = |longest, distance| {
        let first = vcpu(MemoryBudget::None, vec![job(0, Accesses::PerJob(1))]);
        let second = vcpu(MemoryBudget::None, vec![job(distance, Accesses::PerJob(1))]);
        system(vec![first, second], contention(20, longest))
    };
    for (longest, distance, response) in [(false, 5, 115), (true, 5, 120), (true, 20, 100)] {
        let found = run(&system(longest, distance), 1_000);
        assert_eq!(found.task(0, 0, 0).response_max_ns, 100);
        assert_eq!(found.task(1, 0, 0).response_max_ns, response, "{longest} {distance}");
    }
}

/// Beside a critical VCPU that does nothing, two periods have three budgets.
#[test]
fn unused_interference_is_given_back() {
    let run = |critical_accesses| {
        let compensation = Some(Compensation { periods: 2, flush_task_switch: false });
        let pool = Pool { name: "vm".into(), parameters: parameters(100, 1_000), compensation };
        let critical = vcpu(MemoryBudget::None, vec![endless(Accesses::Every(critical_accesses))]);
        let critical = Vcpu { critical: true, ..critical };
        let other = vcpu(MemoryBudget::Shared(0), vec![endless(Accesses::Every(1))]);
        let memory = Memory { pools: vec![pool], contention: None };
        run(&system(vec![critical, other], memory), 10_000).vcpu(1, 0).accesses
    };
    assert_eq!(run(1 << 40), 5 * 300);
    // 50 in each period.
    assert_eq!(run(20), 5 * 250);
    assert_eq!(run(10), 5 * 200);
}

/// A critical VCPU that begins to run makes others lose their credit; with `flush_task_switch`
/// each of its tasks does.
#[test]
fn switches_on_the_critical_side_flush_credit() {
    let run = |flush_task_switch, tasks: Vec<Task>| {
        let compensation = Some(Compensation { periods: 2, flush_task_switch });
        let pool = Pool { name: "vm".into(), parameters: parameters(100, 1_000), compensation };
        let critical = Vcpu { critical: true, ..vcpu(MemoryBudget::None, tasks) };
        let other = vcpu(MemoryBudget::Shared(0), vec![endless(Accesses::Every(5))]);
        let memory = Memory { pools: vec![pool], contention: None };
        run(&system(vec![critical, other], memory), 10_000).vcpu(1, 0).accesses
    };
    // Begins in each second period, before the credit is used.
    let short = Task { offset: 1_150, ..task(2_000, 10, Accesses::None) };
    let background = endless(Accesses::None);
    assert_eq!(run(false, vec![short.clone()]), 5 * (100 + 100));
    assert_eq!(run(false, vec![short.clone(), background.clone()]), 5 * 300, "it always runs");
    assert_eq!(run(true, vec![short, background]), 5 * (100 + 100));
}

/// The scheduler is told of accesses before anything else.
#[test]
fn accesses_are_told_with_the_events_that_follow() {
    let own = MemoryBudget::Own(parameters(4, 50));
    let system =
        system(vec![vcpu(own, vec![task(500, 50, Accesses::PerJob(5))])], Memory::default());
    let mut seen = Vec::new();
    let mut see = |at: u64, _: usize, event: Event| match event {
        Event::Release { .. } | Event::Access { .. } | Event::Run { .. } => {}
        event => seen.push((at, event)),
    };
    let mut simulation = Simulation::new(&system, 1).unwrap();
    simulation.run(Limits { until: 100, events: u64::MAX }, &mut see).unwrap();
    let (vcpu, task) = (0, 0);
    let expected = [
        (0, Event::Wake { vcpu }),
        (40, Event::Overflow { vcpu }),
        (40, Event::Account { vcpu, accesses: 4 }),
        (40, Event::Idle),
        (50, Event::Tick),
        (60, Event::Complete { vcpu, task, response_ns: 60 }),
        (60, Event::Block { vcpu }),
        (60, Event::Account { vcpu, accesses: 1 }),
        (60, Event::Idle),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn what_cannot_be_is_refused() {
    let message = |vcpu, memory| {
        Simulation::new(&system(vec![vcpu], memory), 1).map(|_| ()).unwrap_err().to_string()
    };
    let none = Memory::default;
    let empty = MemoryBudget::Own(parameters(0, 50));
    let error = "VCPU vcpu: a budget of 0 memory accesses lets nothing run";
    assert_eq!(message(vcpu(empty, Vec::new()), none()), error);
    let error = Error::NoPool { vcpu: "vcpu".into(), pool: 1 };
    assert_eq!(message(vcpu(MemoryBudget::Shared(1), Vec::new()), none()), error.to_string());
    for accesses in [Accesses::Every(0), Accesses::WithOthers] {
        let vcpu = vcpu(MemoryBudget::None, vec![task(5, 1, accesses)]);
        let error = Error::Accesses { task: "1 in 5".into() };
        assert_eq!(message(vcpu, none()), error.to_string());
    }
}
