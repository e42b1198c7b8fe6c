//! The parameters of a VCPU, as `proofs/Certificate.v` has them. All times are in nanoseconds.

use policy::server::kind::Kind;

use crate::Lack;

/// A VCPU with its tasks and those above it on its PCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vcpu {
    /// Name of its VM.
    pub vm: String,
    /// Its index in the VM.
    pub vcpu: usize,
    /// The servers above on the PCPU, the highest priority first.
    pub above: Vec<Server>,
    /// The way in which it gets time.
    pub place: Place,
    /// Time in which the PCPU serves nothing, once while the VCPU waits for its budget.
    pub late: u64,
    /// Its tasks, the highest priority first.
    pub tasks: Vec<Task>,
    /// Time to load the lines of a colour again.
    pub reload: u64,
    /// Recurring events of the hypervisor.
    pub sources: Vec<Source>,
    /// Time of the hypervisor once in a busy window.
    pub once: u64,
    /// Other PCPUs for whose accesses those of the tasks wait.
    pub interferers: Vec<Interferer>,
    /// Accesses that are on their way when a window begins.
    pub on_way: u64,
    /// Accesses that load the lines of a colour again.
    pub reloads_of_color: u64,
    /// True if critical sections are on its PCPU: `blocking` and `suspension` of tasks are what the analysis of locks
    /// computed, and hypotheses of the theorems.
    pub locks: bool,
}

/// Other PCPUs for whose accesses those of the VCPU wait.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Interferer {
    /// The longest time for which one access waits for them.
    pub wait: u64,
    /// Limits on the time for which all accesses wait, one for each source there; `None`: a source has none.
    pub limits: Option<Vec<Limit>>,
}

/// A limit on the accesses of a VM or VCPU, as the time by which they delay others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limit {
    /// The time in each period.
    pub step: u64,
    /// The period.
    pub span: u64,
    /// The time after their period in which accesses still delay others.
    pub after: u64,
    /// The time that comes once in any number of periods.
    pub credit: u64,
}

/// The way in which a VCPU gets time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// It has a PCPU of its own.
    Whole,
    /// It has a server, which gets its budget within `response`.
    Served {
        /// The server.
        own: Server,
        /// The longest time until the budget was there: `W`.
        response: u64,
    },
    /// The same as a hypothesis: sections of others also keep it from its budget.
    Promised {
        /// The server.
        own: Server,
        /// The longest time until the budget was there: `W`.
        response: u64,
    },
    /// It gets what those above leave.
    Background,
    /// It is guaranteed no time.
    Nothing,
}

/// A server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Server {
    /// Its kind.
    pub kind: Kind,
    /// The budget that it gets.
    pub budget: u64,
    /// The budget that those below count: at least that.
    pub counted: u64,
    /// Its period.
    pub period: u64,
}

/// A recurring event of the hypervisor, whose time the VCPU pays.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Source {
    /// Time for each event.
    pub cost: u64,
    /// Least time between two events.
    pub spacing: u64,
    /// The time by which an event can be late, so that the next one seems early.
    pub early: u64,
}

/// A task, with the bound that is to be proved.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Its execution time, with the hypervisor's time for each job.
    pub wcet: u64,
    /// Its period.
    pub period: u64,
    /// Its deadline.
    pub deadline: u64,
    /// The longest time from arrival to release.
    pub jitter: u64,
    /// The longest time for which tasks below keep the processor.
    pub blocking: u64,
    /// The longest time for which a job suspends itself.
    pub suspension: u64,
    /// Its cache colours, bit by bit.
    pub colors: u64,
    /// The accesses of a job to memory, if they are known.
    pub accesses: Option<u64>,
    /// True if the next task has the same priority.
    pub tied: bool,
    /// The bound of its response time, or the reason why it gets no certificate.
    pub bound: Result<u64, Lack>,
}

impl Vcpu {
    /// Returns a VCPU without tasks and without anything above.
    pub fn new(vm: &str, vcpu: usize, place: Place) -> Self {
        Self {
            vm: vm.into(),
            vcpu,
            above: Vec::new(),
            place,
            late: 0,
            tasks: Vec::new(),
            reload: 0,
            sources: Vec::new(),
            once: 0,
            interferers: Vec::new(),
            on_way: 0,
            reloads_of_color: 0,
            locks: false,
        }
    }
}

impl Task {
    /// Returns a task without execution time, whose deadline is its period.
    pub fn new(name: &str, period: u64, bound: Result<u64, Lack>) -> Self {
        Self {
            name: name.into(),
            wcet: 0,
            period,
            deadline: period,
            jitter: 0,
            blocking: 0,
            suspension: 0,
            colors: 0,
            accesses: None,
            tied: false,
            bound,
        }
    }
}
