//! Keys, views and where input goes.

use proptest::prelude::*;

use super::*;

fn press(console: &Console<FakeUart>, uart: &FakeUart, keys: &[u8]) -> Vec<(usize, u8)> {
    uart.type_in(keys);
    settle(console, uart)
}

#[test]
fn focus_shows_one_vm_raw_and_counts_the_lines_of_others() {
    let (console, uart) = console(16);
    console.write(1, b"un");
    press(&console, &uart, b"\x1d1");
    assert_eq!(console.view(), View::Focus(1));
    let text = shown(&console, &uart);
    assert!(
        text.contains("[bulkhead] console: rt; Ctrl-] a for all VMs, Ctrl-] ? for help\r\n"),
        "{text:?}"
    );
    assert!(text.contains("un"), "what waited for the end of its line is shown");
    console.write(1, b"\x1b[1mraw\x07");
    assert_eq!(shown(&console, &uart), "\x1b[1mraw\x07");
    for _ in 0..300 {
        assert_eq!(console.write(0, b"hidden line\n"), 12);
    }
    console.write(2, b"hidden too\nand no line");
    assert_eq!(shown(&console, &uart), "");
    console.print(format_args!("VM 2 crashed"));
    assert_eq!(shown(&console, &uart), "\r\n[bulkhead] VM 2 crashed\r\n");

    press(&console, &uart, b"\x1da");
    let text = shown(&console, &uart);
    assert!(text.starts_with("\x18\x1b[!p\r\n"), "the terminal is reset: {text:?}");
    assert!(text.contains("[bulkhead] 301 lines of other VMs not shown\r\n"), "{text:?}");
    assert!(
        text.contains("[bulkhead] console: all VMs, input goes to rt; Ctrl-] ? for help\r\n"),
        "{text:?}"
    );
    console.write(0, b"seen\n");
    assert_eq!(shown(&console, &uart), "[linux] seen\r\n");
}

#[test]
fn hidden_output_still_makes_room() {
    let (console, uart) = console(16);
    console.set_view(View::Focus(0));
    settle(&console, &uart);
    let mut written = 0;
    for _ in 0..100 {
        written += console.write(1, &[b'x'; 200]);
        settle(&console, &uart);
    }
    assert_eq!(written, 100 * 200);
}

#[test]
fn next_goes_around_and_help_lists_the_vms() {
    let (console, uart) = console(16);
    console.set_status(0, "running");
    console.set_status(1, "crashed");
    let mut seen = Vec::new();
    for _ in 0..4 {
        press(&console, &uart, b"\x1dn");
        seen.push(console.view());
    }
    assert_eq!(seen, [0, 1, 2, 0].map(View::Focus));
    shown(&console, &uart);
    press(&console, &uart, b"\x1d?");
    let text = shown(&console, &uart);
    assert!(text.contains("[bulkhead] VM 0  linux            running, input\r\n"), "{text}");
    assert!(text.contains("[bulkhead] VM 1  rt               crashed\r\n"), "{text}");
    assert!(text.contains("input goes to linux"), "{text}");
}

#[test]
fn keys_without_meaning_say_so() {
    let (console, uart) = console(16);
    assert_eq!(press(&console, &uart, b"\x1dq\x1dz\x1d7"), []);
    let text = shown(&console, &uart);
    assert!(text.contains("it has no meaning on a serial line"), "{text}");
    assert!(text.contains("no such key"), "{text}");
    assert!(text.contains("there is no VM 7, the VMs are 0..3"), "{text}");
    assert_eq!(console.view(), View::All);
}

#[test]
fn a_byte_is_sent_to_a_vm_and_view_and_input_stay() {
    let (console, uart) = console(16);
    console.set_view(View::Focus(1));
    shown(&console, &uart);
    assert_eq!(press(&console, &uart, b"\x1dCx\x1dA\x1dy"), [(2, b'x'), (0, ESCAPE), (1, b'y')]);
    assert_eq!(press(&console, &uart, b"\x1dHz"), [], "there is no such VM");
    assert_eq!((console.view(), shown(&console, &uart).as_str()), (View::Focus(1), ""));
}

#[test]
fn overrun_of_the_uart_reaches_the_vm() {
    let (console, uart) = console(16);
    uart.state().input.push_back(Input { byte: b'x', overrun: true });
    let mut received = Vec::new();
    console.on_uart_interrupt(|vm, input| received.push((vm, input)));
    assert_eq!(received, [(0, Input { byte: b'x', overrun: true })]);
}

#[test]
fn input_without_vms_goes_nowhere() {
    let uart = FakeUart::new(1 << 20);
    let console = Console::new();
    console.attach(uart.clone());
    console.go_live();
    assert_eq!(press(&console, &uart, b"abc"), []);
}

#[test]
fn one_interrupt_receives_a_bounded_number_of_bytes() {
    let (console, uart) = console(16);
    uart.type_in(&[b'x'; 1000]);
    let mut count = 0;
    console.on_uart_interrupt(|_, _| count += 1);
    assert_eq!(count, RECEIVE_MAX);
}

proptest! {
    #[test]
    fn input_goes_to_the_focus_only(keys in proptest::collection::vec(
        prop_oneof![Just(ESCAPE), Just(b'a'), Just(b'n'), Just(b'1'), Just(b'2'), Just(b'B'), any::<u8>()], 0..200)) {
        let (console, uart) = console(16);
        let received = press(&console, &uart, &keys);

        let (mut focus, mut all, mut escaped, mut send) = (0, true, false, None);
        let mut expected = Vec::new();
        for key in keys {
            if let Some(vm) = send.take() {
                expected.extend((vm < 3).then_some((vm, key)));
                continue;
            }
            match (escaped, key) {
                (false, ESCAPE) => escaped = true,
                (false, _) => expected.push((focus, key)),
                (true, _) => {
                    escaped = false;
                    match key {
                        ESCAPE => expected.push((focus, ESCAPE)),
                        b'a' => all = true,
                        b'A'..=b'H' => send = Some(usize::from(key - b'A')),
                        b'0'..=b'2' => (focus, all) = (usize::from(key - b'0'), false),
                        b'n' => (focus, all) = (if all { focus } else { (focus + 1) % 3 }, false),
                        _ => {}
                    }
                }
            }
        }
        prop_assert_eq!(received, expected);
        prop_assert_eq!(console.view(), if all { View::All } else { View::Focus(focus) });
    }
}
