//! The progress of a measurement, and the time that it takes.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use measure::isolation::{Options, Progress, estimate};

/// Steps of the bar.
const STEPS: f64 = 1000.0;

/// A bar on a terminal, nothing elsewhere. It goes away with this value.
pub struct Bar(ProgressBar);

impl Bar {
    /// Announces the measurement.
    pub fn new(options: &Options) -> Self {
        if !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{wide_msg} {bar:20} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(STEPS as u64).with_style(style);
        bar.println(announcement(options));
        // Rows take seconds: the time that goes on shows that it is alive.
        bar.enable_steady_tick(Duration::from_secs(1));
        Self(bar)
    }

    /// Shows the progress.
    pub fn show(&self, progress: &Progress) {
        self.0.set_position((progress.part * STEPS) as u64);
        self.0.set_message(format!("{}, {} left", progress.what, about(progress.left)));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Returns the announcement of a measurement, with the time that it takes.
fn announcement(options: &Options) -> String {
    let rows: usize = options.tests.iter().map(|test| test.points.len() + 1).sum();
    let rows = rows * options.contexts.len();
    let time = match estimate(options) {
        Some(time) => about(time),
        None => "for as long as the command needs".into(),
    };
    format!("measuring {rows} rows, {time}; Ctrl-C ends the measurement and keeps its results")
}

/// `about 40 s`, `about 2 min`
fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..=90 => format!("about {seconds} s"),
        seconds => format!("about {} min", seconds.div_ceil(30) / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_round() {
        for (seconds, shown) in
            [(0, "0 s"), (89, "89 s"), (91, "2 min"), (119, "2 min"), (600, "10 min")]
        {
            assert_eq!(about(Duration::from_secs(seconds)), format!("about {shown}"));
        }
    }
}
