//! `bulkhead prove`: that a system is isolated, shown without and with its plan: checked, planned, simulated and
//! run.

mod options;
mod show;
mod steps;

use lab::Watch;
use lab::proof::{self, Proven};

pub use options::ProveOptions;

use crate::failure::Failure;
use crate::format::Format;
use crate::output;
use crate::run::On;
use crate::signals::Signals;
use crate::status::Status;
use steps::Steps;

/// Runs the command.
pub fn prove(options: &ProveOptions, format: Format) -> Result<Status, Failure> {
    options.check()?;
    let signals = Signals::catch()?;
    let steps = Steps::new();
    let proven = proof::prove(&wanted(options), &Watcher { signals: &signals, steps: &steps })?;
    drop(steps);
    let Some(proven) = proven else {
        output::error("interrupted: nothing is proven, and no file was changed\n");
        return Ok(signals.caught().map_or(Status::No, Status::Signal));
    };
    let Proven { proof, verdicts, results, page } = proven;
    format.print(
        || verdicts,
        || output::print(&results),
        || {
            let report = page.map(|page| format!("report: {}\n", page.display()));
            format!("{}{}", show::show(&proof), report.unwrap_or_default())
        },
    )?;
    Ok(if proof.holds { Status::Yes } else { Status::No })
}

/// The proof that `options` ask for.
fn wanted(options: &ProveOptions) -> proof::Options {
    proof::Options {
        file: options.file.clone(),
        on: match options.on {
            On::Qemu => proof::On::Model,
            On::Kvm => proof::On::Kvm,
        },
        output: options.output.clone(),
        append: options.append.clone(),
        timeout: options.timeout,
        simulate: options.simulate,
        cachescope_options: options.cachescope_option.clone(),
        hypervisor: options.hypervisor.clone(),
        certificate: options.certificate,
        compile_proofs: options.compile_proofs,
    }
}

/// Looks for signals and shows how far the proof is.
struct Watcher<'a> {
    signals: &'a Signals,
    steps: &'a Steps,
}

impl Watch for Watcher<'_> {
    fn stops(&self) -> bool {
        self.signals.stops()
    }

    fn step(&self, what: &str) {
        self.steps.begin(what);
    }

    fn tick(&self) {
        self.steps.tick();
    }
}
