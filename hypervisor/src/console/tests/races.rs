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
