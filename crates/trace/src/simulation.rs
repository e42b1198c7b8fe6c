//! Records simulations.

use std::io::{self, Write};

use abi::trace::Record;
use sim::{Observer, TaskSet};

use crate::{Entry, Event, Header, JobMark, LockStep, Step, VcpuId, Writer};

/// Records of a PCPU that wait to be written together.
const CHUNK_RECORDS: usize = 4096;
/// Maximum number of tasks of a VCPU in a trace: records have 8 bits for their number.
pub const TASKS_MAX: usize = 1 << u8::BITS;
/// Frequency of the clock of simulations in Hz.
pub const FREQUENCY_HZ: u64 = 1_000_000_000;

/// Writes the events of a simulation into a trace file. Its memory does not grow.
///
/// The simulator reports when jobs are released and complete. The recorder finds out when a job
/// starts to execute, and records that too.
///
/// The first error of the file appears at the end; all events after it are dropped.
#[derive(Debug)]
pub struct Recorder<W> {
    writer: Writer<W>,
    pcpus: Vec<Pcpu>,
    failed: Option<io::Error>,
}

#[derive(Debug)]
struct Pcpu {
    vcpus: Vec<Vcpu>,
    running: Option<usize>,
    /// Time of the last event.
    now: u64,
    /// The last input of the scheduler: accesses that belong to it come before it.
    input: Option<Entry>,
    records: Vec<Record>,
}

#[derive(Debug)]
struct Vcpu {
    id: VcpuId,
    ready: TaskSet,
    /// Its tasks that hold global resources.
    raised: TaskSet,
    tasks: Vec<Task>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Task {
    released: u32,
    completed: u32,
    /// True if the first incomplete job has executed.
    started: bool,
}

impl<W: Write> Recorder<W> {
    /// Starts a file for a simulation. `vcpus` are those of each PCPU in the order of the
    /// simulated system ([`sim::Pcpu::vcpus`]).
    ///
    /// # Errors
    ///
    /// The file cannot be written, or a VCPU has more than [`TASKS_MAX`] tasks.
    pub fn new(out: W, header: &Header, vcpus: &[Vec<VcpuId>]) -> io::Result<Self> {
        if let Some((id, vcpu)) = header.vcpus().find(|(_, vcpu)| vcpu.tasks.len() > TASKS_MAX) {
            let (name, tasks) = (header.vcpu_name(id), vcpu.tasks.len());
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "VCPU {name} has {tasks} tasks, and records have numbers for {TASKS_MAX} of \
                     a VCPU\nhelp: simulate without a trace"
                ),
            ));
        }
        let pcpus = vcpus.iter().map(|ids| {
            let vcpu = |&id| Vcpu {
                id,
                ready: TaskSet::default(),
                raised: TaskSet::default(),
                tasks: Vec::new(),
            };
            let mut pcpu = Pcpu {
                vcpus: ids.iter().map(vcpu).collect(),
                running: None,
                now: 0,
                input: None,
                records: Vec::new(),
            };
            pcpu.write(0, Event::Epoch { frequency_hz: FREQUENCY_HZ });
            // The first decision of the simulator, which it does not show.
            pcpu.write(0, Event::Tick);
            pcpu
        });
        let pcpus = pcpus.collect();
        Ok(Self { writer: Writer::new(out, header)?, pcpus, failed: None })
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<W> {
        for index in 0..self.pcpus.len() {
            self.pcpus[index].show_start();
            self.pcpus[index].write_input();
            self.flush(index);
        }
        match self.failed {
            None => self.writer.finish(),
            Some(error) => Err(error),
        }
    }

    fn flush(&mut self, pcpu: usize) {
        let records = &mut self.pcpus[pcpu].records;
        if self.failed.is_none() {
            self.failed = self.writer.append(pcpu, 0, records).err();
        }
        records.clear();
    }
}

impl<W: Write> Observer for Recorder<W> {
    fn event(&mut self, at_ns: u64, pcpu: usize, event: sim::Event) {
        let Some(state) = self.pcpus.get_mut(pcpu) else { return };
        state.see(at_ns, event);
        if state.records.len() >= CHUNK_RECORDS {
            self.flush(pcpu);
        }
    }

    /// Returns false: a trace has the numbers of accesses that schedulers are told, and not each access.
    fn sees_accesses(&self) -> bool {
        false
    }
}

impl Pcpu {
    fn write_input(&mut self) {
        self.records.extend(self.input.take().and_then(Entry::to_record));
    }

    fn write(&mut self, ticks: u64, event: Event) {
        self.write_input();
        self.records.extend(Entry { ticks, event }.to_record());
    }

    fn see(&mut self, now: u64, event: sim::Event) {
        if now > self.now {
            // Several things can happen at one time; who executes then is clear at its end.
            self.show_start();
        }
        self.now = now;
        let id = |vcpu: usize| self.vcpus[vcpu].id;
        let event = match event {
            sim::Event::Release { vcpu, task } => return self.job(vcpu, task, Step::Release),
            sim::Event::Complete { vcpu, task, .. } => return self.job(vcpu, task, Step::Finish),
            sim::Event::Wake { vcpu } => Event::Wake(id(vcpu)),
            sim::Event::Block { vcpu } => Event::Block(id(vcpu)),
            sim::Event::Kick { vcpu } => Event::Kick(id(vcpu)),
            sim::Event::Tick => Event::Tick,
            sim::Event::Overflow { vcpu } => Event::Overflow { vcpu: id(vcpu), accesses: 0 },
            sim::Event::Account { vcpu, accesses } => return self.account(id(vcpu), accesses),
            // No PCPU of a simulation is in a period before others are.
            sim::Event::Grant { vcpu, accesses, .. } => {
                Event::Grant { vcpu: id(vcpu), accesses, later: false }
            }
            sim::Event::Access { .. } => return,
            sim::Event::StartGcs { vcpu } => Event::StartGcs(id(vcpu)),
            sim::Event::FinishGcs { vcpu } => Event::FinishGcs(id(vcpu)),
            sim::Event::StopInGcs { vcpu } => Event::StopInGcs(id(vcpu)),
            sim::Event::Lock { vcpu, task, resource, global } => {
                return self.lock(vcpu, LockStep::Lock, task, resource, global);
            }
            sim::Event::Wait { vcpu, task, resource, global } => {
                return self.lock(vcpu, LockStep::Wait, task, resource, global);
            }
            sim::Event::Unlock { vcpu, task, resource, global } => {
                return self.lock(vcpu, LockStep::Unlock, task, resource, global);
            }
            sim::Event::Run { vcpu, budget_ns } => Event::Run { vcpu: id(vcpu), budget: budget_ns },
            sim::Event::Idle => Event::Idle,
        };
        match event {
            Event::Run { vcpu, .. } => {
                self.running = self.vcpus.iter().position(|other| other.id == vcpu);
            }
            Event::Idle => self.running = None,
            Event::Wake(_)
            | Event::Block(_)
            | Event::Kick(_)
            | Event::Tick
            | Event::StartGcs(_)
            | Event::FinishGcs(_)
            | Event::Overflow { .. } => {
                self.write_input();
                self.input = Some(Entry { ticks: now, event });
                return;
            }
            _ => {}
        }
        self.write(now, event);
    }

    /// Records the accesses of a VCPU before the input of the scheduler.
    fn account(&mut self, id: VcpuId, told: u64) {
        if let Some(Entry { event: Event::Overflow { vcpu, accesses }, .. }) = &mut self.input
            && *vcpu == id
        {
            *accesses = told;
        } else if told > 0 {
            let event = Event::Account { vcpu: id, accesses: told };
            self.records.extend(Entry { ticks: self.now, event }.to_record());
        }
    }

    /// A task gets a resource, waits for it, or releases it.
    fn lock(&mut self, vcpu: usize, step: LockStep, task: usize, resource: usize, global: bool) {
        // What executed until now started before this.
        self.show_start();
        let state = &mut self.vcpus[vcpu];
        match step {
            LockStep::Wait => state.ready.remove(task),
            LockStep::Lock => {
                state.ready.insert(task);
                if global {
                    state.raised.insert(task);
                }
            }
            LockStep::Unlock => state.raised.remove(task),
        }
        let (vcpu, task, resource) = (state.id, task as u8, resource as u8);
        self.write(self.now, Event::Lock { vcpu, step, task, resource, global });
    }

    fn job(&mut self, vcpu: usize, number: usize, step: Step) {
        let Vcpu { id, ready, tasks, .. } = &mut self.vcpus[vcpu];
        if tasks.len() <= number {
            tasks.resize(number + 1, Task::default());
        }
        let (id, task) = (*id, &mut tasks[number]);
        let job = match step {
            Step::Release => {
                task.released = task.released.wrapping_add(1);
                ready.insert(number);
                task.released.wrapping_sub(1)
            }
            _ => {
                task.completed = task.completed.wrapping_add(1);
                task.started = false;
                if task.completed == task.released {
                    ready.remove(number);
                }
                task.completed.wrapping_sub(1)
            }
        };
        let mark = JobMark { step, task: number as u8, job };
        self.write(self.now, Event::Mark { vcpu: id, value: mark.value() });
    }

    /// Records that a job executes from the last time on, if it had not before.
    fn show_start(&mut self) {
        let Some(vcpu) = self.running.and_then(|vcpu| self.vcpus.get_mut(vcpu)) else { return };
        let Some(number) = vcpu.ready.highest_raised(&vcpu.raised) else { return };
        let Some(task) = vcpu.tasks.get_mut(number).filter(|task| !task.started) else { return };
        task.started = true;
        let mark = JobMark { step: Step::Start, task: number as u8, job: task.completed };
        let event = Event::Mark { vcpu: vcpu.id, value: mark.value() };
        self.write(self.now, event);
    }
}
