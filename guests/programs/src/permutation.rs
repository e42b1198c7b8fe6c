//! Random cyclic permutations (S. Sattolo, "An algorithm to generate a random cyclic permutation",
//! Information Processing Letters 22(6), 1986).

use rt::random::Random;

/// Makes a permutation of `0..len` that consists of one cycle out of the one that leaves everything
/// where it is; `swap` exchanges what two places hold.
pub fn make_cycle(len: usize, random: &mut Random, mut swap: impl FnMut(usize, usize)) {
    for last in (1..len).rev() {
        swap(last, random.below(last as u64) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cycle_reaches_everything() {
        for len in [1, 2, 3, 64, 1000] {
            let mut next: Vec<usize> = (0..len).collect();
            make_cycle(len, &mut Random::new(7), |a, b| next.swap(a, b));
            let mut at = 0;
            for steps in 1..=len {
                at = next[at];
                assert_eq!(at == 0, steps == len, "length {len}, back after {steps}");
            }
        }
    }

    #[test]
    fn neighbours_are_rarely_neighbours() {
        let mut next: Vec<usize> = (0..1000).collect();
        make_cycle(1000, &mut Random::new(7), |a, b| next.swap(a, b));
        let near = (0..1000).filter(|&i| next[i].abs_diff(i) == 1).count();
        assert!(near < 20, "{near} of 1000");
    }
}
