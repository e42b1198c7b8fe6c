//! Measures with a number of bits that are taken for colours.

use super::memory::Memory;
use super::pages::Pages;
use crate::Missing;
use crate::statistics::{Interval, median};

/// Victims. An interval of 95 % leaves out a quarter of them at each end.
const VICTIMS: usize = 24;
/// The pages have an effect if a victim takes this many times longer than in the control.
const EFFECT: f64 = 1.2;
/// Number of passes over the pages, so that they also evict victims from caches that are not
/// strictly LRU.
const PASSES: usize = 2;

/// The pages that are read between two readings of a victim.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Disturbance {
    /// Pages of the victim's colour.
    Same,
    /// Pages of the colour that differs in this bit.
    Neighbor(u32),
    /// Pages of any colour.
    Control,
}

/// A victim, and the pages that are read.
struct Victim {
    page: usize,
    color: usize,
    control: Vec<usize>,
    /// Of its colour, and not among those that disturb it.
    inner: Vec<usize>,
}

/// A measurement.
pub struct Trial {
    /// Bits of frames' numbers that are taken for the colour.
    pub bits: u32,
    /// Pages that are read to push a victim out.
    pub pages: usize,
    /// Rounds that were measured to their end.
    pub rounds: u32,
    by_color: Vec<Vec<usize>>,
    victims: Vec<Victim>,
    /// Nanoseconds for a line, by disturbance and victim.
    samples: Vec<(Disturbance, Vec<Vec<f64>>)>,
}

impl Trial {
    /// Assumes that this number of bits are colours; `count` pages evict a victim, and
    /// `inner_pages` evict it from the caches nearer to the CPU.
    pub fn new<M>(
        pages: &Pages<M>,
        bits: u32,
        count: usize,
        inner_pages: usize,
        random: &mut fastrand::Rng,
    ) -> Result<Self, Missing> {
        let by_color = pages.by_color(bits);
        let needed = count + inner_pages + 1;
        let enough = |color: usize| by_color[color].len() >= needed;
        let usable: Vec<usize> = (0..by_color.len())
            .filter(|color| enough(*color) && (0..bits).all(|bit| enough(color ^ 1 << bit)))
            .collect();
        if usable.is_empty() {
            return Err(Missing::Frames);
        }
        let victim = |index: usize| {
            let color = usable[index % usable.len()];
            let of_color = &by_color[color];
            // Behind those that disturb; victims of one color differ if there are enough.
            let spare = of_color.len() - count;
            let page = of_color[count + index / usable.len() % spare];
            let inner = of_color[count..].iter().copied().filter(|other| *other != page);
            let mut control = pages.any(count + 1, random);
            control.retain(|other| *other != page);
            control.truncate(count);
            Victim { page, color, control, inner: inner.take(inner_pages).collect() }
        };
        let victims = (0..VICTIMS).map(victim).collect();
        let mut trial =
            Self { bits, pages: count, rounds: 0, by_color, victims, samples: Vec::new() };
        trial.start([Disturbance::Same, Disturbance::Control]);
        Ok(trial)
    }

    /// Starts again, and measures neighbours from now on too.
    pub fn add_neighbors(&mut self) {
        let neighbors = (0..self.bits).map(Disturbance::Neighbor);
        self.start([Disturbance::Same, Disturbance::Control].into_iter().chain(neighbors));
    }

    fn start(&mut self, disturbances: impl IntoIterator<Item = Disturbance>) {
        self.rounds = 0;
        let empty = |disturbance| (disturbance, vec![Vec::new(); self.victims.len()]);
        self.samples = disturbances.into_iter().map(empty).collect();
    }

    /// Measures each victim once after each disturbance, in random order, as long as `go_on`
    /// returns true. Returns true if the round is complete.
    pub fn round<M: Memory>(
        &mut self,
        pages: &mut Pages<M>,
        random: &mut fastrand::Rng,
        mut go_on: impl FnMut() -> Result<bool, Missing>,
    ) -> Result<bool, Missing> {
        let mut victims: Vec<usize> = (0..self.victims.len()).collect();
        let mut disturbances: Vec<usize> = (0..self.samples.len()).collect();
        random.shuffle(&mut victims);
        for victim in victims {
            random.shuffle(&mut disturbances);
            for &index in &disturbances {
                let time = self.measure(self.samples[index].0, &self.victims[victim], pages);
                self.samples[index].1[victim].push(time);
            }
            if !go_on()? {
                return Ok(false);
            }
        }
        self.rounds += 1;
        Ok(true)
    }

    /// Nanoseconds for a line of a victim after a disturbance.
    fn measure<M: Memory>(
        &self,
        disturbance: Disturbance,
        victim: &Victim,
        pages: &mut Pages<M>,
    ) -> f64 {
        let memory = &mut pages.memory;
        let disturbing = match disturbance {
            Disturbance::Same => &self.by_color[victim.color][..self.pages],
            Disturbance::Neighbor(bit) => &self.by_color[victim.color ^ 1 << bit][..self.pages],
            Disturbance::Control => &victim.control,
        };
        memory.prepare(victim.page);
        for _ in 0..PASSES {
            memory.read(disturbing);
        }
        for _ in 0..PASSES {
            memory.read(&victim.inner);
        }
        let time = memory.time(victim.page);
        time.as_nanos() as f64 / memory.timed_lines() as f64
    }

    /// Returns the median of each victim that was measured.
    fn medians(&self, wanted: Disturbance) -> Vec<f64> {
        let found = self.samples.iter().find(|(disturbance, _)| *disturbance == wanted);
        let samples = found.iter().flat_map(|(_, samples)| samples);
        samples.filter(|samples| !samples.is_empty()).cloned().map(median).collect()
    }

    /// Victims that were measured: at least one after a round.
    pub fn victims(&self) -> usize {
        self.medians(Disturbance::Same).len()
    }

    /// Nanoseconds for a line after pages of the victim's colour.
    pub fn same(&self) -> Interval {
        Interval::of(self.medians(Disturbance::Same))
    }

    /// Nanoseconds for a line after pages of any colour.
    pub fn control(&self) -> Interval {
        Interval::of(self.medians(Disturbance::Control))
    }

    /// Returns the nanoseconds for a line after pages whose colour differs in a bit; such samples
    /// exist after [`Trial::add_neighbors`].
    pub fn neighbor(&self, bit: u32) -> Interval {
        Interval::of(self.medians(Disturbance::Neighbor(bit)))
    }

    /// Returns the ratio of a victim's time after pages of its colour to its time in the control.
    pub fn ratio(&self) -> Interval {
        let (same, control) = (self.medians(Disturbance::Same), self.medians(Disturbance::Control));
        Interval::of(same.iter().zip(control).map(|(same, control)| same / control).collect())
    }

    /// Returns true if pages of its colour push a victim out, and others do not.
    pub fn is_effect(&self) -> bool {
        self.ratio().low >= EFFECT
    }
}
