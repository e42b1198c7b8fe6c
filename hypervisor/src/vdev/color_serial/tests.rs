//! A VM of two VCPUs asks on its second UART.

use super::*;

const DR: u64 = 0;
const FR: u64 = 0x18;
const FR_RXFE: u64 = 1 << 4;

/// Ticks per second: a sample each 100.
const PER_SECOND: u64 = 1_000_000;
const START: u64 = 5000;
const TASK: u64 = 0x4100_0000;
const OTHER: u64 = 0x4200_0000;

fn port() -> ColorSerial {
    ColorSerial::new(2)
}

/// VCPU `vcpu` writes a text; returns what followed from its last byte.
fn write(port: &mut ColorSerial, vcpu: usize, text: &str) -> Outcome {
    let mut last = Outcome::Nothing;
    for byte in text.bytes() {
        assert_eq!(last, Outcome::Nothing, "before the end of the line");
        last = port.write(DR, 1, byte.into(), vcpu, (START, PER_SECOND));
    }
    last
}

/// Returns what the guest can read.
fn read(port: &mut ColorSerial) -> String {
    let mut text = String::new();
    while port.read(FR, 2) & FR_RXFE == 0 {
        text.push(port.read(DR, 1) as u8 as char);
    }
    text
}

/// Samples both VCPUs to the end of the window; `seen` says what is there.
fn sample(
    port: &mut ColorSerial,
    seen: impl Fn(usize, u64) -> Option<u64>,
) -> (Outcome, Outcome, u64) {
    let mut now = START;
    let mut number = 0;
    loop {
        let Some(next) = port.next_sample(now) else { panic!("no sample after {now}") };
        assert_eq!(next, now + 100);
        now = next;
        let others = port.sample(1, now, seen(1, number));
        let askers = port.sample(0, now, seen(0, number));
        number += 1;
        if askers != Outcome::Again(now + 100) {
            return (askers, others, number);
        }
    }
}

#[test]
fn the_task_that_waits_is_found_on_its_vcpu() {
    let mut port = port();
    assert_eq!(write(&mut port, 0, "colors 8-11\n"), Outcome::Sample);
    // The line was written on VCPU 0; the task has gone on on VCPU 1.
    let seen = |vcpu, number| match vcpu {
        0 => (number < 30).then_some(OTHER),
        _ => Some(if number % 3 == 0 { OTHER } else { TASK }),
    };
    let outcome = sample(&mut port, seen);
    assert_eq!(outcome, (Outcome::Found(1), Outcome::Nothing, SAMPLES));
    assert_eq!(port.take(0), None);
    let found = Found { vcpu: 1, table: TASK, colors: ColorSet::from_bits(0xf00) };
    assert_eq!(port.take(1), Some(found));
    assert_eq!(port.take(1), None, "once");
    assert_eq!(read(&mut port), "");
    port.finish(Some(1234));
    assert_eq!(read(&mut port), "ok 1234\n");
    assert_eq!(write(&mut port, 1, "colors none\n"), Outcome::Sample, "and again");
}

#[test]
fn without_a_winner_there_is_no_answer() {
    let mut port = port();
    assert_eq!(write(&mut port, 0, "colors 8\n"), Outcome::Sample);
    let seen = |_, number| Some(if number % 2 == 0 { TASK } else { OTHER });
    assert_eq!(sample(&mut port, seen), (Outcome::Nothing, Outcome::Nothing, SAMPLES));
    assert_eq!((read(&mut port).as_str(), port.take(0), port.take(1)), ("", None, None));
    // The task asks again, with more luck.
    assert_eq!(write(&mut port, 0, "colors 8\n"), Outcome::Sample);
    assert_eq!(sample(&mut port, |vcpu, _| (vcpu == 0).then_some(TASK)).0, Outcome::Found(0));
}

#[test]
fn a_late_sample_keeps_step() {
    let mut port = port();
    write(&mut port, 0, "colors 8\n");
    assert_eq!(port.sample(0, START + 100, Some(TASK)), Outcome::Again(START + 200));
    assert_eq!(port.sample(0, START + 555, Some(TASK)), Outcome::Again(START + 600));
    // VCPU 1 was not interrupted in time: it has no say.
    assert_eq!(port.sample(0, START + 10_050, Some(TASK)), Outcome::Nothing, "too few");
    assert_eq!(port.sample(1, START + 10_060, Some(TASK)), Outcome::Nothing);
}

/// The VCPU that asks may learn of the window when it is over.
#[test]
fn a_window_that_nobody_has_seen_ends() {
    let mut port = port();
    assert_eq!(port.first_sample(START), None);
    write(&mut port, 0, "colors 8\n");
    assert_eq!(port.first_sample(START), Some(START + 100));
    let late = START + 1_000_000;
    assert_eq!(port.first_sample(late), Some(late));
    assert_eq!(port.sample(0, late, Some(TASK)), Outcome::Nothing);
    assert_eq!(port.first_sample(late), None);
    assert_eq!(write(&mut port, 0, "colors 8\n"), Outcome::Sample, "it asks again");
}

#[test]
fn errors_are_words() {
    let mut port = port();
    write(&mut port, 0, "colours 8\n");
    assert_eq!(read(&mut port), "error syntax\n");
    assert_eq!(write(&mut port, 0, "colors 8\n"), Outcome::Sample);
    assert_eq!(write(&mut port, 1, "colors 9\n"), Outcome::Nothing);
    assert_eq!(read(&mut port), "error busy\n");
    for (error, answer) in [
        (Error::Invalid, "error invalid\n"),
        (Error::NoMemory, "error no-memory\n"),
        (Error::Busy, "error busy\n"),
        (Error::BadAddress, "error bad-address\n"),
        (Error::NotSupported, "error failed\n"),
    ] {
        port.reset();
        write(&mut port, 0, "colors 8\n");
        sample(&mut port, |_, _| Some(TASK));
        assert!(port.take(1).is_some(), "the same on both: the last VCPU");
        port.finish(Some(error as i64));
        assert_eq!(read(&mut port), answer);
    }
}

#[test]
fn a_reset_forgets_the_request() {
    let mut port = port();
    write(&mut port, 0, "colors 8\n");
    sample(&mut port, |_, _| Some(TASK));
    assert!(port.take(1).is_some());
    port.reset();
    port.finish(Some(1));
    assert_eq!(read(&mut port), "");
    assert_eq!(port.next_sample(START), None);
    assert_eq!(port.sample(0, START, Some(TASK)), Outcome::Nothing);
}

#[test]
fn the_answer_interrupts() {
    const IMSC: u64 = 0x38;
    const RECEIVE_TIMEOUT: u64 = 1 << 6;
    let mut port = port();
    port.write(IMSC, 2, RECEIVE_TIMEOUT, 0, (START, PER_SECOND));
    assert!(!port.interrupt());
    write(&mut port, 0, "?\n");
    assert!(port.interrupt());
    assert_eq!(read(&mut port), "error syntax\n");
    assert!(!port.interrupt());
}
