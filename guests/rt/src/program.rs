//! Tasks as boot arguments describe them: `name/processor/period/offset/steps`, times in microseconds.
//!
//! Steps are executed one after the other; `resource:time` is a critical section:
//!
//! ```text
//! tau-1/0/200000/0/2000+shared:1000+2000
//! ```
//!
//! A job can receive the newest message of a channel before its first step, `<channel`, and send one
//! after its last step, `>channel`:
//!
//! ```text
//! control/0/10000/0/<pose+1000+>motor
//! ```
//!
//! `>channel!` also rings for the channel, and a task with `bell` in place of the period runs a job when there is a
//! ring for a channel that the guest reads:
//!
//! ```text
//! control/0/bell/0/<pose+1000+>motor!
//! ```

use core::fmt;
use core::time::Duration;

use crate::taskset::BY_BELL;

/// A task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Program<'a> {
    /// Its name.
    pub name: &'a str,
    /// The processor that it runs on.
    pub processor: usize,
    /// Time between releases; [`BY_BELL`]: the bell releases jobs.
    pub period: Duration,
    /// Time from the start to the first release.
    pub offset: Duration,
    /// The channel from which a job receives the newest message when it starts.
    pub receives: Option<&'a str>,
    /// The channel through which a job sends a message when it is done.
    pub sends: Option<&'a str>,
    /// True if it then rings for this channel.
    pub rings: bool,
    /// The steps of a job between receiving and sending, checked.
    steps: &'a str,
}

/// A part of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step<'a> {
    /// The resource that the task holds meanwhile.
    pub resource: Option<&'a str>,
    /// Execution time.
    pub time: Duration,
}

/// The error in the description of a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoProgram<'a> {
    text: &'a str,
}

impl fmt::Display for NoProgram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "task {}: expected name/processor/period/offset/steps, times in whole microseconds, or bell/0 for \
             period/offset, steps as 2000+bus:1000, <channel+2000+>channel or 2000+>channel!",
            self.text
        )
    }
}

impl<'a> Program<'a> {
    /// Reads a description.
    pub fn parse(text: &'a str) -> Result<Self, NoProgram<'a>> {
        Self::read(text).ok_or(NoProgram { text })
    }

    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split('/');
        let name = parts.next().filter(|name| !name.is_empty())?;
        let processor = parts.next()?.parse().ok()?;
        let period = match parts.next()? {
            "bell" => BY_BELL,
            period => time(period).filter(|period| !period.is_zero())?,
        };
        let offset = time(parts.next()?)?;
        if period == BY_BELL && !offset.is_zero() {
            return None;
        }
        let steps = parts.next()?;
        let (receives, steps) = match steps.strip_prefix('<') {
            Some(rest) => rest.split_once('+').map(|(channel, steps)| (Some(channel), steps))?,
            None => (None, steps),
        };
        let (steps, sends) = match steps.rsplit_once("+>") {
            Some((steps, channel)) => (steps, Some(channel)),
            None => (steps, None),
        };
        let rings = sends.is_some_and(|channel| channel.ends_with('!'));
        let sends = sends.map(|channel| channel.strip_suffix('!').unwrap_or(channel));
        if [receives, sends].into_iter().flatten().any(str::is_empty)
            || steps.split('+').any(|step| Step::read(step).is_none())
        {
            return None;
        }
        let program = Self { name, processor, period, offset, receives, sends, rings, steps };
        parts.next().is_none().then_some(program)
    }

    /// Returns the steps of a job.
    pub fn steps(&self) -> impl Iterator<Item = Step<'a>> + use<'a> {
        self.steps.split('+').filter_map(Step::read)
    }
}

impl<'a> Step<'a> {
    fn read(text: &'a str) -> Option<Self> {
        match text.split_once(':') {
            Some(("", _)) => None,
            Some((resource, length)) => {
                Some(Self { resource: Some(resource), time: time(length)? })
            }
            None => Some(Self { resource: None, time: time(text)? }),
        }
    }
}

fn time(microseconds: &str) -> Option<Duration> {
    microseconds.parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_read() {
        let task = Program::parse("tau-2/3/200000/1000/2000+shared:1100+2000").expect("a task");
        assert_eq!((task.name, task.processor), ("tau-2", 3));
        let times = (Duration::from_millis(200), Duration::from_millis(1));
        assert_eq!((task.period, task.offset), times);
        let step =
            |resource, microseconds| Step { resource, time: Duration::from_micros(microseconds) };
        let steps = [step(None, 2000), step(Some("shared"), 1100), step(None, 2000)];
        assert!(task.steps().eq(steps));
    }

    #[test]
    fn tasks_receive_first_and_send_last() {
        let ends = |text: &'static str| {
            let task = Program::parse(text).expect("a task");
            (task.receives, task.steps().count(), task.sends)
        };
        assert_eq!(ends("a/0/1/0/<pose+1000+bus:5+>motor"), (Some("pose"), 2, Some("motor")));
        assert_eq!(ends("a/0/1/0/<pose+1"), (Some("pose"), 1, None));
        assert_eq!(ends("a/0/1/0/1+>motor"), (None, 1, Some("motor")));
    }

    #[test]
    fn tasks_ring_and_are_released_by_the_bell() {
        let task = Program::parse("a/0/bell/0/<pose+1+>motor!").expect("a task");
        assert_eq!((task.period, task.sends, task.rings), (BY_BELL, Some("motor"), true));
        let task = Program::parse("a/0/9/0/1+>motor").expect("a task");
        assert_eq!((task.sends, task.rings), (Some("motor"), false));
    }

    #[test]
    fn other_texts_are_refused() {
        let refused = [
            "",
            "/0/1/0/1",
            "a",
            "a/0/1/0",
            "a/0/1/0/",
            "a/0/1/0/1/1",
            "a/0/0/0/1",
            "a/-1/1/0/1",
            "a/0/1ms/0/1",
            "a/0/1/0/:1",
            "a/0/1/0/b:",
            "a/0/1/0/1+",
            "a/0/1/0/<pose",
            "a/0/1/0/<+1",
            "a/0/1/0/1+>",
            "a/0/1/0/>pose+1",
            "a/0/1/0/1+<pose",
            "a/0/1/0/<a+<b+1",
            "a/0/1/0/1+>a+>b",
            "a/0/1/0/1+>!",
            "a/0/bell/1/1",
            "a/0/bells/0/1",
        ];
        for text in refused {
            assert_eq!(Program::parse(text), Err(NoProgram { text }));
        }
    }
}
