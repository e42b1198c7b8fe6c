//! The process of a victim or of a leech.
//!
//! It gets orders as lines on its standard input and answers each with a line of JSON on
//! its standard output. It ends with its input, so that nothing stays when whoever
//! started it ends, however that ends.

mod leech;
mod victim;

use std::convert::Infallible;
use std::io::{self, BufRead, Write};
use std::process::exit;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counters::Counts;
use super::leech::Leech;
use super::protection::{self, Protection};
use super::workload::{Workload, end_command};

/// Roles of a process.
#[derive(Clone, Debug)]
pub enum Role {
    /// A measured program.
    Victim {
        /// The workload.
        workload: Workload,
        /// A run repeats the workload until it takes about this time.
        at_least: Duration,
    },
    /// A program that loads a resource.
    Leech(Leech),
}

/// Options of a process.
#[derive(Clone, Debug)]
pub struct Options {
    /// Role of the process.
    pub role: Role,
    /// The CPU that it is pinned to.
    pub cpu: Option<usize>,
    /// The process ends by itself after this time.
    pub lifetime: Duration,
}

/// Answers of a process.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The process is ready.
    Ready {
        /// The protection that the process got.
        protection: Protection,
        /// Number of times that a run repeats the workload.
        repeats: u32,
        /// About how long a run takes, in nanoseconds.
        #[serde(default)]
        run_ns: u64,
        /// Events that are not counted, and why.
        uncounted: Vec<String>,
    },
    /// A run.
    Ran(Run),
    /// The process carried out the command.
    Ok,
    /// The process cannot continue.
    Failed(String),
}

/// A run of a victim.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Run {
    /// Time from its beginning to its end.
    pub time_ns: u64,
    /// Number of times that another program took its CPU.
    pub preemptions: u64,
    /// Time that it was ready and did not run.
    pub waited_ns: u64,
    /// The CPU on which it ended.
    pub cpu: usize,
    /// Counts of the machine.
    #[serde(flatten)]
    pub counts: Counts,
}

/// An order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// A victim: run once.
    Run,
    /// A leech: take.
    Take,
    /// A leech: take nothing, but do not leave the CPU to others either.
    Rest,
}

impl Order {
    /// Returns the command as a line, without the line's end.
    pub fn line(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Take => "take",
            Self::Rest => "rest",
        }
    }

    fn parse(line: &str) -> Option<Self> {
        [Self::Run, Self::Take, Self::Rest].into_iter().find(|order| order.line() == line.trim())
    }
}

/// Is that process until its input ends. The result is the exit status.
pub fn serve(options: &Options) -> u8 {
    let orders = watch(options.lifetime);
    let result = match &options.role {
        Role::Victim { workload, at_least } => {
            victim::serve(workload, *at_least, options.cpu, &orders)
        }
        Role::Leech(leech) => leech::serve(leech, options.cpu, &orders),
    };
    match result {
        Ok(()) => 0,
        Err(why) => {
            answer(&Answer::Failed(why));
            1
        }
    }
}

/// Runs a workload this number of times and prints nothing, for measurements by another program.
///
/// # Errors
///
/// The message is for the user.
pub fn run(workload: &Workload, times: u32) -> Result<(), String> {
    let mut work = workload.prepare()?;
    (0..times).try_for_each(|_| work.run())
}

/// Takes until it is killed.
///
/// # Errors
///
/// The thing that it needs and does not get, in words for people.
pub fn take(leech: &Leech) -> Result<Infallible, String> {
    let mut take = leech.prepare()?;
    loop {
        while !take.take()? {}
        thread::sleep(leech.sleep);
    }
}

/// Reads orders in a thread that ends the process with its input, or when its time is
/// over, whatever the process does.
fn watch(lifetime: Duration) -> Receiver<Order> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let _ = protection::raise(protection::CONTROL);
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let Some(order) = Order::parse(&line) else { continue };
            if sender.send(order).is_err() {
                break;
            }
        }
        end(0);
    });
    thread::spawn(move || {
        let _ = protection::raise(protection::CONTROL);
        thread::sleep(lifetime);
        end(1);
    });
    receiver
}

fn end(status: i32) -> ! {
    end_command();
    exit(status)
}

/// Prints an answer. If the reader is gone, the input ends too, and that is handled elsewhere.
fn answer(answer: &Answer) {
    let Ok(mut line) = serde_json::to_string(answer) else { return };
    line.push('\n');
    let mut out = io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_are_written() {
        for order in [Order::Run, Order::Take, Order::Rest] {
            assert_eq!(Order::parse(order.line()), Some(order));
        }
        assert_eq!(Order::parse("go away"), None);
    }

    #[test]
    fn answers_are_lines() {
        let counts = Counts { llc_misses: Some(3), ..Counts::default() };
        let run = Run { time_ns: 1, preemptions: 0, waited_ns: 2, cpu: 1, counts };
        let text = serde_json::to_string(&Answer::Ran(run.clone())).expect("JSON");
        assert!(!text.contains('\n') && text.contains("llc_misses"), "{text}");
        assert_eq!(serde_json::from_str::<Answer>(&text).ok(), Some(Answer::Ran(run)));
    }
}
