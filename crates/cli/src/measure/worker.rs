//! Processes that are victims and leeches.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use measure::isolation::Launch;
use measure::isolation::worker::{Options, Role, run, serve, take};

use super::options::{WorkerOptions, WorkerRole};
use crate::failure::Failure;
use crate::status::Status;

/// Is one, until its input ends.
pub fn worker(options: &WorkerOptions) -> Result<Status, Failure> {
    let failed = |why: String| Failure::new("worker", why);
    let (role, common) = match &options.role {
        WorkerRole::Run { workload, times } => {
            run(workload, *times).map_err(failed)?;
            return Ok(Status::Yes);
        }
        WorkerRole::Take { leech } => match take(leech) {
            Ok(never) => match never {},
            Err(why) => return Err(failed(why)),
        },
        WorkerRole::Victim { workload, at_least_ms, common } => {
            let at_least = Duration::from_millis(*at_least_ms);
            (Role::Victim { workload: workload.clone(), at_least }, common)
        }
        WorkerRole::Leech { leech, common } => (Role::Leech(leech.clone()), common),
    };
    let lifetime = Duration::from_secs(common.lifetime_s);
    Ok(match serve(&Options { role, cpu: common.cpu, lifetime }) {
        0 => Status::Yes,
        _ => Status::No,
    })
}

/// Starts this program again, or the program that stands for it in a context.
pub struct Programs {
    /// This program.
    pub this: PathBuf,
}

impl Launch for Programs {
    fn command(&self, context: Option<&str>, role: &Role, cpu: usize, life: Duration) -> Command {
        let mut command = match context {
            None => Command::new(&self.this),
            Some(text) => {
                let mut shell = Command::new("/bin/sh");
                // The words of the context are the user's, ours follow as they are.
                shell.args(["-c", &format!("exec {text} \"$@\""), "sh"]);
                shell
            }
        };
        command.args(["measure", "worker"]);
        match role {
            Role::Victim { workload, at_least } => {
                command.args(["victim", &workload.to_string()]);
                command.args(["--at-least-ms", &at_least.as_millis().to_string()]);
            }
            Role::Leech(leech) => {
                command.args(["leech", &leech.to_string()]);
            }
        }
        command.args(["--cpu", &cpu.to_string(), "--lifetime-s", &life.as_secs().to_string()]);
        command
    }
}
