//! The time that the hypervisor takes from tasks (Brandenburg, "Scheduling and Locking in
//! Multiprocessor Real-Time Operating Systems", 2011, chapter 3, adapted to Bulkhead).
//!
//! While a PCPU executes the hypervisor, the time belongs to the VCPU that causes this, and uses up
//! its budget. So this time is demand that the supply of the VCPU has to meet in addition to the
//! execution of jobs. Each [`Source`] has a part that counts once in a busy period, and recurring
//! events with a cost each:
//!
//! ```text
//! supply(w) >= jobs(w) + sum over sources of  once + ceil((w + jitter) / period) cost
//! ```
//!
//! With `S`, `K`, `n_K`, `I`, `B` of [`Costs`], for a VCPU with period `T` whose budget comes in
//! `n` parts in each period: 1 for a periodic or deferrable server, the maximum number of
//! replenishments ([`REPLENISHMENTS_MAX`]) for a sporadic one.
//!
//! - *Release*: an interrupt `I` for each job that any task of the VCPU releases, whatever its
//!   priority.
//! - *Switch*: `S + n_K K` once, because the VCPU wakes and has paid for kicks while it waited, and
//!   `n S` in each period, when it continues with new budget: `1 + floor((w + B) / T)` times,
//!   because periods begin at multiples of `T` and are noticed up to `B` later.
//! - *Preemption*: a VCPU above leaves the PCPU at the end of its budget, at most `n` times in each
//!   of its periods. Its next part of budget pays for the switch back. A window overlaps
//!   `ceil((w + T) / T)` of these periods, with `B` as above. A VCPU above that blocks or wakes
//!   pays for that itself.
//! - *Kick*: another VCPU is interrupted, but has to wait: `K`. This happens at most `n_K` times
//!   between two of its executions ([`policy::pace`]). A VCPU below executes only while this VCPU
//!   waits for work, or for budget; of the background also while a periodic server above idles. A
//!   VCPU above that waits and has budget pays for a kick from it ([`policy::cpu::Cpu::with_kick`])
//!   in place of the VCPU that is interrupted, which counts here as if the VCPU above had executed;
//!   after the end of its budget it does not pay. The budget of an idle periodic server decreases
//!   without effect on others than the background.
//! - *Request*: another VCPU requests a resource that a VCPU of the PCPU may hold: `K`, and
//!   `S + n_K K` if that raises a VCPU of the same PCPU, which leaves the PCPU to this one again.
//!   The hypervisor limits the number of requests.
//! - *Ring*: another VM rings for a channel that the VM of the VCPU reads: `K + I`, and the cost of a wait
//!   ([`Costs::wait`]) if the VCPU can leave the PCPU while its jobs wait for something else, because it
//!   then returns for the ring. The hypervisor limits the number of rings.
//! - *Frame*: EL2 copies a frame that the VM of the VCPU sends by a link, before its guest continues: `F = min(B, 2 X)`
//!   ([`Costs::frame`]) for each 64 bytes, which the shortest frame counts as. The hypervisor limits the bytes. Once, and each time that a job continues after it waited, a task below can just have sent more than
//!   is within the limit: EL2 takes one frame that it drops, and drops the rest, `F` each ([`Costs::excess`]).
//! - *Console*: [`CONSOLE_PER_SECOND`] times a second the timer, a kick by a VCPU that starts this
//!   timer because of an incomplete line, and an interrupt of the UART, which the timer unmasks.
//! - *Late*: no interrupt is served for `B` when the window begins; and the VCPU may have taken `B`
//!   more than its last budget, which it pays back in the window.
//!
//! The time that VCPUs above take beyond their budgets is part of the response time of the server
//! ([`crate::vcpu`]).

use policy::pace::CONSOLE_PER_SECOND;
use policy::server::REPLENISHMENTS_MAX;

use crate::divisor::Divisor;
use crate::utilization::Share;
use crate::window::{Stream, TOO_LONG};
use crate::{Duration, Kind, LONGEST, Server, Task};

/// Longest times of the hypervisor for its operations.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Costs {
    /// A switch from one VCPU to another, because one waits, wakes or gets budget: `S`.
    pub switch: Duration,
    /// An interrupt for another VCPU, after which the running one continues: `K`.
    pub kick: Duration,
    /// Maximum number of such interrupts for a VCPU between two of its executions: `n_K`.
    pub kicks: u64,
    /// An interrupt for the VCPU that runs: `I`.
    pub interrupt: Duration,
    /// A call of a job, or an access to a virtual device: `X`.
    pub exit: Duration,
    /// An interrupt or a timer of the console.
    pub console: Duration,
    /// The longest time in which no interrupt is served, or that a VCPU pays at once when it wakes:
    /// `B`, at least `S + n_K K`.
    pub late: Duration,
}

impl Costs {
    /// Returns the time of the kicks for a VCPU between two of its executions: `n_K K`.
    pub fn kicks(&self) -> Duration {
        times(self.kick, self.kicks)
    }

    /// Returns the time to copy a frame that counts as the shortest one, and for each further part of a frame that counts as much:
    /// `F`. A frame is a chunk, whose time is at most `B`.
    pub fn frame(&self) -> Duration {
        times(self.exit, 2).min(self.late)
    }

    /// Returns the time that is taken for frames beyond the limit of a link each time that the guest has frames sent: for the first one,
    /// and for all others together. Each is a chunk.
    pub fn excess(&self) -> Duration {
        times(self.frame(), 2)
    }

    /// Returns the cost of a job each time that it waits for something else, without other VCPUs:
    /// its VCPU leaves the PCPU, pays for kicks, and returns.
    pub fn wait(&self) -> u64 {
        let turn = times(self.switch, 2).0.saturating_add(self.interrupt.0);
        let turn = turn.saturating_add(self.kicks().0);
        turn.saturating_add(self.late.0).min(TOO_LONG)
    }
}

/// A source of overheads.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Source {
    /// Interrupts by which jobs are released.
    Release,
    /// The VCPU wakes, or gets budget.
    Switch,
    /// VCPUs above leave the PCPU to it.
    Preemption,
    /// Other VCPUs wake, and have to wait.
    Kick,
    /// Requests for resources.
    Request,
    /// Other VMs ring for channels.
    Ring,
    /// Frames that the VM sends by links.
    Frame,
    /// The console.
    Console,
    /// Limits of memory accesses: VCPUs stop and go on.
    Memory,
    /// No interrupt is served for a while, and the VCPU pays back the time that it took beyond its budget.
    Late,
}

impl Source {
    /// All sources, in the order of their declaration.
    pub const ALL: [Self; 10] = [
        Self::Release,
        Self::Switch,
        Self::Preemption,
        Self::Kick,
        Self::Request,
        Self::Ring,
        Self::Frame,
        Self::Console,
        Self::Memory,
        Self::Late,
    ];

    /// Returns the word in documents, which is stable.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Switch => "switch",
            Self::Preemption => "preemption",
            Self::Kick => "kick",
            Self::Request => "request",
            Self::Ring => "ring",
            Self::Frame => "frame",
            Self::Console => "console",
            Self::Memory => "memory",
            Self::Late => "late",
        }
    }
}

/// The time that the hypervisor takes from a VCPU.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Overheads {
    costs: Costs,
    others: u64,
    once: [u64; Source::ALL.len()],
    sources: Vec<Source>,
    streams: Vec<Stream>,
    /// Period, jitter and cost of each stream.
    events: Vec<(Duration, u64, u64)>,
}

/// Another VCPU of the PCPU.
#[derive(Clone, Copy, Debug)]
pub enum Neighbour {
    /// A VCPU with this server and a higher priority.
    Above(Server),
    /// A VCPU with a lower priority, or of the background.
    Below,
}

impl Overheads {
    /// Makes empty overheads for a VCPU with `others` other VCPUs on its PCPU.
    pub fn new(costs: Costs, others: u64) -> Self {
        Self { costs, others, ..Self::default() }
    }

    /// Adds the costs that the VCPU causes itself. `server` is its server, if it has one. A VCPU
    /// with a PCPU of its own does not leave it when it waits, unless a scheduler decides there
    /// (`shares`).
    #[must_use]
    pub fn of_vcpu(mut self, server: Option<Server>, tasks: &[Task], shares: bool) -> Self {
        let Costs { switch, interrupt, late, .. } = self.costs;
        for task in tasks {
            self.add_stream(Source::Release, interrupt, task.period, task.jitter);
        }
        self.once(Source::Late, late);
        if shares {
            self.once(Source::Switch, Duration(switch.0.saturating_add(self.costs.kicks().0)));
            self.once(Source::Late, late);
        }
        if let Some(server) = server {
            self.add(Source::Switch, times(switch, turns(&server)), server.period(), 1 + late.0);
        }
        self
    }

    /// Adds another VCPU on the PCPU; `server` is the server of the VCPU itself.
    #[must_use]
    pub fn beside(mut self, neighbour: Neighbour, server: Option<Server>) -> Self {
        let Costs { switch, late, .. } = self.costs;
        let kicks = self.costs.kicks();
        match neighbour {
            Neighbour::Above(above) => {
                let (turns, period) = (turns(&above), above.period());
                let jitter = period.0.saturating_add(late.0);
                self.add(Source::Preemption, times(switch, turns), period, jitter);
                // While the budget of an idle periodic server decreases, VCPUs of the background
                // run.
                let ends = match above.kind() {
                    Kind::Periodic => self.others,
                    Kind::Deferrable | Kind::Sporadic => turns,
                };
                self.add(Source::Kick, times(kicks, ends), period, jitter);
                self.once(Source::Kick, kicks);
            }
            Neighbour::Below => {
                self.once(Source::Kick, kicks);
                if let Some(own) = server {
                    self.add(Source::Kick, times(kicks, turns(&own)), own.period(), 1 + late.0);
                }
            }
        }
        self
    }

    /// Adds requests for resources of another VCPU: at most `1 + floor((w + early) / interval)` in
    /// a window, each of which is noticed up to `B` later. `here`: the other VCPU is on the same
    /// PCPU, and `waiting` of its tasks can have waited before.
    #[must_use]
    pub fn with_requests(
        mut self,
        [interval, early]: [Duration; 2],
        waiting: u64,
        here: bool,
    ) -> Self {
        let Costs { switch, kick, late, .. } = self.costs;
        // The other VCPU runs first in its section, and leaves the PCPU then.
        let raised = switch.0.saturating_add(kick.0).saturating_add(self.costs.kicks().0);
        let cost = if here { Duration(raised) } else { kick };
        let jitter = early.0.saturating_add(late.0).saturating_add(1);
        self.add(Source::Request, cost, interval, jitter);
        if here {
            self.once(Source::Request, times(cost, waiting));
        }
        self
    }

    /// Adds rings for a channel that the VM of the VCPU reads: at most `1 + floor((w + early) /
    /// interval)` in a window, each of which is noticed up to `B` later. `waits`: a job of the VCPU can
    /// wait for something else.
    #[must_use]
    pub fn with_rings(mut self, [interval, early]: [Duration; 2], waits: bool) -> Self {
        let Costs { kick, interrupt, late, .. } = self.costs;
        let turn = if waits { self.costs.wait() } else { 0 };
        let cost = kick.0.saturating_add(interrupt.0).saturating_add(turn);
        let jitter = early.0.saturating_add(late.0).saturating_add(1);
        self.add(Source::Ring, Duration(cost), interval, jitter);
        self
    }

    /// Adds frames that the VM of the VCPU sends by its links. By each at most `1 + floor((w + early) / interval)` of the shortest ones
    /// in a window, or fewer longer ones. A frame that is on its way when the window begins counts, too.
    #[must_use]
    pub fn with_frames(mut self, links: impl IntoIterator<Item = [Duration; 2]>) -> Self {
        let mut sends = false;
        for [interval, early] in links {
            let jitter = early.0.saturating_add(self.costs.late.0).saturating_add(1);
            self.add(Source::Frame, self.costs.frame(), interval, jitter);
            sends = true;
        }
        if sends {
            self.once(Source::Frame, self.costs.excess());
        }
        self
    }

    /// Adds a limit on memory accesses that is renewed in each period, of the VCPU itself or of one
    /// above. In each period the limit ends once, so that the VCPU stops and continues, while
    /// others may wake; before that, the VCPU gets `parts` parts of the limit.
    #[must_use]
    pub fn with_memory(mut self, period: Duration, parts: u64) -> Self {
        let Costs { switch, interrupt, late, .. } = self.costs;
        let ends = times(switch, 2).0.saturating_add(times(self.costs.kicks(), self.others).0);
        let cost = Duration(ends.saturating_add(times(interrupt, parts).0));
        let jitter = period.0.saturating_add(late.0);
        self.add(Source::Memory, cost, period, jitter);
        self
    }

    /// Adds the costs of the PCPU that serves the console.
    #[must_use]
    pub fn with_console(mut self) -> Self {
        let period = Duration(1_000_000_000 / CONSOLE_PER_SECOND);
        let Costs { kick, console, .. } = self.costs;
        let timers = Duration(console.0.saturating_add(kick.0));
        self.add(Source::Console, timers, period, 1);
        // After each timer, and one before.
        self.add(Source::Console, console, period, 1 + period.0);
        self
    }

    /// Adds servers above that can take more than their budgets, if that is not part of a response
    /// time.
    #[must_use]
    pub fn with_debts(mut self, servers: usize) -> Self {
        self.once(Source::Late, times(self.costs.late, servers as u64));
        self
    }

    /// Returns the part that counts once in a busy period.
    pub fn constant(&self) -> u64 {
        self.once.iter().fold(0u64, |sum, time| sum.saturating_add(*time)).min(TOO_LONG)
    }

    /// Returns the recurring parts.
    pub(crate) fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Returns the long-run share, rounded down.
    pub(crate) fn rate(&self) -> Share {
        self.events.iter().map(|(period, _, cost)| Share::down(Duration(*cost), *period)).sum()
    }

    /// Returns the longest time that a source takes in a window.
    pub fn in_window(&self, source: Source, window: Duration) -> Duration {
        let once = self.once[source as usize];
        let streams = self.sources.iter().zip(&self.streams).filter(|(it, _)| **it == source);
        let again = streams.map(|(_, stream)| match window.0 {
            0 => 0,
            window => u128::from(stream.jobs(window)) * u128::from(stream.cost),
        });
        let sum = again.sum::<u128>() + u128::from(once);
        Duration(u64::try_from(sum).unwrap_or(TOO_LONG))
    }

    /// Returns the time that each source takes in a window.
    pub fn of_window(&self, window: Duration) -> Vec<(Source, Duration)> {
        let mut sums = self.once.map(u128::from);
        if window > Duration(0) {
            for (source, stream) in self.sources.iter().zip(&self.streams) {
                sums[*source as usize] +=
                    u128::from(stream.jobs(window.0)) * u128::from(stream.cost);
            }
        }
        let time = |sum: u128| Duration(u64::try_from(sum).unwrap_or(TOO_LONG));
        Source::ALL.map(|source| (source, time(sums[source as usize]))).to_vec()
    }

    /// Returns the time that the recurring parts of all sources take in a window.
    pub fn again_in_window(&self, window: Duration) -> Duration {
        let all = match window.0 {
            0 => 0,
            window => crate::window::demand(&self.streams, window),
        };
        Duration(u64::try_from(all).unwrap_or(TOO_LONG).min(TOO_LONG))
    }

    /// Returns the overheads as tasks above all others of the VCPU, for analyses that have no
    /// overheads: these tasks are as demanding in each window, except for the parts that count
    /// once.
    pub fn as_tasks(&self) -> impl Iterator<Item = Task> {
        self.events.iter().map(|&(period, jitter, cost)| Task {
            wcet: cost,
            period: Divisor::new(period.0),
            deadline: period.0,
            jitter,
            blocking: 0,
            suspension: 0,
            from_event: false,
        })
    }

    fn once(&mut self, source: Source, cost: Duration) {
        let once = &mut self.once[source as usize];
        *once = once.saturating_add(cost.0).min(TOO_LONG);
    }

    fn add(&mut self, source: Source, cost: Duration, period: Duration, jitter: u64) {
        self.add_stream(source, cost, Divisor::new(period.0.max(1)), jitter);
    }

    fn add_stream(&mut self, source: Source, cost: Duration, period: Divisor, jitter: u64) {
        let (cost, jitter) = (cost.0.min(TOO_LONG), jitter.min(2 * LONGEST.0));
        if cost > 0 {
            self.sources.push(source);
            self.streams.push(Stream::new(cost, period, jitter));
            self.events.push((Duration(period.get()), jitter, cost));
        }
    }
}

fn times(cost: Duration, times: u64) -> Duration {
    Duration(cost.0.saturating_mul(times).min(TOO_LONG))
}

/// Returns the number of times that a server begins or ends a part of its budget in each period.
fn turns(server: &Server) -> u64 {
    match server.kind() {
        Kind::Periodic | Kind::Deferrable => 1,
        // One more while it is used.
        Kind::Sporadic => REPLENISHMENTS_MAX as u64 + 1,
    }
}
