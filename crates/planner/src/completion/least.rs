//! The smallest change that helps.

/// Returns the least number of steps, from 1 to `most`, that helps; one step less does not help.
/// `None` if `most` steps do not help. `near` finds out quickly that a number of steps does not
/// help; `far` decides.
pub(super) fn least(
    most: u64,
    near: impl Fn(u64) -> bool,
    far: impl Fn(u64) -> bool,
) -> Option<u64> {
    let first = bisect(0, most, near)?;
    if far(first) { Some(first) } else { bisect(first, most, far) }
}

/// Some number that helps, unlike the one before it, between one that does not and one that may.
fn bisect(no: u64, most: u64, helps: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut no, mut yes) = (no, most);
    if no >= yes || !helps(yes) {
        return None;
    }
    while yes - no > 1 {
        let middle = no + (yes - no) / 2;
        if helps(middle) { yes = middle } else { no = middle }
    }
    Some(yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_less_does_not_help() {
        let from = |limit: u64| move |steps: u64| steps >= limit;
        assert_eq!(least(100, from(7), from(7)), Some(7));
        assert_eq!(least(100, from(7), from(20)), Some(20));
        assert_eq!(least(100, from(100), from(1)), Some(100));
        assert_eq!(least(100, from(101), from(1)), None);
        assert_eq!(least(100, from(7), from(101)), None);
        assert_eq!(least(0, from(0), from(0)), None);
        assert_eq!(least(1, from(1), from(1)), Some(1));
    }
}
