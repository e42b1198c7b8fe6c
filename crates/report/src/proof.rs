//! The proof that a system is isolated, as one page for people: what was analysed, simulated and
//! executed, without and with isolation.
//!
//! [`Proof`] is plain data; [`Proof::html`] makes the page. What is not known is left empty: the
//! page then says so, or leaves the part out. All times are integers in nanoseconds; those on time lines
//! and series count from the start of the servers (or of everything) of that run.
//!
//! ```
//! use report::proof::Proof;
//!
//! let proof = Proof { name: "rover".into(), holds: true, ..Proof::default() };
//! assert!(proof.html().contains("<h1>rover"));
//! ```

mod data;
pub(crate) mod page;

pub use data::cache::{Cache, Owner};
pub use data::chain::{Chain, ChainTimes};
pub use data::memory::Traffic;
pub use data::origin::{Command, Fact, File, Origin};
pub use data::run::{Run, Section, VmRun};
pub use data::system::{Check, Decision, Platform, Vcpu, Vm};
pub use data::task::{Responses, Task, Term};
pub use data::theorem::{Checked, Theorem, Theorems, Unproved};
pub use data::timeline::{Lane, LaneKind, Mark, MarkKind, Span, SpanKind, Timeline};

/// Everything that the page shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proof {
    /// Name of the system.
    pub name: String,
    /// True if its runs were measured on a real machine, where times are no promise: a response above its bound there is no
    /// failure, and without isolation VCPUs have no servers either.
    pub measured: bool,
    /// True if everything holds with the plan: the system is schedulable, all bounds hold, no
    /// deadline is missed, no VM evicts lines of another VM, and no budget is exceeded by more than
    /// the analysis allows.
    pub holds: bool,
    /// The failures with the plan, a sentence each; empty if everything holds.
    pub failures: Vec<String>,
    /// Notes for the reader, a sentence each: assumptions, and missing measurements.
    pub notes: Vec<String>,
    /// The machine.
    pub platform: Platform,
    /// The VMs, in the order of the description; others name them by their place here.
    pub vms: Vec<Vm>,
    /// The decisions of the planner, in the order of the description; empty if nothing was open.
    pub decisions: Vec<Decision>,
    /// The tasks, in the order of VMs, VCPUs and priorities.
    pub tasks: Vec<Task>,
    /// The chains of tasks, in the order of the description.
    pub chains: Vec<Chain>,
    /// The verdict of the analysis without isolation.
    pub check_without: Check,
    /// The verdict of the analysis with the plan.
    pub check_with: Check,
    /// The simulation of the plan.
    pub simulation: Option<Run>,
    /// The run without isolation.
    pub without: Option<Run>,
    /// The run with the plan.
    pub with: Option<Run>,
    /// Accesses to memory against budgets, each of a VCPU or of a VM.
    pub traffic: Vec<Traffic>,
    /// The bounds with the plan as theorems, if that was asked for.
    pub theorems: Option<Theorems>,
    /// The inputs of the proof, and the commands that repeat it.
    pub origin: Origin,
}

impl Proof {
    /// Returns the page: one HTML document that needs nothing else, neither a network nor scripts.
    pub fn html(&self) -> String {
        page::html(self)
    }
}
