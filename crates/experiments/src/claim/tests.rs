//! Each check, held and broken.

use super::*;
use crate::values::Absent;
use crate::values::tests::values;

fn judge(check: &str, series: &[&[f64]]) -> (Verdict, String) {
    let text = format!("text = ''\nsource = ''\npublished = ''\n{check}");
    let claim: Claim = toml::from_str(&text).expect(check);
    let judged = claim.judge(&values(series));
    (judged.verdict, judged.measured)
}

#[track_caller]
fn assert_verdict(check: &str, series: &[&[f64]], verdict: Verdict, part: &str) {
    let judged = judge(check, series);
    assert!(judged.0 == verdict && judged.1.contains(part), "{judged:?}");
}

#[test]
fn plateaus() {
    let check = "check.plateau = { from = 3, within-percent = 1 }";
    let check = &check.replace("within-percent", "within_percent");
    let flat: &[f64] = &[9.0, 5.0, 1.0, 1.0, 1.005];
    let steep: &[f64] = &[9.0, 5.0, 1.0, 0.9, 0.8];
    assert_verdict(check, &[flat], Verdict::Confirmed, "0.50 %, in `a`");
    assert_verdict(check, &[flat, steep], Verdict::NotConfirmed, "25.00 %, in `b`");
    assert_verdict(check, &[&steep[..3]], Verdict::NotCheckable, "not measured");
}

#[test]
fn limits() {
    let series: &[&[f64]] = &[&[1.0, 3.0, 2.0]];
    let limit = |kind, limit| format!("check.{kind} = {{ series = 'a', limit = {limit} }}");
    let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
    assert_verdict(&limit("at-most", 3.0), series, yes, "3.000, at 2");
    assert_verdict(&limit("at-most", 2.9), series, no, "3.000, at 2");
    assert_verdict(&limit("at-least", 1.0), series, yes, "1.000, at 1");
    assert_verdict(&limit("at-least", 1.1), series, no, "1.000, at 1");
    assert_verdict(&limit("reaches", 3.0), series, yes, "3.000, at 2");
    assert_verdict(&limit("reaches", 3.1), series, no, "3.000, at 2");
    let elsewhere = format!("at = '7'\n{}", limit("at-most", 3.0));
    assert_verdict(&elsewhere, series, Verdict::NotCheckable, "not measured");
    let here = format!("at = '3'\n{}", limit("at-most", 2.0));
    assert_verdict(&here, series, yes, "2.000, at 3");
}

#[test]
fn two_series() {
    let series: &[&[f64]] = &[&[1.01, 2.0], &[1.0, 2.5]];
    let pair =
        |kind, percent| format!("check.{kind} = {{ series = 'a', of = 'b', percent = {percent} }}");
    let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
    assert_verdict(&pair("within", 20.0), series, yes, "20.00 %, at 2");
    assert_verdict(&pair("within", 19.9), series, no, "20.00 %, at 2");
    assert_verdict(&pair("exceeds", 0.9), series, yes, "1.0 % above, at 1");
    assert_verdict(&pair("exceeds", 1.1), series, no, "1.0 % above, at 1");
}

#[test]
fn steadiness() {
    let check = "check.steadier = { series = ['a', 'b'], than = 'c' }";
    let series: [&[f64]; 3] = [&[100.0, 101.0], &[10.0, 10.2], &[10.0, 11.0]];
    assert_verdict(check, &series, Verdict::Confirmed, "2.00 % apart, b, and 10.00 %");
    let [a, b, c] = series;
    assert_verdict(check, &[a, c, b], Verdict::NotConfirmed, "10.00 % apart, b, and 2.00 %");
    assert_verdict(check, &[a, b], Verdict::NotCheckable, "not measured");
}

#[test]
fn distributions() {
    let series: &[&[f64]] = &[&[10.0, 30.0, 60.0], &[30.0, 70.0, 100.0]];
    let check =
        |percent| format!("check.distribution = {{ series = 'a', of = 'b', percent = {percent} }}");
    let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
    assert_verdict(&check(10.0), series, yes, "10.00 %, up to 2");
    assert_verdict(&check(9.9), series, no, "10.00 %, up to 2");
    assert_verdict(&check(9.9), &series[..1], Verdict::NotCheckable, "not measured");
}

#[test]
fn ratios_and_growth() {
    let series: &[&[f64]] = &[&[2.0, 3.0], &[2.0, 4.5], &[1.0, 2.0]];
    let ratios = |limits| format!("check.ratios = {{ series = ['a', 'b'], of = 'c', {limits} }}");
    let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
    assert_verdict(&ratios("least = 1.5, most = 2.25"), series, yes, "1.500 (a, at 2) to 2.250");
    assert_verdict(&ratios("least = 1.6"), series, no, "1.500 (a, at 2)");
    assert_verdict(&ratios("most = 2.2"), series, no, "to 2.250 (b, at 2)");
    assert_verdict("check.grows = { series = 'a' }", series, yes, "2.000 at 1, 3.000 at 2");
    assert_verdict("check.grows = { series = 'a' }", &[&[3.0, 2.0]], no, "3.000 at 1");
    assert_verdict("check.grows = { series = 'a' }", &[&[3.0]], Verdict::NotCheckable, "not");
}

#[test]
fn shares() {
    let series: &[&[f64]] = &[&[99.0, 90.0], &[98.0, 10.0], &[99.0, 89.0]];
    let above = |limits| format!("check.above = {{ series = 'a', of = ['b', 'c'], {limits} }}");
    let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
    let text = "above by 0.00 (c, at 1) to 80.00 (b, at 2)";
    assert_verdict(&above("least = 0.0, most = 80.0"), series, yes, text);
    assert_verdict(&above("least = 0.1"), series, no, text);
    assert_verdict(&above("most = 79.9"), series, no, text);
    let at = format!("at = '2'\n{}", above("least = 1.0"));
    assert_verdict(&at, series, yes, "1.00 (c, at 2)");
    let flat = |by| format!("check.flat = {{ series = ['a', 'c'], by = {by} }}");
    assert_verdict(&flat(10.0), series, yes, "10.00, in `c`");
    assert_verdict(&flat(9.9), series, no, "10.00, in `c`");
    assert_verdict("check.falls = { series = 'a' }", series, yes, "99.000 at 1, 90.000 at 2");
    assert_verdict("check.falls = { series = 'a' }", &[&[1.0, 1.0]], no, "1.000 at 2");
    let widens = |of| format!("check.widens = {{ series = 'a', of = [{of}] }}");
    assert_verdict(&widens("'b', 'c'"), series, yes, "1.00 more at the last place");
    assert_verdict(&widens("'a'"), series, no, "0.00 more");
    assert_verdict(&widens("'b'"), &[&[1.0], &[1.0]], Verdict::NotCheckable, "not measured");
}

#[test]
fn straight_lines() {
    let check = "check.linear = { series = 'a', within_percent = 1 }";
    assert_verdict(check, &[&[3.0, 5.0, 7.0]], Verdict::Confirmed, "1 + 2.0 x, within 0.00 %");
    assert_verdict(check, &[&[1.0, 4.0, 9.0]], Verdict::NotConfirmed, "within");
    assert_verdict(check, &[&[1.0, 4.0]], Verdict::NotCheckable, "not measured");
}

#[test]
fn a_value_that_is_absent_confirms_nothing_and_excuses_nothing() {
    let claim = |limit: f64| -> Claim {
        let check = format!("check.at-most = {{ series = 'a', limit = {limit} }}");
        toml::from_str(&format!("text = ''\nsource = ''\npublished = ''\n{check}")).expect("TOML")
    };
    let mut all = values(&[&[1.0, 3.0], &[9.0]]);
    let absent = |series: &str, x: &str| {
        let (series, x, why) = (series.to_owned(), x.to_owned(), "it is late".to_owned());
        Absent { series, x, why }
    };
    all.absent = vec![absent("b", "2")];
    assert_eq!(claim(3.0).judge(&all).verdict, Verdict::Confirmed, "it is about `a`");
    all.absent.push(absent("a", "4"));
    all.absent.push(absent("a", "5"));
    let judged = claim(3.0).judge(&all);
    assert_eq!(judged.verdict, Verdict::NotCheckable);
    assert_eq!(judged.measured, "no `a` at 4, 5: it is late; elsewhere at most 3.000, at 2");
    assert_eq!(claim(2.0).judge(&all).verdict, Verdict::NotConfirmed);
    all.all.clear();
    assert_eq!(claim(2.0).judge(&all).measured, "no `a` at 4, 5: it is late");
}

#[test]
fn what_needs_other_machines_says_so() {
    let why = "why_not = 'it needs silicon'";
    assert_verdict(why, &[&[1.0]], Verdict::NotCheckable, "it needs silicon");
}
