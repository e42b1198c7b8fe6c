//! A machine that is not QEMU: it repeats a recorded trace and a console. Console, recording and judgement work with it as
//! they do with QEMU's boards.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abi::trace::descriptor::{
    ADDRESS_WORD, FREQUENCY_WORD, MAGIC, MAGIC_WORD, PAGE_BYTES, RECORDS_WORD, RING_PAGES,
    RINGS_WORD, VERSION, VERSION_WORD, ring_word,
};
use abi::trace::{RECORD_BYTES, RING_RECORDS, Record};
use lab::boot::{Machine, Ran, Running};
use lab::deadlines::Times;
use lab::load::{self, System};
use lab::record::{Recorded, Recording, What, read_trace};
use lab::run::{Circumstances, End, Runner, Summary, judge};
use lab::simulate::simulate;
use qemu::{Chunk, Exit, Input, Next, Outcome};
use sim::Execution;
use trace::rings::Ram;
use trace::{Event, Trace};

const SYSTEM: &str = r#"
name = "elsewhere"
platform = "qemu-virt"

[[vm]]
name = "control"
boot = "raw"
memory = "4MiB"
kernel = "control.bin"

[[vm.task]]
name = "fast"
period = "10ms"
deadline = "5ms"
wcet = "2ms"

[[vm]]
name = "logger"
boot = "raw"
memory = "4MiB"
kernel = "logger.bin"
"#;
const UNTIL: units::Duration = units::Duration(100_000_000);
const WELL: [&str; 3] = [
    "[bulkhead] ready\n[control] on",
    "e\n[bulkhead] control: off (power-off)\n[bulkhead] logger: off (power-off)\n",
    "[bulkhead] power off\n",
];

/// RAM from the first page of the hypervisor on.
#[derive(Clone)]
struct Memory {
    start: u64,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Memory {
    fn of(system: &System) -> Self {
        let start = system.plan.platform.hypervisor.start.0;
        Self { start, bytes: Arc::new(Mutex::new(vec![0; 0x10_0000])) }
    }

    fn write(&self, address: u64, word: u64) {
        let at = (address - self.start) as usize;
        self.bytes.lock().expect("no panic")[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    fn ring(&self, pcpu: usize) -> u64 {
        self.start + ((1 + pcpu * (1 + RING_PAGES)) * PAGE_BYTES) as u64
    }

    fn counter(&self, pcpu: usize) -> u64 {
        self.ring(pcpu) + (RING_PAGES * PAGE_BYTES) as u64
    }

    /// Writes the descriptor of the rings, as a hypervisor does when it has started.
    fn describe(&self, pcpus: usize) {
        let set = |word: usize, value| self.write(self.start + 8 * word as u64, value);
        set(VERSION_WORD, VERSION);
        set(ADDRESS_WORD, self.start);
        set(FREQUENCY_WORD, trace::simulation::FREQUENCY_HZ);
        set(RINGS_WORD, pcpus as u64);
        set(RECORDS_WORD, RING_RECORDS as u64);
        for pcpu in 0..pcpus {
            set(ring_word(pcpu), self.counter(pcpu));
            for page in 0..RING_PAGES {
                let address = self.ring(pcpu) + (page * PAGE_BYTES) as u64;
                set(ring_word(pcpu) + 1 + page, address);
            }
        }
        set(MAGIC_WORD, MAGIC);
    }

    fn append(&self, pcpu: usize, number: usize, record: Record) {
        let address = self.ring(pcpu) + (number * RECORD_BYTES) as u64;
        self.write(address, record.ticks);
        self.write(address + 8, record.what);
        self.write(self.counter(pcpu), number as u64 + 1);
    }
}

impl Ram for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes.lock().expect("no panic");
        let at = (address - self.start) as usize;
        match bytes.get(at..at + into.len()) {
            Some(bytes) => into.copy_from_slice(bytes),
            // Pages of the hypervisor in which nothing was written.
            None => into.fill(0),
        }
        Ok(())
    }
}

/// Writes the records of a trace into its memory, a part for each piece of the console.
struct Replay {
    memory: Memory,
    tracks: Vec<Vec<Record>>,
    written: usize,
    part: usize,
    console: VecDeque<&'static str>,
    said: String,
    keys: Sender<Vec<u8>>,
    exit: Exit,
}

impl Machine for Replay {
    fn next(&mut self, _: Duration) -> Next {
        if self.written == 0 {
            self.memory.describe(self.tracks.len());
        }
        let end = if self.console.len() <= 1 { usize::MAX } else { self.written + self.part };
        for (pcpu, track) in self.tracks.iter().enumerate() {
            let numbered = track.iter().enumerate().take(end).skip(self.written);
            numbered.for_each(|(number, &record)| self.memory.append(pcpu, number, record));
        }
        self.written = end;
        let Some(piece) = self.console.pop_front() else { return Next::Ended };
        self.said.push_str(piece);
        Next::Output(Chunk { time: Duration::from_millis(1), bytes: piece.into() })
    }

    fn input(&self) -> Input {
        Input::new(self.keys.clone())
    }

    fn finish(self: Box<Self>, _: Duration) -> Outcome {
        Outcome {
            exit: self.exit,
            log: self.said,
            log_file: None,
            log_error: None,
            stderr: String::new(),
            elapsed: Duration::from_millis(3),
        }
    }

    fn end(self: Box<Self>, grace: Duration) -> Outcome {
        self.finish(grace)
    }

    fn stop(self: Box<Self>) {}
}

fn system(folder: &Path) -> System {
    let file = folder.join("system.toml");
    fs::write(&file, SYSTEM).expect("a temporary file");
    load::plan(&file).expect("a good description")
}

/// What happens when each job of the task executes for this time.
fn happened(system: &System, execution_ns: u64) -> Trace {
    let change = |it: &mut sim::System| {
        let tasks = it.pcpus.iter_mut().flat_map(|it| &mut it.vcpus).flat_map(|it| &mut it.tasks);
        tasks.for_each(|it| it.execution = Execution::Always(execution_ns));
    };
    simulate(system, None, Some(UNTIL), change).expect("a possible system")
}

fn replay(
    system: &System,
    happened: &Trace,
    console: &[&'static str],
) -> (Replay, Receiver<Vec<u8>>) {
    let records = |track: &Vec<trace::Entry>| -> Vec<Record> {
        track.iter().filter_map(|entry| entry.to_record()).collect()
    };
    let tracks: Vec<_> = happened.tracks.iter().map(records).collect();
    let longest = tracks.iter().map(Vec::len).max().unwrap_or(0);
    assert!((10..RING_RECORDS).contains(&longest), "the rings hold all {longest} records");
    let (keys, pressed) = mpsc::channel();
    let machine = Replay {
        memory: Memory::of(system),
        part: longest.div_ceil(console.len()),
        tracks,
        written: 0,
        console: console.iter().copied().collect(),
        said: String::new(),
        keys,
        exit: Exit::Code(0),
    };
    (machine, pressed)
}

/// Follows the machine to its end, and judges what happened.
fn judged(folder: &Path, system: &System, machine: Replay) -> (Summary, Trace) {
    let file = folder.join("run.trace");
    let recording = Recording::start(&file, system, machine.memory.clone(), What::All);
    let recording = Some(recording.expect("the file can be written"));
    let running = Running::new(Box::new(machine), system, recording);
    let ran = running.wait(|_| false, &AtomicBool::new(false));
    let ran: Ran = ran.expect("nothing stopped the run");
    let recorded = read_trace(&file).expect("a complete trace");
    (judge(system, ran, circumstances(folder, file)), recorded)
}

fn circumstances(folder: &Path, trace: PathBuf) -> Circumstances {
    Circumstances {
        runner: Runner::Hypervisor,
        times: Times::Exact,
        until_off: true,
        trace: Some(trace),
        log: folder.join("console.log"),
        end: End::Itself,
        remarks: Vec::new(),
        colors: None,
    }
}

#[test]
fn trace_of_another_machine_is_recorded_and_its_run_is_judged_well() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let system = system(folder.path());
    let happened = happened(&system, 2_000_000);
    let (machine, _) = replay(&system, &happened, &WELL);
    let (summary, recorded) = judged(folder.path(), &system, machine);
    assert_eq!(recorded.tracks, happened.tracks);
    assert_eq!((summary.problems(), summary.unseen()), (Vec::new(), None));
    assert!(summary.is_ok() && summary.is_over());
    let document = summary.document();
    let tasks = &document.vms[0].tasks;
    assert_eq!((tasks[0].jobs, tasks[0].misses, tasks[0].ok), (10, 0, Some(true)));
    assert_eq!((document.vms[0].lines, document.power_off), (1, true));
    assert_eq!(document.trace.map(|it| it.lost), Some(0));
}

#[test]
fn a_run_under_kvm_that_was_broken_off_says_why_and_does_not_speak_of_qemu() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let system = system(folder.path());
    let (machine, _) = replay(&system, &happened(&system, 2_000_000), &WELL);
    let running = Running::new(Box::new(machine), &system, None);
    let ran = running.wait(|_| false, &AtomicBool::new(false));
    let mut ran: Ran = ran.expect("nothing stopped the run");
    ran.outcome.exit = Exit::Code(1);
    ran.outcome.stderr = "the thread of PCPU 1 failed".into();
    let all = circumstances(folder.path(), folder.path().join("none.trace"));
    let summary = judge(&system, ran, Circumstances { runner: Runner::Kvm, ..all });
    assert!(!summary.is_ok());
    let document = summary.document();
    assert_eq!(document.problems[0], "the run was broken off: the thread of PCPU 1 failed");
    assert_eq!((document.result, &*document.qemu_messages), ("failed", ""));
}

#[test]
fn deadlines_that_were_missed_on_another_machine_are_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let system = system(folder.path());
    let (machine, _) = replay(&system, &happened(&system, 6_000_000), &WELL);
    let (summary, _) = judged(folder.path(), &system, machine);
    let problems = summary.problems();
    assert!(problems[0].ends_with("missed 10 of 10 deadlines"), "{problems:?}");
    assert!(problems[1].contains("longer than its bound"), "{problems:?}");
    assert!(!summary.is_ok());
}

/// What a guest prints can make a described task late, but is no evidence that it was in time.
#[test]
fn a_task_whose_guest_only_says_that_it_is_in_time_was_not_seen() {
    const IN_TIME: &str = "[control] rt: task fast period_us=10000 jobs=10 misses=0 \
                           response_min_ns=5 response_mean_ns=5 response_max_ns=5\n";
    const LATE: &str = "[control] rt: task fast period_us=10000 jobs=10 misses=2 \
                        response_min_ns=5 response_mean_ns=5 response_max_ns=5000000\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let system = system(folder.path());
    let mut happened = happened(&system, 2_000_000);
    for track in &mut happened.tracks {
        track.retain(|entry| !matches!(entry.event, Event::Mark { .. }));
    }
    let run = |line| {
        let (machine, _) =
            replay(&system, &happened, &["[bulkhead] ready\n", line, WELL[1], WELL[2]]);
        judged(folder.path(), &system, machine).0
    };
    let unseen = run(IN_TIME);
    assert_eq!(unseen.problems(), [""; 0]);
    assert_eq!(unseen.unseen().expect("open"), "no complete job was seen of `fast` of `control`");
    let document = unseen.document();
    assert_eq!((document.vms[0].tasks[0].jobs, document.vms[0].tasks[0].ok), (0, None));
    let problems = run(LATE).problems();
    assert!(problems[0].starts_with("task `fast` of VM `control` missed 2 of"), "{problems:?}");
}

#[test]
fn vms_and_machines_that_do_not_end_well_are_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let system = system(folder.path());
    let (mut machine, _) = replay(
        &system,
        &happened(&system, 2_000_000),
        &[
            "[bulkhead] ready\n[bulkhead] control: off (power-off)\n",
            "[bulkhead] logger: stopped (abort)\n",
        ],
    );
    machine.exit = Exit::Code(3);
    let (summary, _) = judged(folder.path(), &system, machine);
    let problems = summary.problems();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("exit status 3"), "{problems:?}");
    assert_eq!(problems[1], "VM `logger` was stopped: abort");
}

#[test]
fn a_machine_that_is_killed_when_it_is_asked_to_end_has_no_results() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let system = system(folder.path());
    for (exit, asked) in [(Exit::TimedOut, true), (Exit::TimedOut, false), (Exit::Code(0), true)] {
        let (mut machine, _) = replay(&system, &happened(&system, 2_000_000), &WELL);
        machine.exit = exit;
        let running = Running::new(Box::new(machine), &system, None);
        let ran = running.wait(|_| asked, &AtomicBool::new(false));
        let without = ran.expect("nothing stopped the run").without_results();
        assert_eq!(without.is_some(), exit == Exit::TimedOut && asked, "{without:?}");
    }
}

#[test]
fn deadlines_without_a_readable_trace_are_not_judged_well() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let system = system(folder.path());
    let (machine, _) = replay(&system, &happened(&system, 2_000_000), &WELL);
    let running = Running::new(Box::new(machine), &system, None);
    let ran = running.wait(|_| false, &AtomicBool::new(false));
    let recorded = Recorded { file: "run.trace".into(), records: 1, lost: 0 };
    let ran = Ran { recorded: Some(Ok(recorded)), ..ran.expect("nothing stopped the run") };
    let file = folder.path().join("run.trace");
    fs::write(&file, "no trace").expect("a temporary file");
    let summary = judge(&system, ran, circumstances(folder.path(), file));
    let problems = summary.problems();
    assert!(problems.iter().any(|it| it.contains("run.trace")), "{problems:?}");
    assert!(!summary.is_ok());
}

#[test]
fn keys_reach_another_machine() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let system = system(folder.path());
    let (machine, pressed) = replay(&system, &happened(&system, 2_000_000), &WELL);
    let mut running = Running::new(Box::new(machine), &system, None);
    assert!(!running.known().ready);
    assert!(matches!(running.next(Duration::ZERO), Next::Output(_)));
    assert!(running.known().ready);
    running.input().send(b"\x1dq");
    assert_eq!(pressed.recv().expect("the keys"), b"\x1dq");
}
