//! The probe on this machine, whatever it finds.

use std::time::Duration;

use measure::Missing;
use measure::colors::{Options, Verdict, probe};

#[test]
fn the_answer_agrees_with_its_evidence() {
    let options = Options { level: None, time: Duration::from_secs(5), seed: 1 };
    let mut parts = Vec::new();
    let answer = probe(&options, |part| {
        parts.push(part);
        true
    });
    let report = match answer {
        Ok(report) => report,
        // What a machine can lack; a file that is there must be understood.
        Err(
            missing @ (Missing::File { .. }
            | Missing::Caches
            | Missing::OneColor { .. }
            | Missing::FrameNumbers
            | Missing::Memory { .. }
            | Missing::Time
            | Missing::Frames),
        ) => return eprintln!("not observable here: {missing}"),
        Err(other) => panic!("{other}"),
    };
    eprintln!("{report:#?}");
    assert!(parts.iter().all(|part| (0.0..=1.0).contains(part)));
    assert!(report.seconds < 20.0);
    for interval in [report.same_color_line_ns, report.control_line_ns, report.ratio] {
        assert!(interval.low <= interval.median && interval.median <= interval.high);
    }
    // No memory is read faster than a line in 0.05 ns or slower than in 100 us.
    assert!((0.05..100_000.0).contains(&report.control_line_ns.median));
    let apart = report.bits.iter().filter(|bit| bit.separates).count();
    match report.verdict {
        Verdict::Observable { colors, .. } => {
            assert_eq!(colors, 1 << apart);
            assert!(apart > 0 && report.ratio.low > 1.0);
        }
        Verdict::NotObservable { why } => assert!(apart == 0 && !why.is_empty()),
    }
}

#[test]
fn a_level_that_does_not_exist_is_refused() {
    let options = Options { level: Some(9), time: Duration::from_secs(5), seed: 1 };
    match probe(&options, |_| true) {
        Err(Missing::Level { level: 9, found }) => assert!(!found.is_empty()),
        Err(Missing::File { .. } | Missing::Caches) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_caller_can_end_it() {
    let options = Options { level: None, time: Duration::from_secs(5), seed: 1 };
    match probe(&options, |_| false) {
        Err(Missing::Level { .. } | Missing::Form { .. }) => panic!("not the reason"),
        Err(_) => {}
        Ok(report) => panic!("{report:?}"),
    }
}
