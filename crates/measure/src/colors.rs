//! Measures if page colours can be observed.
//!
//! The colour of a page are the bits of its frame number that choose its sets in a cache (vCache,
//! section 2.3). If the frame numbers of the kernel are those that the cache uses, then enough
//! pages of one colour evict any page of this colour from the cache, and as many pages of any other
//! colour do not. The probe measures the time to read a page (the *victim*) after reading pages
//!
//! - of the victim's colour,
//! - of the colours that differ from it in one bit, for each bit,
//! - chosen as if the colours had been shuffled: the control.
//!
//! If frame numbers mean nothing to the cache, as in most virtual machines, all of these times are
//! equal.

mod memory;
#[cfg(test)]
mod model;
mod pages;
mod report;
mod search;
mod trial;

use std::time::{Duration, Instant};

pub(crate) use memory::Memory;
use pages::Pages;
pub use report::{ColorBit, Report, Verdict};

use crate::buffer::Buffer;
use crate::cache::{self, CpuCache};
use crate::{Missing, machine};

/// Pages of RAM in the sizes of the cache that are taken.
const CACHES_OF_MEMORY: u64 = 2;

/// Options of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Level of the cache; without one, the last.
    pub level: Option<u32>,
    /// Time that is not exceeded by much.
    pub time: Duration,
    /// Seed of all that is random.
    pub seed: u64,
}

/// Measures. `progress` is called with the share that is complete, from 0 to 1; if it returns
/// false, the measurement ends.
///
/// # Errors
///
/// The machine lacks something that the measurement needs.
pub fn probe(options: &Options, mut progress: impl FnMut(f64) -> bool) -> Result<Report, Missing> {
    let start = Instant::now();
    let mut random = fastrand::Rng::with_seed(options.seed);
    let cpu = machine::stay();
    let caches = cache::of_cpu(cpu)?;
    let (before, cache) = choose(&caches, options.level)?;
    let page_bytes = machine::page_bytes() as u64;
    let bits = search::bits(cache, page_bytes)?;
    // What pushes a victim out of the cache before this one, without filling this one.
    let inner_pages = before.map_or(0, |before| 2 * before.ways as usize);
    let spare = (2 * inner_pages as u64 + 16) << bits;
    let count = CACHES_OF_MEMORY * cache.size_bytes / page_bytes + spare;
    let available = machine::available_bytes()? / 2;
    if count * page_bytes > available {
        return Err(Missing::Memory { needed: count * page_bytes, available });
    }
    let buffer = Buffer::new(count as usize, cache.line_bytes as usize, &mut random);
    let frames = buffer.frames()?;
    let mut pages = Pages::new(buffer, frames, &mut random);
    let go_on = |part: f64| {
        let of_time = start.elapsed().as_secs_f64() / options.time.as_secs_f64();
        match progress(part.max(of_time).min(1.0)) {
            true => Ok(of_time),
            false => Err(Missing::Ended),
        }
    };
    let trial = search::search(&mut pages, cache, page_bytes, inner_pages, &mut random, go_on)?;
    let moved = pages.changed(&pages.memory.frames()?);
    Ok(Report::new(cpu, cache.clone(), page_bytes, &trial, moved, start.elapsed()))
}

/// Returns the cache that is measured, and the one before it if that is behind the first level.
fn choose(
    caches: &[CpuCache],
    level: Option<u32>,
) -> Result<(Option<&CpuCache>, &CpuCache), Missing> {
    let last = caches.last().ok_or(Missing::Caches)?;
    let level = level.unwrap_or(last.level);
    let Some(at) = caches.iter().position(|cache| cache.level == level) else {
        let levels: Vec<String> = caches.iter().map(|cache| cache.level.to_string()).collect();
        return Err(Missing::Level { level, found: levels.join(", ") });
    };
    Ok((at.checked_sub(1).map(|before| &caches[before]), &caches[at]))
}
