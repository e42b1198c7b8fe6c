//! Verdicts over several placements: a statement must hold for the medians and in most placements.

use super::{Claim, Judged, Verdict};
use crate::values::{DivideBy, Value, Values};

impl Claim {
    /// Holds the statement against the medians, and against each placement alone. `by`: what values are divided by.
    pub fn judge_placements(&self, values: &Values, by: Option<&DivideBy>) -> Judged {
        let whole = self.judge(values);
        let count = self.concerned(values).map(|it| it.placements.len()).max().unwrap_or(0);
        if count == 0 || whole.verdict == Verdict::NotCheckable {
            return whole;
        }
        let each = (0..count).map(|placement| {
            let alone = values.of_placement(placement).divided(by);
            self.judge(&alone).verdict == Verdict::Confirmed
        });
        let holds = each.filter(|it| *it).count();
        let jobs = self.concerned(values).filter(|it| !it.placements.is_empty());
        let jobs = jobs.filter_map(|it| Some(it.spread?.jobs)).min();
        let jobs = jobs.map(|jobs| format!(", {jobs} jobs or more a value")).unwrap_or_default();
        let measured = format!("{}; holds in {holds} of {count} placements{jobs}", whole.measured);
        let verdict = match whole.verdict {
            Verdict::Confirmed if 2 * holds <= count => Verdict::NotConfirmed,
            verdict => verdict,
        };
        Judged { verdict, measured }
    }

    /// The values that the statement is about.
    fn concerned<'a>(&'a self, values: &'a Values) -> impl Iterator<Item = &'a Value> {
        values.all.iter().filter(|value| self.concerns(&value.series, &value.x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(check: &str, placements: &[&[f64]]) -> Judged {
        let text = format!("text = ''\nsource = ''\npublished = ''\n{check}");
        let claim: Claim = toml::from_str(&text).expect(check);
        let value = |(x, each): (usize, &&[f64])| {
            Value::median("a".into(), x.to_string(), each, None).expect("a placement")
        };
        let values: Vec<Value> = placements.iter().enumerate().map(value).collect();
        claim.judge_placements(&values.into(), None)
    }

    const AT_MOST_2: &str = "check.at-most = { series = 'a', limit = 2.0 }";

    #[test]
    fn one_placement_that_is_off_refutes_nothing_and_is_told() {
        let judged = judged(AT_MOST_2, &[&[1.0, 1.0, 9.0], &[2.0, 2.0, 2.0]]);
        assert_eq!(judged.verdict, Verdict::Confirmed);
        assert_eq!(judged.measured, "at most 2.000, at 1; holds in 2 of 3 placements");
    }

    #[test]
    fn medians_do_not_confirm_what_holds_in_no_placement() {
        let judged = judged(AT_MOST_2, &[&[9.0, 1.0, 1.0], &[1.0, 9.0, 1.0], &[1.0, 1.0, 9.0]]);
        assert_eq!(judged.verdict, Verdict::NotConfirmed);
        assert!(judged.measured.contains("holds in 0 of 3"), "{}", judged.measured);
    }

    #[test]
    fn one_boot_is_judged_as_it_is() {
        assert_eq!(judged(AT_MOST_2, &[&[1.0]]).measured, "at most 1.000, at 0");
        let other = "check.at-most = { series = 'b', limit = 2.0 }";
        assert_eq!(judged(other, &[&[1.0, 2.0]]).verdict, Verdict::NotCheckable);
    }
}
