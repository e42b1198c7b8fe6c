//! The processor time that a measurement took.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The time that a measurement took.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Took {
    /// Seconds of processor time: of this program and of QEMU.
    pub processor_s: u64,
    /// Boots.
    pub boots: u64,
}

impl Took {
    /// Returns the times as text for people.
    pub fn text(self) -> String {
        let minutes = self.processor_s.div_ceil(60);
        let time = match minutes {
            0..120 => format!("{minutes} min"),
            _ => format!("{} h {} min", minutes / 60, minutes % 60),
        };
        match self.boots {
            0 => format!("{time} of processor time"),
            1 => format!("{time} of processor time, 1 boot"),
            boots => format!("{time} of processor time, {boots} boots"),
        }
    }
}

/// The processor time of this process and of the children that have ended; `None` where the kernel does not tell.
pub fn processor_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may have spaces.
    let (_, rest) = stat.rsplit_once(')')?;
    // utime, stime, cutime, cstime: fields 14 to 17, in hundredths of a second.
    let times = rest.split_whitespace().skip(11).take(4);
    let ticks: u64 = times.map(|it| it.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 10))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn times_are_told_in_minutes_and_hours() {
        let text = |processor_s, boots| Took { processor_s, boots }.text();
        assert_eq!(text(61, 0), "2 min of processor time");
        assert_eq!(text(60, 1), "1 min of processor time, 1 boot");
        assert_eq!(text(3 * 3600 + 5, 7), "3 h 1 min of processor time, 7 boots");
    }

    #[test]
    fn the_time_of_children_counts() {
        let before = processor_time().expect("Linux tells");
        let loops = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        Command::new("sh").args(["-c", loops]).status().expect("sh");
        let spent = processor_time().expect("Linux tells") - before;
        assert!(spent >= Duration::from_millis(50), "{spent:?}");
    }
}
