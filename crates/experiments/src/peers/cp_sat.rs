//! The generic model for the CP-SAT solver of OR-tools: a Python script in the folder of the
//! experiment, which the user's Python executes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration as Time;

use serde::{Deserialize, Serialize};
use sweep::Error;

use super::drawn::Drawn;
use super::plan::{Plan, Vcpu};

/// The script, in the folder of the experiment.
pub const FILE: &str = "cp_sat.py";
const PYTHON: &str = "python3";

/// A script that can be executed.
#[derive(Clone, Debug, Serialize)]
pub struct Script {
    file: PathBuf,
}

/// The question that the script reads.
#[derive(Debug, Serialize)]
struct Question {
    pcpus: usize,
    vcpus: usize,
    period_ns: u64,
    /// WCET and period of each task of each VM, the highest priority first.
    vms: Vec<Vec<[u64; 2]>>,
}

/// The answer that the script writes.
#[derive(Debug, Deserialize)]
struct Answer {
    /// Processor time of the solver.
    time_ns: u64,
    /// The VCPUs with tasks; none if no plan was found.
    vcpus: Option<Vec<Vcpu>>,
}

impl Script {
    /// Returns the script in this file; `None` if Python or OR-tools is not installed.
    pub fn find(file: &Path) -> Result<Option<Self>, String> {
        if !file.is_file() {
            return Err(format!("{} is missing", file.display()));
        }
        let mut import = Command::new(PYTHON);
        import.args(["-c", "import ortools.sat.python.cp_model"]);
        let import = import.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let is_there = import.is_ok_and(|status| status.success());
        Ok(is_there.then(|| Self { file: file.to_owned() }))
    }

    /// Returns the plan of the solver, and its processor time.
    pub fn plan(&self, drawn: &Drawn) -> Result<(Option<Plan>, Time), Error> {
        let tasks = |vm: &Vec<planner::Task>| {
            vm.iter().map(|task| [task.wcet(1).0, task.period().0]).collect()
        };
        let question = Question {
            pcpus: drawn.pcpus,
            vcpus: drawn.vcpus,
            period_ns: drawn.period.0,
            vms: drawn.vms.iter().map(tasks).collect(),
        };
        let question = serde_json::to_vec(&question).expect("numbers can be written");
        let answer = self
            .ask(&question)
            .map_err(|why| Error::Parameters(format!("{PYTHON} {}: {why}", self.file.display())))?;
        let time = Time::from_nanos(answer.time_ns);
        Ok((answer.vcpus.map(|vcpus| Plan { vcpus }), time))
    }

    fn ask(&self, question: &[u8]) -> Result<Answer, String> {
        let mut command = Command::new(PYTHON);
        command.arg(&self.file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(question).map_err(|error| error.to_string())?;
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("it ended with {}", output.status));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
    }
}
