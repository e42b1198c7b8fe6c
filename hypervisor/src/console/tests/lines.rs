//! The view of all VMs: labelled lines, back-pressure, bounded work.

use proptest::prelude::*;

use super::*;
use crate::console::sources::HYPERVISOR;

#[test]
fn lines_are_shown_whole_and_labelled() {
    let (console, uart) = console(16);
    assert_eq!(console.write(0, b"Boot"), 4);
    assert_eq!(console.write(1, b"tick\n"), 5);
    console.print(format_args!("VM {} started", 1));
    console.write(0, b"ing Linux\r\n");
    console.write(2, b"\n");
    assert_eq!(
        shown(&console, &uart),
        "[rt   ] tick\r\n[bulkhead] VM 1 started\r\n[linux] Booting Linux\r\n[three] \r\n"
    );
}

#[test]
fn prompts_are_shown_when_idle_and_echo_follows_at_once() {
    let (console, uart) = console(16);
    console.write(0, b"~ # ");
    assert!(console.has_partial_lines());
    assert_eq!(console.flush_idle(1000, 50), Some(1050));
    assert_eq!(shown(&console, &uart), "");
    assert_eq!(console.flush_idle(1049, 50), Some(1050));
    assert_eq!(console.flush_idle(1050, 50), None);
    assert_eq!(shown(&console, &uart), "[linux] ~ # ");
    assert!(!console.has_partial_lines());
    console.write(0, b"l");
    assert_eq!(shown(&console, &uart), "l");
    console.write(1, b"tick\n");
    assert_eq!(shown(&console, &uart), "\r\n[rt   ] tick\r\n");
    console.write(0, b"s\r\n");
    assert_eq!(shown(&console, &uart), "[linux] s\r\n");
}

#[test]
fn a_growing_line_is_not_idle() {
    let (console, uart) = console(16);
    console.write(0, b"a");
    console.flush_idle(0, 50);
    console.write(0, b"b");
    assert_eq!(console.flush_idle(60, 50), Some(110));
    assert_eq!(shown(&console, &uart), "");
    console.write(0, b"c\n");
    assert_eq!(shown(&console, &uart), "[linux] abc\r\n");
}

#[test]
fn a_long_line_is_shown_before_it_ends() {
    let (console, uart) = console(16);
    console.write(0, &[b'x'; LONG_LINE - 1]);
    assert_eq!(shown(&console, &uart), "");
    console.write(0, b"x");
    assert_eq!(shown(&console, &uart), format!("[linux] {}", "x".repeat(LONG_LINE)));
}

#[test]
fn labels_cannot_be_forged() {
    let (console, uart) = console(16);
    console.write(
        0,
        b"a\r[rt   ] forged\r\n\x1b[2K\x1b[1G[bulkhead] forged\n\x08\x08\x08[rt] forged\n",
    );
    assert_eq!(
        shown(&console, &uart),
        "[linux] a\r[linux] [rt   ] forged\r\n[linux] [bulkhead] forged\r\n[linux] ^H^H^H[rt] forged\r\n"
    );
}

#[test]
fn a_full_ring_refuses_and_tells_when_there_is_room() {
    let (console, uart) = console(16);
    let mut written = 0;
    while console.space(1) > 0 {
        written += console.write(1, &[b'x'; 100]);
    }
    let moved = uart.sent();
    assert_eq!(console.write(1, b"y"), 0);
    assert!(written >= RING_SIZE && written <= RING_SIZE + moved + 128);
    assert_eq!(console.write(0, b"other VMs go on\n"), 16);
    assert_eq!(console.take_relieved(), 0);
    let mut steps = 0;
    let relieved = loop {
        uart.drain(16);
        console.on_uart_interrupt(|_, _| {});
        let relieved = console.take_relieved();
        if relieved != 0 {
            break relieved;
        }
        steps += 1;
        assert!(steps < 1000, "nobody was told");
    };
    assert_eq!(relieved, 1 << 1);
    assert!(console.space(1) > 0);
    assert_eq!(console.take_relieved(), 0, "told once");
    assert!(shown(&console, &uart).contains("[linux] other VMs go on\r\n"));
    assert_eq!(console.take_relieved(), 0, "nobody was refused since");
}

#[test]
fn work_is_bounded_even_if_nothing_comes_of_it() {
    let (console, _uart) = console(1 << 20);
    assert_eq!(console.write(0, &[b'\r'; LONG_LINE - 1]), LONG_LINE - 1);
    console.write(0, b"\n");
    let left = RING_SIZE - console.sources.space(0);
    assert!(left >= LONG_LINE - BUDGET, "{left} bytes left");
}

#[test]
fn messages_are_kept_until_there_is_a_uart() {
    let console = Console::new();
    console.print(format_args!("early\n"));
    let uart = FakeUart::new(1 << 20);
    console.attach(uart.clone());
    console.print(format_args!("two\nlines"));
    uart.drain(usize::MAX);
    assert_eq!(uart.state().wire, b"[bulkhead] early\r\n[bulkhead] two\r\n[bulkhead] lines\r\n");
}

#[test]
fn a_message_follows_what_vms_had_written_before() {
    let (console, uart) = console(0);
    console.write(1, b"one\ntwo\nthree\nlast words\n");
    console.write(0, b"no line end");
    console.print(format_args!("rt: off"));
    console.print(format_args!("next"));
    uart.state().capacity = 16;
    assert_eq!(
        shown(&console, &uart),
        "[rt   ] one\r\n[rt   ] two\r\n[rt   ] three\r\n[rt   ] last words\r\n\
         [bulkhead] rt: off\r\n[bulkhead] next\r\n"
    );
}

#[test]
fn every_message_waits_for_what_was_written_before() {
    let (console, uart) = console(16);
    for message in ["first", "second"] {
        uart.state().capacity = 0;
        console.write(1, b"one\ntwo\n");
        console.print(format_args!("{message}"));
        uart.state().capacity = 16;
        let expected = format!("[rt   ] one\r\n[rt   ] two\r\n[bulkhead] {message}\r\n");
        assert_eq!(shown(&console, &uart), expected);
    }
}

#[test]
fn lines_of_one_message_stay_together() {
    let (console, uart) = console(4);
    console.print(format_args!("x0 = 0\nx1 = 1\nx2 = 2"));
    console.write(0, b"later\n");
    assert_eq!(
        shown(&console, &uart),
        "[bulkhead] x0 = 0\r\n[bulkhead] x1 = 1\r\n[bulkhead] x2 = 2\r\n[linux] later\r\n"
    );
}

#[test]
fn a_vm_that_never_ends_does_not_hold_up_a_message() {
    let (console, uart) = console(16);
    let write = || while console.write(1, b"and on\n") > 0 {};
    write();
    console.print(format_args!("message"));
    for _ in 0..1000 {
        write();
        uart.drain(16);
        console.on_uart_interrupt(|_, _| {});
    }
    let text = String::from_utf8(uart.state().wire.clone()).unwrap();
    let place = text.find("message").expect("the message comes");
    assert!(place <= (RING_SIZE + 256) * 16 / 7, "the message came after {place} bytes");
}

#[test]
fn lost_messages_are_counted() {
    let (console, uart) = console(0);
    let message = "x".repeat(99);
    for _ in 0..50 {
        console.print(format_args!("{message}"));
    }
    uart.state().capacity = 16;
    let text = shown(&console, &uart);
    let kept = text.matches(&message).count();
    let lost: usize = 50 - kept;
    assert!(kept >= 20);
    let report =
        format!("[bulkhead] {lost} messages lost: they came faster than the UART takes them\r\n");
    assert!(text.ends_with(&report), "{text}");
}

#[test]
fn a_dead_uart_stops_nobody() {
    let (console, uart) = console(0);
    let mut taken = 0;
    for _ in 0..1000 {
        taken += console.write(0, b"0123456789\n");
    }
    assert!(taken <= RING_SIZE + 256);
    assert_eq!(uart.sent(), 0);
    console.flush_all_blocking();
}

#[test]
fn panic_report_follows_what_was_printed_before() {
    let (console, uart) = console(0);
    console.print(format_args!("a message that is half on its way, half in the ring"));
    uart.state().capacity = 1 << 20;
    console.emergency(format_args!("panic: {}\n", 42));
    console.emergency(format_args!("x0 = 0"));
    console.write(0, b"too late\n");
    console.on_uart_interrupt(|_, _| {});
    console.flush_all_blocking();
    assert!(!uart.wants_to_send(), "nobody would answer the transmit interrupt");
    uart.drain(usize::MAX);
    let text = String::from_utf8(uart.state().wire.clone()).unwrap();
    let before = "[bulkhead] a message that is half on its way, half in the ring\r\n";
    assert_eq!(text, format!("{before}[bulkhead] panic: 42\r\n[bulkhead] x0 = 0\r\n"));
}

#[test]
fn panic_report_comes_through_whoever_holds_the_locks() {
    let (console, uart) = console(1 << 20);
    let mux = console.mux.lock();
    let ring = console.sources.lock(0);
    console.emergency(format_args!("panic"));
    drop((mux, ring));
    uart.drain(usize::MAX);
    assert_eq!(uart.state().wire, b"\r\n[bulkhead] panic\r\n");
}

#[test]
fn panic_report_while_formatting_a_message() {
    let (console, uart) = console(1 << 20);
    let ring = console.sources.lock(HYPERVISOR);
    console.emergency(format_args!("panic"));
    drop(ring);
    uart.drain(usize::MAX);
    assert_eq!(uart.state().wire, b"\r\n[bulkhead] panic\r\n");
}

/// What can happen, in any order.
#[derive(Clone, Debug)]
enum Event {
    Write(usize, usize),
    Print,
    Drain(usize),
    Interrupt,
    Idle,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..3usize, 1..300usize).prop_map(|(vm, length)| Event::Write(vm, length)),
        1 => Just(Event::Print),
        4 => (1..40usize).prop_map(Event::Drain),
        4 => Just(Event::Interrupt),
        1 => Just(Event::Idle),
    ]
}

/// Output of a guest that would like to be another.
fn guest_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => "[a-z ]{0,20}".prop_map(String::into_bytes),
        3 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => Just(b"[linux] ".to_vec()),
        1 => Just(b"[rt   ] ".to_vec()),
        1 => Just(b"[bulkhead] ".to_vec()),
        1 => Just(b"\x1b[2K".to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
        1 => Just(vec![b'-'; 400]),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Returns what is left of a guest's output when line ends, carriage returns and control sequences are gone.
fn plain(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match *first {
            0x1b => {
                if let [b'[', parameters @ ..] = tail {
                    let length =
                        parameters.iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
                    rest = &parameters[length..];
                    if matches!(rest.first(), Some(0x40..=0x7e)) {
                        rest = &rest[1..];
                    }
                }
            }
            b'\r' | b'\n' => {}
            byte @ (b'\t' | 0x20..=0x7e) => text.push(char::from(byte)),
            byte @ (0..=0x1f | 0x7f) => text.extend(['^', char::from(byte ^ 0x40)]),
            byte => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text
}

/// The text that stands behind each label; panics if something has no label.
fn by_label(output: &str) -> [String; 4] {
    let labels = ["[linux] ", "[rt   ] ", "[three] ", "[bulkhead] "];
    let mut texts = [const { String::new() }; 4];
    for piece in
        output.split("\r\n").flat_map(|line| line.split('\r')).filter(|piece| !piece.is_empty())
    {
        assert!(
            piece.bytes().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e)),
            "{piece:?} is not plain"
        );
        let source = labels.iter().position(|label| piece.starts_with(label));
        let source = source.unwrap_or_else(|| panic!("{piece:?} has no label"));
        texts[source].push_str(&piece[labels[source].len()..]);
    }
    texts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn output_is_complete_in_order_and_under_its_label(
        scripts in [guest_text(), guest_text(), guest_text()],
        events in proptest::collection::vec(event(), 0..400),
        capacity in 1..64usize,
    ) {
        let (console, uart) = console(capacity);
        let mut written = [0; 3];
        let mut printed = 0;
        let mut now = 0;
        let mut write = |vm: usize, length: usize, relieved: &mut u8| {
            let rest = &scripts[vm][written[vm]..];
            let offered = &rest[..length.min(rest.len())];
            let taken = console.write(vm, offered);
            assert!(taken == offered.len().min(WRITE_MAX) || console.space(vm) < WRITE_MAX || *relieved & 1 << vm != 0);
            written[vm] += taken;
            written[vm] == scripts[vm].len()
        };
        let mut relieved = 0;
        for event in events {
            let before = uart.sent();
            match event {
                Event::Write(vm, length) => { write(vm, length, &mut relieved); }
                Event::Print => {
                    printed += 1;
                    console.print(format_args!("message"));
                }
                Event::Drain(count) => uart.drain(count),
                Event::Interrupt => console.on_uart_interrupt(|_, _| {}),
                Event::Idle => {
                    now += 30;
                    console.flush_idle(now, 50);
                }
            }
            prop_assert!(uart.sent() - before <= BUDGET);
            relieved |= console.take_relieved();
        }
        for _ in 0..1000 {
            let done = (0..3).filter(|&vm| write(vm, WRITE_MAX, &mut relieved)).count();
            settle(&console, &uart);
            relieved |= console.take_relieved();
            if done == 3 {
                break;
            }
        }
        uart.state().capacity = usize::MAX;
        console.flush_all_blocking();
        let texts = by_label(&shown(&console, &uart));
        for (vm, script) in scripts.iter().enumerate() {
            prop_assert_eq!(&texts[vm], &plain(script));
        }
        prop_assert_eq!(&texts[3], &"message".repeat(printed));
    }

    #[test]
    fn short_lines_are_never_broken(
        lines in proptest::collection::vec((0..3usize, "[a-z]{0,60}"), 1..80),
        cuts in proptest::collection::vec(1..30usize, 1..20),
        capacity in 1..64usize,
    ) {
        let (console, uart) = console(capacity);
        let mut scripts = [const { Vec::new() }; 3];
        for (vm, line) in &lines {
            scripts[*vm].extend_from_slice(line.as_bytes());
            scripts[*vm].push(b'\n');
        }
        let mut written = [0; 3];
        let mut cuts = cuts.iter().cycle();
        while (0..3).any(|vm| written[vm] < scripts[vm].len()) {
            for vm in 0..3 {
                let rest = &scripts[vm][written[vm]..];
                written[vm] += console.write(vm, &rest[..rest.len().min(*cuts.next().unwrap())]);
            }
            uart.drain(*cuts.next().unwrap());
            if uart.wants_to_send() {
                console.on_uart_interrupt(|_, _| {});
            }
        }
        let output = shown(&console, &uart);
        for (vm, label) in ["[linux] ", "[rt   ] ", "[three] "].into_iter().enumerate() {
            let shown: Vec<_> = output.split_terminator("\r\n").filter_map(|line| line.strip_prefix(label)).collect();
            let expected: Vec<_> = lines.iter().filter(|line| line.0 == vm).map(|line| line.1.as_str()).collect();
            prop_assert_eq!(shown, expected);
        }
    }
}
