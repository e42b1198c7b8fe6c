//! Options of `bulkhead plan`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use lab::load;
use system::description::Objective;

use crate::failure::Failure;
use crate::words::{objective, seed, time};

/// Make a plan from a description
///
/// The command chooses what the description leaves open. The plan is a device tree in source form:
/// you can read, compare and edit it, and run it with `bulkhead run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead plan systems/demo.toml                writes systems/demo.plan.dts
  bulkhead plan systems/demo.toml -o - | less    shows the plan
  bulkhead plan systems/planned.toml --objective least-time --time 10s
  bulkhead plan systems/planned.toml --explain -o build/planned.plan.dts
  bulkhead plan systems/planned.toml --from build/planned.plan.dts --changes 3 -o build/new.plan.dts
  bulkhead plan systems/planned.toml --front=build/front.svg

Exit status: 0 there is a plan, and all deadlines are met; 1 a task can miss its deadline, or there is no plan; 2 bad
input; 129, 130 and 143: ended by SIGHUP, SIGINT (Ctrl-C) and SIGTERM before there was a plan.")]
pub struct PlanOptions {
    /// Description (.toml), or a plan (.dts, .dtb), which is written in this command's layout
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The file for the plan; `-` is the standard output [default: FILE with the ending .plan.dts, or
    /// .planned.toml for a machine that is only analysed: a description with everything decided]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The objective of the plan: `most-slack` (all execution times can grow by the largest factor), `least-time` (of
    /// processors), `fewest-pcpus`, or `most-bandwidth=VM` (the largest limit of memory accesses for this VM); or
    /// several with weights, as in `least-time=2,most-slack=1` [default: `objective` of the description, or
    /// most-slack]
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective)]
    pub objective: Option<Objective>,
    /// Search for this long, as in `10s`, and take the best plan; Ctrl-C ends the search earlier, with the best plan
    /// until then [default: until a number of candidates was tried, and where there is no plan at most 10 s more for
    /// changes that would help]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub time: Option<Duration>,
    /// Seed of the random numbers of the search
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        value_parser = seed,
        allow_negative_numbers = true
    )]
    pub seed: u64,
    /// Show the effect of other decisions: the command tries alternatives to each decision, and judges them as
    /// `check` does
    #[arg(long, conflicts_with = "front")]
    pub explain: bool,
    /// Begin with this old plan of the same system, and change as few decisions as necessary to make it hold, or to
    /// improve it
    #[arg(long, value_name = "OLD", conflicts_with = "front")]
    pub from: Option<PathBuf>,
    /// With --from: change at most this number of decisions [default: each change has to be worth it]
    #[arg(long, value_name = "NUMBER", requires = "from")]
    pub changes: Option<usize>,
    /// Show plans of which none is better than another one in everything: less processor time, more slack, and more
    /// memory accesses where limits are open; also as a chart in a file. With --output, the plans go into that folder
    #[arg(
        long,
        value_name = "FILE.svg",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "objective"
    )]
    pub front: Option<Option<PathBuf>>,
    /// With --front: count memory accesses of this VM only
    #[arg(long, value_name = "VM", requires = "front")]
    pub vm: Option<String>,
}

impl PlanOptions {
    /// Returns the file that is named for the plan; `None` if none is, or the standard output.
    pub fn target(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Refuses options of the search for a file that is a plan, in which nothing is open.
    pub fn check(&self) -> Result<(), Failure> {
        if load::ending(&self.file) == Some("toml") {
            return Ok(());
        }
        let given = [
            ("--objective", self.objective.is_some()),
            ("--time", self.time.is_some()),
            ("--explain", self.explain),
            ("--from", self.from.is_some()),
            ("--front", self.front.is_some()),
        ];
        let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
        // What cannot be read is said first.
        load::read(&self.file)?;
        let message = format!(
            "{} is a plan, in which nothing is open: `{option}` has no meaning for it\n\
             help: name the description that the plan was made from, or leave out `{option}`",
            self.file.display()
        );
        Err(Failure::new("is-a-plan", message))
    }
}
