//! Splits the tasks of two VCPUs again.

use analysis::utilization::Share;

use super::blocks::{Block, Blocks, Effort};
use crate::{Coloring, Mask, Task, indices};

/// Most tasks of two VCPUs of which all splits are looked at; of more, those that move one
/// task or exchange two.
const ALL_MAX: usize = 9;
/// Most exchanges that are looked at, about: of tasks that need as much as each other.
const EXCHANGES_MAX: usize = 100;

/// Returns the best split of the tasks of these two VCPUs into two, if it is better than `total`:
/// then what they need is settled. `others[k]` is what all other VCPUs need if these two have `k`
/// colours.
pub fn best(
    blocks: &mut Blocks<'_>,
    vcpus: [usize; 2],
    pair: [Block; 2],
    others: &[u64],
    total: u64,
    effort: Effort,
) -> Option<[Block; 2]> {
    let pair = pair.map(|block| blocks.mask(block));
    let pinned = vcpus.map(|vcpu| blocks.vm().vcpus()[vcpu].pinned);
    let ordered = pinned != [0, 0] || !blocks.are_alike(vcpus[0], vcpus[1]);
    let allowed =
        |split: &[Mask; 2]| split[0] & pinned[0] == pinned[0] && split[1] & pinned[1] == pinned[1];
    let shares: Vec<u128> = blocks.vm().tasks().iter().map(share).collect();
    let mut splits: Vec<(u64, [Block; 2])> = splits(pair, ordered, &shares)
        .into_iter()
        .filter(allowed)
        .filter_map(|[first, second]| {
            let split = [blocks.block(first, vcpus[0]), blocks.block(second, vcpus[1])];
            Some((cheapest(blocks, split, others, total)?.0, split))
        })
        .collect();
    // The bounds that are least come first: good splits early cut off the rest.
    splits.sort_by_key(|(bound, _)| *bound);
    let mut best: Option<(u64, [Block; 2])> = None;
    for (bound, split) in splits {
        let limit = best.map_or(total, |(cost, _)| cost);
        if bound >= limit {
            break;
        }
        while let Some((cost, colors)) = cheapest(blocks, split, others, limit) {
            let open =
                [0, 1].into_iter().find(|&i| !blocks.is_settled(split[i], colors[i], effort));
            let Some(open) = open else {
                best = Some((cost, split));
                break;
            };
            blocks.settle_below(split[open], colors[open], limit - cost);
        }
    }
    best.map(|(_, split)| split)
}

/// Returns the least sum with these two VCPUs, as far as it is known, and their colours; none if it
/// is not below `limit`.
fn cheapest(
    blocks: &Blocks<'_>,
    split: [Block; 2],
    others: &[u64],
    limit: u64,
) -> Option<(u64, [usize; 2])> {
    let [first, second] = split.map(|block| &blocks.shares(block)[..others.len()]);
    let mut least = (limit, None);
    if *blocks.vm().coloring() == Coloring::Shared {
        // All VCPUs have the same colours.
        for (k, ((a, b), others)) in first.iter().zip(second).zip(others).enumerate() {
            if a + b + others < least.0 {
                least = (a + b + others, Some([k, k]));
            }
        }
        return least.1.map(|colors| (least.0, colors));
    }
    let lightest = second.iter().min().copied().unwrap_or(0);
    for (a, share) in first.iter().enumerate() {
        // The others need no less if the second one has colours, too.
        if share + lightest + others[a] >= least.0 {
            continue;
        }
        for (b, (other, others)) in second.iter().zip(&others[a..]).enumerate() {
            let cost = share + other + others;
            if cost < least.0 {
                least = (cost, Some([a, b]));
            }
        }
    }
    least.1.map(|colors| (least.0, colors))
}

/// Returns about the need of a task.
fn share(task: &Task) -> u128 {
    Share::up(task.wcet(1), task.period()).0
}

/// Returns the ways to split the tasks of a pair, other than the pair itself. If it is not
/// `ordered`, which of the two is which does not matter. `shares` is what each task needs.
fn splits(pair: [Mask; 2], ordered: bool, shares: &[u128]) -> Vec<[Mask; 2]> {
    let union = pair[0] | pair[1];
    let tasks = indices(union);
    if tasks.len() <= ALL_MAX {
        let free = if ordered { &tasks[..] } else { tasks.get(1..).unwrap_or_default() };
        let always = union & !crate::mask(free);
        let with = |choice: usize| {
            let chosen = free.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
            chosen.fold(always, |mask: Mask, (_, task)| mask | 1 << task)
        };
        let masks = (0..1_usize << free.len()).map(with);
        let is_new = |mask: &Mask| *mask != pair[0] && (ordered || *mask != pair[1]);
        return masks.filter(is_new).map(|mask| [mask, union & !mask]).collect();
    }
    let moves = tasks.iter().map(|&task| 1 << task);
    let [first, second] = pair.map(indices);
    let each = match first.len() * second.len() {
        0..=EXCHANGES_MAX => second.len(),
        _ => (EXCHANGES_MAX / first.len().max(1)).max(2),
    };
    let swaps = first.iter().flat_map(|&a| {
        let mut others = second.clone();
        if each < others.len() {
            others.sort_by_key(|&b| shares[b].abs_diff(shares[a]));
            others.truncate(each);
        }
        others.into_iter().map(move |b| 1 << a | 1 << b)
    });
    let changed = moves.chain(swaps).map(|change: Mask| pair.map(|mask| mask ^ change));
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_splits_are_there_once() {
        let mut found = splits([0b001, 0b110], false, &[1; 3]);
        found.sort_unstable();
        assert_eq!(found, [[0b011, 0b100], [0b101, 0b010], [0b111, 0]]);
        assert_eq!(splits([0b001, 0b110], true, &[1; 3]).len(), 7);
        // Of many tasks: 6 + 6 moves, 6 x 6 exchanges.
        let many = splits([0b111111, 0b111111 << 6], false, &[1; 12]);
        assert_eq!(many.len(), 12 + 36);
        assert!(many.iter().all(|[a, b]| a & b == 0 && (a | b) == 0b1111_1111_1111));
        // Of more: 40 moves, and with each of 20 tasks those 5 that need most like it.
        let shares: Vec<u128> = (0..40).map(|task| task % 20).collect();
        let most = splits([(1 << 20) - 1, ((1 << 20) - 1) << 20], false, &shares);
        assert_eq!(most.len(), 40 + 100);
        let change = 1 << 7 | 1 << 27;
        let alike = [((1 << 20) - 1) ^ change, (((1 << 20) - 1) << 20) ^ change];
        assert!(most.contains(&alike));
    }
}
