//! `bulkhead measure` on this machine, whatever it finds.

#[allow(dead_code)]
mod common;

use common::Sandbox;

#[test]
fn measure_answers_with_evidence_or_says_what_is_missing() {
    let sandbox = Sandbox::new();
    let result = sandbox.bulkhead(&["measure", "colors", "--time", "2s", "--json"]);
    let document = result.json();
    let observable = document["observable"].as_bool().expect("an answer");
    result.assert_status(if observable { 0 } else { 1 });
    assert_eq!(document["why"].is_string(), !observable);
    assert_eq!(document["colors"].is_u64(), observable);
    let report = &document["report"];
    assert!(!observable || report["ratio"]["low"].as_f64().expect("a ratio") > 1.0);
    if report.is_object() {
        for field in ["same_color_line_ns", "control_line_ns"] {
            let [low, median, high] = ["low", "median", "high"]
                .map(|name| report[field][name].as_f64().expect("a number"));
            assert!(0.0 < low && low <= median && median <= high, "{report}");
        }
        assert!(report["cache"]["level"].as_u64().expect("a level") > 1);
    }
}

#[test]
fn times_without_a_unit_are_refused() {
    let result = Sandbox::new().bulkhead(&["measure", "colors", "--time", "5"]);
    result.assert_status(2);
    assert!(result.stderr.contains("the unit is missing"), "{}", result.stderr);
}
