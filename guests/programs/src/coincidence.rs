//! The sources that fire in the trials of `rt-coincide`, and when: around one instant, in every order.

use rt::random::Random;

/// A source of interrupts or of the end of a budget.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// The budget of the VCPU that runs ends.
    Expiry,
    /// The virtual timer of the VCPU that runs.
    Own,
    /// The virtual timer of the other VCPU.
    Other,
    /// A device.
    Device,
}

/// Number of sources.
pub const SOURCES: usize = 4;

/// The times at which the sources fire in a trial, in ticks from its instant on; `None`: not at all.
pub type Offsets = [Option<i64>; SOURCES];

/// Trials at the start, and at the end, in which only a budget ends.
pub const ALONE: u64 = 4;

const PAIRS: [(Source, Source); 6] = [
    (Source::Expiry, Source::Own),
    (Source::Expiry, Source::Other),
    (Source::Expiry, Source::Device),
    (Source::Own, Source::Other),
    (Source::Own, Source::Device),
    (Source::Other, Source::Device),
];

/// The distance from the instant up to which each tick is met.
const NEAR: i64 = 100;
/// The distance in ticks between trials that are further away.
const STEP: i64 = 9;
/// Furthest from the instant.
const FAR: i64 = NEAR + 100 * STEP;
/// Trials of a pair.
const SWEEP: u64 = 2 * (NEAR as u64 + 100) + 1;
/// Trials of all pairs.
const SWEEPS: u64 = PAIRS.len() as u64 * SWEEP;
/// Trials in which all sources fire, at random offsets.
const RANDOM: u64 = 600;

/// All trials.
pub const TRIALS: u64 = ALONE + SWEEPS + RANDOM + ALONE;

/// The offsets of a trial.
pub fn offsets(trial: u64) -> Offsets {
    let mut all = [None; SOURCES];
    let number = match trial.checked_sub(ALONE) {
        Some(number) if number < SWEEPS + RANDOM => number,
        _ => {
            all[Source::Expiry as usize] = Some(0);
            return all;
        }
    };
    if let Some(&(fixed, swept)) = PAIRS.get((number / SWEEP) as usize) {
        all[fixed as usize] = Some(0);
        all[swept as usize] = Some(sweep(number % SWEEP));
        return all;
    }
    let mut random = Random::new(trial);
    let range = if trial.is_multiple_of(2) { NEAR } else { FAR };
    all.map(|_| Some(random.below(2 * range as u64 + 1) as i64 - range))
}

/// Offset of a step of a sweep, from [`FAR`] before the instant to as far behind it.
fn sweep(step: u64) -> i64 {
    let step = step as i64 - SWEEP as i64 / 2;
    let outside = (step.abs() - NEAR).max(0);
    step + step.signum() * outside * (STEP - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_go_from_end_to_end_and_meet_each_tick_in_the_middle() {
        let all: Vec<i64> = (0..SWEEP).map(sweep).collect();
        assert_eq!((all[0], all[SWEEP as usize - 1]), (-FAR, FAR));
        assert!(all.windows(2).all(|two| two[0] < two[1] && two[1] - two[0] <= STEP));
        assert!((-NEAR..=NEAR).all(|offset| all.contains(&offset)));
    }

    #[test]
    fn every_pair_meets_at_the_same_instant() {
        for (a, b) in PAIRS {
            let meets = |offsets: Offsets| {
                let fire = offsets.iter().flatten().count();
                fire == 2 && offsets[a as usize] == Some(0) && offsets[b as usize] == Some(0)
            };
            assert_eq!(
                (0..TRIALS).filter(|&trial| meets(offsets(trial))).count(),
                1,
                "{a:?} {b:?}"
            );
        }
    }

    #[test]
    fn sweeps_are_followed_by_trials_with_all_sources() {
        for trial in ALONE + SWEEPS..TRIALS - ALONE {
            let offsets = offsets(trial);
            assert!(offsets.iter().all(|offset| offset.is_some_and(|it| it.abs() <= FAR)));
        }
        for trial in [0, ALONE - 1, TRIALS - ALONE, TRIALS - 1] {
            assert_eq!(offsets(trial), [Some(0), None, None, None]);
        }
    }
}
