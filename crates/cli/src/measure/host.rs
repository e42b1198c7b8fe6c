//! `bulkhead measure host`: the parts that this machine lacks to run VMs under KVM.

use std::path::{Path, PathBuf};

use clap::Args;
use host::survey::{Effect, Lack, survey};
use report::text::table;
use serde::Serialize;

use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Say what this machine lacks to run VMs under KVM
///
/// `bulkhead run --on kvm` runs VMs on a Linux host. The command examines the settings of this host and the rights of
/// this process. It shows all settings that prevent such runs, delay VMs, prevent or weaken their page colours, or prevent
/// limits of their memory accesses or ways of the cache. It changes nothing.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  sudo bulkhead measure host

Exit status: 0 nothing is lacking, 1 something is, 2 bad input.")]
pub struct HostOptions {
    /// The folder whose files describe the host
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
    /// CPUs on which VCPUs are to run, such as 1,2
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub cpus: Vec<usize>,
}

/// Runs the command.
pub fn host(options: &HostOptions, as_json: bool) -> Result<Status, Failure> {
    let lacks = survey(Path::new(&options.root), &options.cpus);
    let none = |effect| lacks.iter().all(|lack| lack.effect != effect);
    let can_run = none(Effect::Prevents);
    let can_color = can_run && none(Effect::PreventsColors);
    let can_limit = can_run && none(Effect::PreventsLimits);
    let can_divide = can_run && none(Effect::PreventsWays);
    if as_json {
        json::print(&Document {
            ok: lacks.is_empty(),
            can_run,
            can_color,
            can_limit,
            can_divide,
            lacks: &lacks,
        })?;
    } else {
        let parts = [
            (can_color, "colours"),
            (can_limit, "limits of memory accesses"),
            (can_divide, "ways of the cache"),
        ];
        output::print(&text(&lacks, can_run, parts))?;
    }
    Ok(if lacks.is_empty() { Status::Yes } else { Status::No })
}

/// `parts`: whether VMs can have each of these.
fn text(lacks: &[Lack], can_run: bool, parts: [(bool, &str); 3]) -> String {
    let row =
        |lack: &Lack| [lack.name, lack.effect.as_str(), &lack.found].map(str::to_owned).to_vec();
    let rows: Vec<_> = lacks.iter().map(row).collect();
    let mut text = String::new();
    if !rows.is_empty() {
        text.push_str(&table(&["lacking", "effect", "found"], &rows));
        text.push('\n');
        text.extend(lacks.iter().map(|lack| format!("{}: {}\n", lack.name, lack.help)));
        text.push('\n');
    }
    let without: Vec<&str> = parts.iter().filter(|it| !it.0).map(|it| it.1).collect();
    text += match (can_run, &*without) {
        (false, _) => "VMs cannot run under KVM here",
        (true, _) if lacks.is_empty() => "VMs can run under KVM here, and nothing is lacking",
        (true, _) => "VMs can run under KVM here",
    };
    if can_run && let [rest @ .., last] = &*without {
        let rest = rest.join(", ");
        text +=
            &format!(", but not with {rest}{}{last}", if rest.is_empty() { "" } else { " or " });
    }
    text.push('\n');
    text
}

/// The result as `--json` shows it.
#[derive(Serialize)]
struct Document<'a> {
    /// True if nothing is lacking.
    ok: bool,
    /// True if VMs can run.
    can_run: bool,
    /// True if VMs with colours can run.
    can_color: bool,
    /// True if VMs with limits of memory accesses can run.
    can_limit: bool,
    /// True if VMs with ways of the last-level cache can run.
    can_divide: bool,
    lacks: &'a [Lack],
}
