//! Starts: of all VCPUs at once, alone on their CPUs, and with what they take of the host.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use abi::kvm::Call;
use abi::trace::Kind;
use host::machine::{Error, Id, Prepared, Seats, Sharing};
use policy::cpu::{Cpu, Slot};
use policy::server::Policy;

use crate::code::{LOOP, call};
use crate::vms::{NO_CPU, alone, guest, last_cpu, news, prepared, start, started};

#[test]
fn a_cpu_has_the_vcpus_of_one_run_at_a_time() {
    let _alone = alone();
    let Some(running) = start(&[(LOOP.to_vec(), |_| Policy::Background, [0, 0])]) else { return };
    let again = |cpu| {
        let seats = vec![Seats { cpu, vcpus: vec![Id { vm: 0, vcpu: 0 }] }];
        Prepared::new(vec![guest(&LOOP)], seats, Sharing::default(), &|| false)
    };
    let refused = again(last_cpu());
    let (cpu, process) = (last_cpu(), std::process::id() as i32);
    assert!(
        matches!(refused, Err(Error::Claimed { cpu: it, by: Some(by) }) if (it, by) == (cpu, process)),
        "{refused:?}"
    );
    again(NO_CPU).expect("nobody has it");
    drop(running);
    let vcpus = vec![Id { vm: 0, vcpu: 0 }];
    prepared(vec![guest(&LOOP)], vec![Seats { cpu, vcpus }], Sharing::default())
        .expect("nobody has it any more");
}

#[test]
fn vcpus_are_there_before_the_servers_start() {
    const ATTEMPTS: usize = 5;
    let _alone = alone();
    let all = (0..8).flat_map(|vm| (0..8).map(move |vcpu| Id { vm, vcpu }));
    let seats = vec![Seats { cpu: last_cpu(), vcpus: all.collect() }];
    let schedulers = |_| {
        let slot = |_| Slot::new(Policy::Background).expect("a server");
        vec![Cpu::new((0..64).map(slot).collect())]
    };
    let mut late = Vec::new();
    // The machine may take the CPU away for longer than the time that is left until the start.
    for _ in 0..ATTEMPTS {
        let prepared =
            prepared(vec![guest(&call(Call::Off)); 8], seats.clone(), Sharing::default());
        let started = started(prepared.and_then(|it| it.start(schedulers)));
        let Some(mut running) = started else { return };
        news(&mut running);
        let mut records = Vec::new();
        running.take_records()[0].poll(&mut records);
        let first =
            |kind| records.iter().find(|it| it.kind() == Some(kind)).expect("a record").ticks;
        let (epoch, wake) = (first(Kind::Epoch), first(Kind::Wake));
        if wake < epoch {
            return;
        }
        late.push(wake - epoch);
    }
    panic!("the first VCPU woke so many nanoseconds late: {late:?}");
}

#[test]
fn a_start_that_fails_comes_to_an_end() {
    let _alone = alone();
    let (result, told) = mpsc::channel();
    thread::spawn(move || {
        let seats = [last_cpu(), NO_CPU].into_iter().enumerate();
        let seats =
            seats.map(|(vcpu, cpu)| Seats { cpu, vcpus: vec![Id { vm: 0, vcpu: vcpu as u8 }] });
        let prepared = prepared(vec![guest(&LOOP)], seats.collect(), Sharing::default());
        let started = prepared.and_then(|prepared| prepared.start(|_| Vec::new()));
        let _ = result.send(started.map(drop));
    });
    let result = told.recv_timeout(Duration::from_secs(20)).expect("it comes to an end");
    assert!(result.is_err(), "there is no CPU {NO_CPU}");
}

/// A field of `/proc/thread-self/status`.
fn status(key: &str) -> String {
    let text = std::fs::read_to_string("/proc/thread-self/status").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("the field");
    line.trim_start_matches(':').trim().to_owned()
}

/// The threads of this process with VCPUs, and the modes of their filters of system calls.
fn filters() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux has it").flatten();
    let status = threads.filter_map(|it| std::fs::read_to_string(it.path().join("status")).ok());
    let field = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.expect("the field").trim().to_owned()
    };
    let of_vcpus = status.filter(|text| field(text, "Name:").starts_with("pcpu"));
    of_vcpus.map(|text| field(&text, "Seccomp:")).collect()
}

#[test]
fn threads_with_vcpus_have_filters_of_system_calls() {
    const FILTER: &str = "2";
    let _alone = alone();
    let before = status("Seccomp");
    let Some(running) = start(&[(LOOP.to_vec(), |_| Policy::Background, [0, 0])]) else { return };
    assert_eq!(filters(), [FILTER]);
    assert_eq!(status("Seccomp"), before, "the thread that starts VMs has none");
    drop(running);
    assert!(filters().is_empty());
}

#[test]
fn this_thread_keeps_off_the_cpus_of_vcpus_and_memory_is_locked_as_long_as_vms_run() {
    let _alone = alone();
    let before = ["Cpus_allowed_list", "VmLck"].map(status);
    let Some(running) = start(&[(LOOP.to_vec(), |_| Policy::Background, [0, 0])]) else { return };
    let child = thread::spawn(|| status("Cpus_allowed_list")).join().expect("it ends");
    let during = ["Cpus_allowed_list", "VmLck"].map(status);
    assert_eq!(child, during[0]);
    if last_cpu() > 0 {
        let last = last_cpu().to_string();
        let cpus = during[0].split([',', '-']);
        assert!(cpus.into_iter().all(|cpu| cpu != last), "{during:?}");
    }
    assert_ne!(during[1], "0 kB");
    drop(running);
    assert_eq!(["Cpus_allowed_list", "VmLck"].map(status), before);
}
