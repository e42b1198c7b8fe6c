//! Finds the bits that are colours.

use super::memory::Memory;
use super::pages::Pages;
use super::trial::Trial;
use crate::Missing;
use crate::cache::CpuCache;

/// Most bits of a colour that are tried: 64 colours.
const BITS_MAX: u32 = 6;
/// With fewer, the control fills much of the cache too.
const BITS_MIN: u32 = 2;
/// Rounds with each number of bits.
const ROUNDS_OF_SEARCH: u32 = 5;
/// Part of the time after which there is no further search.
const TIME_OF_SEARCH: f64 = 0.4;
/// Rounds of the measurement itself.
const ROUNDS: u32 = 25;
/// With fewer victims there is no interval of 95 %.
const VICTIMS_MIN: usize = 6;

/// Returns the largest number of bits that is tried.
///
/// # Errors
///
/// The cache has one colour.
pub fn bits(cache: &CpuCache, page_bytes: u64) -> Result<u32, Missing> {
    match cache.color_bits_max(page_bytes).min(BITS_MAX) {
        0 => {
            let way_bytes = cache.size_bytes / u64::from(cache.ways);
            Err(Missing::OneColor { way_bytes, page_bytes })
        }
        bits => Ok(bits),
    }
}

/// Measures with the largest number of bits that has an effect, or if none has, with the number
/// that comes closest.
///
/// The number of sets of a slice of the cache is not known, so that the highest bits may
/// not be colours. Then pages that are equal in all bits are too few to push a victim
/// out, and fewer bits are tried. `progress` is told which part of the measurement is done,
/// and says which part of the time is over.
///
/// # Errors
///
/// The error that `progress` returns, or there are too few pages of some colours.
pub fn search<M: Memory>(
    pages: &mut Pages<M>,
    cache: &CpuCache,
    page_bytes: u64,
    inner_pages: usize,
    random: &mut fastrand::Rng,
    mut progress: impl FnMut(f64) -> Result<f64, Missing>,
) -> Result<Trial, Missing> {
    let most = bits(cache, page_bytes)?;
    let mut best: Option<Trial> = None;
    for bits in (BITS_MIN.min(most)..=most).rev() {
        // Half as many again as the cache holds of a colour.
        let count = (cache.size_bytes * 3 / 2 / page_bytes).div_ceil(1 << bits) as usize;
        let mut trial = Trial::new(pages, bits, count, inner_pages, random)?;
        let mut has_time = true;
        for _ in 0..ROUNDS_OF_SEARCH {
            has_time = trial.round(pages, random, || Ok(progress(0.0)? < TIME_OF_SEARCH))?;
            if !has_time {
                break;
            }
        }
        let found = trial.is_effect() || !has_time;
        if best.as_ref().is_none_or(|best| trial.ratio().low > best.ratio().low) {
            best = Some(trial);
        }
        if found {
            break;
        }
    }
    let mut trial = best.ok_or(Missing::Frames)?;
    trial.add_neighbors();
    for round in 0..ROUNDS {
        let done = f64::from(round) / f64::from(ROUNDS);
        if !trial.round(pages, random, || Ok(progress(done)? < 1.0))? {
            break;
        }
    }
    if trial.victims() < VICTIMS_MIN {
        return Err(Missing::Time);
    }
    Ok(trial)
}

#[cfg(test)]
mod tests {
    use super::super::model::{Model, cache};
    use super::super::report::{Report, Verdict};
    use super::*;

    const PAGE: u64 = 4096;

    fn report(model: Model) -> Report {
        let cache = cache(&model);
        let mut random = fastrand::Rng::with_seed(3);
        // Twice the cache, and some for the search of colours that have enough.
        let count = 2 * cache.size_bytes / PAGE + (16 << bits(&cache, PAGE).expect("bits"));
        let mut frames: Vec<u64> = (1..=count * 2).collect();
        random.shuffle(&mut frames);
        frames.truncate(count as usize);
        let mut pages = Pages::new(model.with_frames(frames.clone()), frames, &mut random);
        // A few rounds suffice where nothing disturbs.
        let trial = search(&mut pages, &cache, PAGE, 0, &mut random, |part| Ok(8.0 * part));
        let trial = trial.unwrap_or_else(|missing| panic!("{missing}"));
        Report::new(0, cache, PAGE, &trial, 0, std::time::Duration::ZERO)
    }

    #[test]
    fn colors_of_a_cache_are_counted() {
        let report = report(Model::new(16, 256, 1));
        assert_eq!(report.verdict, Verdict::Observable { colors: 4, at_least: false });
        assert!(report.ratio.low > 5.0, "{report:?}");
        let bits: Vec<_> = report.bits.iter().map(|bit| (bit.address_bit, bit.separates)).collect();
        assert_eq!(bits, [(12, true), (13, true)]);
    }

    /// Of 32 colours that its number of sets allows.
    #[test]
    fn a_sliced_cache_has_the_colors_of_a_slice() {
        let report = report(Model::new(8, 1024, 2));
        assert_eq!(report.verdict, Verdict::Observable { colors: 16, at_least: true });
    }

    #[test]
    fn a_measurement_without_time_is_no_answer() {
        let model = Model::new(16, 256, 1);
        let cache = cache(&model);
        let mut random = fastrand::Rng::with_seed(3);
        let frames: Vec<u64> = (1..1000).collect();
        let mut pages = Pages::new(model.with_frames(frames.clone()), frames, &mut random);
        let trial = search(&mut pages, &cache, PAGE, 0, &mut random, |_| Ok(1.0));
        assert!(matches!(trial, Err(Missing::Time)));
    }

    #[test]
    fn frames_of_a_guest_have_no_colors() {
        let report = report(Model::new(16, 512, 1).scattered());
        let Verdict::NotObservable { why } = report.verdict else { panic!("{report:?}") };
        assert!(why.contains("do not push each other out more"), "{why}");
        assert!((0.8..1.2).contains(&report.ratio.median), "{:?}", report.ratio);
    }
}
