//! How close simulated times come to their bounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::class::Class;

/// What a campaign has counted so far.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Progress {
    pub seed: u64,
    /// Systems, and with that the number of the next one.
    pub systems: u64,
    pub courses: u64,
    pub classes: BTreeMap<Class, Histogram>,
}

/// Simulated time by bound, in thousandths, rounded down: how many tasks for each.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Histogram {
    tasks: BTreeMap<u16, u64>,
}

impl Histogram {
    pub fn add(&mut self, seen: u64, bound: u64) {
        let ratio = (u128::from(seen) * 1000 / u128::from(bound)).min(2_000);
        *self.tasks.entry(ratio as u16).or_default() += 1;
    }

    pub fn tasks(&self) -> u64 {
        self.tasks.values().sum()
    }

    /// Those whose bound was reached.
    pub fn reached(&self) -> u64 {
        self.tasks.range(1_000..).map(|(_, count)| count).sum()
    }

    /// The ratio in thousandths that so many per cent of the tasks are not above.
    pub fn quantile(&self, percent: u64) -> u16 {
        let rank = (self.tasks() * percent).div_ceil(100).max(1);
        let mut below = 0;
        let found = self.tasks.iter().find(|(_, count)| {
            below += **count;
            below >= rank
        });
        found.map_or(0, |(ratio, _)| *ratio)
    }
}

impl Progress {
    pub fn tasks(&self) -> u64 {
        self.classes.values().map(Histogram::tasks).sum()
    }

    pub fn reached(&self) -> u64 {
        self.classes.values().map(Histogram::reached).sum()
    }

    /// A table in Markdown.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| tasks of | bounds | reached | least | 1 % | 10 % | median |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for (class, about) in Class::ALL {
            let Some(histogram) = self.classes.get(&class) else { continue };
            let percent = histogram.reached() as f64 * 100.0 / histogram.tasks() as f64;
            let ratio = |percent| f64::from(histogram.quantile(percent)) / 1000.0;
            text.push_str(&format!(
                "| {about} | {} | {percent:.1} % | {:.2} | {:.2} | {:.2} | {:.2} |\n",
                thousands(histogram.tasks()),
                ratio(0),
                ratio(1),
                ratio(10),
                ratio(50),
            ));
        }
        text
    }
}

/// 1234567 as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
