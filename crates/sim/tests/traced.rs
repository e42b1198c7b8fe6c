//! Tasks whose jobs are released at given times.

use policy::server::Policy;
use sim::{Accesses, Event, Execution, Limits, Pcpu, Release, Simulation, System, Task, Vcpu};

#[test]
fn jobs_are_released_at_the_times_of_a_trace_and_never_again() {
    let task = Task {
        name: "traced".into(),
        offset: 2,
        period: u64::MAX,
        deadline: 4,
        release: Release::Trace(vec![5, 6, 20]),
        execution: Execution::Trace(vec![1, 4, 2, 3]),
        accesses: Accesses::None,
    };
    let vcpu = Vcpu::new("vcpu", Policy::Background, vec![task]);
    let system = System::new(vec![Pcpu { vcpus: vec![vcpu] }]);
    let mut simulation = Simulation::new(&system, 1).expect("a possible system");
    let (mut released, mut completed) = (Vec::new(), Vec::new());
    let mut see = |at: u64, _: usize, event: Event| match event {
        Event::Release { .. } => released.push(at),
        Event::Complete { .. } => completed.push(at),
        _ => {}
    };
    let limits = Limits { until: 1_000_000, events: u64::MAX };
    simulation.run(limits, &mut see).expect("no overload");
    assert_eq!((released, completed), (vec![2, 5, 6, 20], vec![3, 9, 11, 23]));
    let found = simulation.task(0, 0, 0);
    assert_eq!((found.jobs, found.misses), (4, 1));
    assert_eq!(simulation.vcpu(0, 0).supply_ns, 10);
}
