//! A process that may have no signals that wait. The limit holds for all threads of a process: so this test is alone in one.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use vmm::{RealTime, now};

/// Nanoseconds after which the alarm comes, if no kick does.
const LATE: u64 = 5_000_000_000;

#[test]
fn kicks_come_though_no_signal_may_wait_and_an_alarm_is_refused_with_a_help() {
    let (kicks, to_kick) = mpsc::channel();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let cpu = thread::available_parallelism().map_or(0, |cpus| cpus.get() - 1);
            let thread = match RealTime::enter(10, cpu) {
                Ok(thread) => thread,
                Err(error) => return eprintln!("skipped: {error}"),
            };
            let mut alarm = thread.alarm().expect("an alarm");
            let limit = getrlimit(Resource::Sigpending);
            setrlimit(Resource::Sigpending, Rlimit { current: Some(0), ..limit })
                .expect("lower is allowed");
            let refused = thread.alarm().expect_err("no signal may wait").to_string();
            assert!(refused.contains("ulimit -i"), "{refused}");
            let start = now();
            alarm.set(Some(start + LATE));
            kicks.send(thread.kick()).expect("somebody kicks");
            thread.wait();
            assert!(now() < start + LATE / 2, "the kick was lost");
        });
        for kick in to_kick {
            thread::sleep(Duration::from_millis(20));
            kick.kick();
        }
        waiting.join().expect("it ends well");
    });
}
