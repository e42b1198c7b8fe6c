//! Algorithm 1: `CacheToTaskAlloc`.

use analysis::Duration;
use analysis::utilization::Share;
use policy::color::{Color, ColorSet};

use crate::{Evaluator, Task};

/// Colours for the tasks of a VCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Allocated {
    /// The colours of each task: `S_i`.
    pub sets: Vec<ColorSet>,
    /// The utilisation with them (Eq. 4).
    pub utilization: Share,
}

/// Gives each task the number of colours with the least `C_i(k) + gamma_{i,n}`, where all
/// others are taken to have all `colors`, and goes round the colours to choose them. None if
/// the tasks then miss a deadline even with the whole processor.
///
/// The tasks are in the order of their priorities, the highest first. Colour indices are
/// circular: the text mixes a start at 1 with `mod`.
pub fn cache_to_task(
    evaluator: &mut Evaluator,
    tasks: &[&Task],
    colors: usize,
    period: Duration,
) -> Option<Allocated> {
    if colors == 0 {
        return None;
    }
    let mut next = 0;
    let mut sets = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.iter().enumerate() {
        // A task is delayed only by what it evicts from those below it.
        let reload = match index + 1 < tasks.len() {
            true => evaluator.setting().reload.0,
            false => 0,
        };
        let cost = |k: usize| task.wcet(k).0.saturating_add(reload.saturating_mul(k as u64));
        let size = (1..=colors).min_by_key(|&k| cost(k)).unwrap_or(1);
        sets.push(circular(next, size, colors));
        next = (next + size) % colors;
    }
    if !evaluator.fits(tasks, &sets, period, period) {
        return None;
    }
    let utilization = evaluator.utilization(tasks, &sets);
    Some(Allocated { sets, utilization })
}

/// `size` colours from `start` on, going round.
fn circular(start: usize, size: usize, colors: usize) -> ColorSet {
    (start..start + size).filter_map(|index| Color::new((index % colors) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;
    use crate::tests::{ms, task};

    #[test]
    fn colors_are_shared_only_where_that_pays() {
        // The second colour saves the first task 3 ms, and costs 2 ms at most.
        let (first, second) = (task(20, &[6, 3, 2]), task(40, &[4, 2, 1]));
        let setting = Setting::new(3, ms(2)).unwrap();
        let mut evaluator = Evaluator::new(setting);
        let allocated = cache_to_task(&mut evaluator, &[&first, &second], 3, ms(5)).unwrap();
        // C + 2k: 8, 7, 8; the last task is not delayed by what it evicts.
        assert_eq!(allocated.sets, [ColorSet::from_bits(0b011), ColorSet::from_bits(0b111)]);
        // (3 + 2 * 2) / 20 + 1 / 40.
        assert_eq!(allocated.utilization.ppm(), 375_000);
        assert_eq!(cache_to_task(&mut evaluator, &[&first], 0, ms(5)), None);
    }

    #[test]
    fn indices_go_round() {
        assert_eq!(circular(2, 3, 4), ColorSet::from_bits(0b1101));
    }
}
