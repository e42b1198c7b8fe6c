//! The proof that a system is isolated, as one page for people: what was analysed, simulated and
//! executed, without and with isolation.
//!
//! [`Proof`] is plain data; [`Proof::html`] makes the page. What is not known is left empty: the
//! page then says so, or leaves the part out. All times are integers in nanoseconds; those on time lines
//! and series count from the start of the servers (or of everything) of that run.
//!
//! ```
//! use bulkhead_report::proof::Proof;
//!
//! let proof = Proof { name: "rover".into(), holds: true, ..Proof::default() };
//! assert!(proof.html().contains("<h1>rover"));
//! ```

mod data;
mod page;

pub use data::cache::{Cache, Owner};
pub use data::memory::Traffic;
pub use data::origin::{Command, Fact, File, Origin};
pub use data::run::{Run, Section, VmRun};
pub use data::system::{Check, Platform, Vcpu, Vm};
pub use data::task::{Responses, Task, Term};
pub use data::timeline::{Lane, LaneKind, Mark, MarkKind, Span, SpanKind, Timeline};

/// Everything that the page shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proof {
    /// Name of the system.
    pub name: String,
    /// Whether everything holds with the plan: schedulable, all bounds hold, nothing missed, no
    /// evictions across VMs, no budget overdrawn by more than is analysed.
    pub holds: bool,
    /// What does not hold with the plan, a sentence each; empty if everything does.
    pub failures: Vec<String>,
    /// What else a reader has to know, a sentence each: what is assumed, what was not measured.
    pub notes: Vec<String>,
    /// The machine.
    pub platform: Platform,
    /// The VMs, in the order of the description; others name them by their place here.
    pub vms: Vec<Vm>,
    /// The tasks, in the order of VMs, VCPUs and priorities.
    pub tasks: Vec<Task>,
    /// What the analysis says of the system without isolation.
    pub check_without: Check,
    /// What it says with the plan.
    pub check_with: Check,
    /// The simulation of the plan.
    pub simulation: Option<Run>,
    /// The run without isolation.
    pub without: Option<Run>,
    /// The run with the plan.
    pub with: Option<Run>,
    /// Accesses to memory against budgets, each of a VCPU or of a VM.
    pub traffic: Vec<Traffic>,
    /// How to get all this again, and from what it was made.
    pub origin: Origin,
}

impl Proof {
    /// The page: one HTML document that needs nothing else, neither a network nor scripts.
    pub fn html(&self) -> String {
        page::html(self)
    }
}
