//! Several PCPUs at once.

use std::sync::atomic::AtomicUsize;
use std::thread;

use super::*;

/// Three VMs write line after line, a fourth thread serves the UART, only when it wants to send:
/// a wake-up that got lost would leave bytes behind.
#[test]
fn no_output_is_left_behind() {
    const LINES: usize = 400;
    let (console, uart) = console(8);
    let writing = AtomicUsize::new(3);
    thread::scope(|scope| {
        for vm in 0..3 {
            let (console, writing) = (&console, &writing);
            scope.spawn(move || {
                for line in 0..LINES {
                    let text = format!("line {line}\n");
                    let mut rest = text.as_bytes();
                    while !rest.is_empty() {
                        rest = &rest[console.write(vm, rest)..];
                        thread::yield_now();
                    }
                }
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while writing.load(Ordering::SeqCst) > 0 {
            uart.drain(8);
            if uart.wants_to_send() {
                console.on_uart_interrupt(|_, _| {});
            }
            thread::yield_now();
        }
    });
    let output = shown(&console, &uart);
    for label in ["[linux] ", "[rt   ] ", "[three] "] {
        let lines: Vec<_> =
            output.split_terminator("\r\n").filter_map(|line| line.strip_prefix(label)).collect();
        let expected: Vec<_> = (0..LINES).map(|line| format!("line {line}")).collect();
        assert_eq!(lines, expected);
    }
}

/// A VM writes at the very moment at which the multiplexer has found nothing more to send, but is
/// still locked: the lock's owner must look again, for nobody else will.
#[test]
fn output_that_comes_while_the_multiplexer_is_locked_is_seen() {
    let (console, uart) = console(1 << 20);
    let console: &'static Console<FakeUart> = Box::leak(Box::new(console));
    console.write(0, &[b'x'; 100]);
    console.write(0, b"\n");
    assert!(uart.wants_to_send());
    uart.state().when_disabled = Some(Box::new(move || assert_eq!(console.write(1, b"late\n"), 5)));
    while uart.wants_to_send() {
        console.on_uart_interrupt(|_, _| {});
    }
    assert!(uart.state().when_disabled.is_none());
    uart.drain(usize::MAX);
    let expected = format!("[linux] {}\r\n[rt   ] late\r\n", "x".repeat(100));
    assert_eq!(String::from_utf8(uart.state().wire.clone()).unwrap(), expected);
}
