//! The result of the measurement.

use std::time::Duration;

use serde::Serialize;

use super::trial::Trial;
use crate::cache::CpuCache;
use crate::machine;
use crate::statistics::Interval;

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Page colours can be observed.
    Observable {
        /// Number of colours that could be distinguished.
        colors: u32,
        /// True if there can be more colours, which this measurement cannot distinguish.
        at_least: bool,
    },
    /// Page colours cannot be observed here.
    NotObservable {
        /// The reason.
        why: String,
    },
}

/// The effect of pages whose colour differs in one bit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ColorBit {
    /// The bit of physical addresses.
    pub address_bit: u32,
    /// Nanoseconds to read a line of a victim after reading such pages.
    pub line_ns: Interval,
    /// True if the pages do not evict victims: their effect is closer to the control than to the
    /// effect of pages of the victim's colour.
    pub separates: bool,
}

/// The measured values, and the answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The answer.
    #[serde(skip)]
    pub verdict: Verdict,
    /// The CPU that measured.
    pub cpu: usize,
    /// The cache.
    pub cache: CpuCache,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that were read to push a victim out.
    pub pages: usize,
    /// Nanoseconds to read a line of a victim after reading pages of its colour.
    pub same_color_line_ns: Interval,
    /// The same after reading as many pages of any colour.
    pub control_line_ns: Interval,
    /// The ratio of the first to the second.
    pub ratio: Interval,
    /// Times after reading as many pages whose colour differs in one bit.
    pub bits: Vec<ColorBit>,
    /// Number of rounds of measurements.
    pub rounds: u32,
    /// Pages whose frame changed during the measurement.
    pub moved_pages: usize,
    /// Duration of the measurement.
    pub seconds: f64,
}

impl Report {
    pub(super) fn new(
        cpu: usize,
        cache: CpuCache,
        page_bytes: u64,
        trial: &Trial,
        moved_pages: usize,
        time: Duration,
    ) -> Self {
        let (same, control) = (trial.same(), trial.control());
        let middle = (same.median + control.median) / 2.0;
        let bit = |bit: u32| {
            let line_ns = trial.neighbor(bit);
            let separates = trial.is_effect() && line_ns.high < middle;
            ColorBit { address_bit: page_bytes.trailing_zeros() + bit, line_ns, separates }
        };
        let bits: Vec<ColorBit> = (0..trial.bits).map(bit).collect();
        let apart = bits.iter().filter(|bit| bit.separates).count() as u32;
        let verdict = if apart > 0 {
            let at_least = apart == trial.bits && apart < cache.color_bits_max(page_bytes);
            Verdict::Observable { colors: 1 << apart, at_least }
        } else {
            Verdict::NotObservable { why: why(trial, moved_pages) }
        };
        Self {
            verdict,
            cpu,
            cache,
            page_bytes,
            pages: trial.pages,
            same_color_line_ns: same,
            control_line_ns: control,
            ratio: trial.ratio(),
            bits,
            rounds: trial.rounds,
            moved_pages,
            seconds: time.as_secs_f64(),
        }
    }
}

fn why(trial: &Trial, moved: usize) -> String {
    let what = match trial.is_effect() {
        true => "pages of every colour push each other out",
        false => "pages of one colour do not push each other out more than pages of any colour do",
    };
    let reason = if moved > trial.pages {
        format!("; the kernel gave {moved} pages other frames meanwhile")
    } else if machine::is_virtual() {
        "; this is a virtual machine, and the frames that it sees need not be those of the machine"
            .into()
    } else {
        "; the cache may choose its sets by a hash of the address, or others use it too much".into()
    };
    format!("{what}{reason}")
}
