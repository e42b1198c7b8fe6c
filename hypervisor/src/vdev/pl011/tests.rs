//! The sequences that Linux's amba-pl011 driver and simple polling drivers perform.

use super::*;

/// A far end with room for so many bytes.
struct Wire {
    room: usize,
    bytes: Vec<u8>,
}

impl Wire {
    fn with_room(room: usize) -> Self {
        Self { room, bytes: Vec::new() }
    }
}

impl Line for Wire {
    fn send(&mut self, byte: u8) -> bool {
        if self.room == 0 {
            return false;
        }
        self.room -= 1;
        self.bytes.push(byte);
        true
    }
}

/// A guest's UART: 16-bit accesses, as Linux makes them.
struct Guest {
    uart: Pl011,
    wire: Wire,
}

impl Guest {
    fn new(room: usize) -> Self {
        Self { uart: Pl011::new(), wire: Wire::with_room(room) }
    }

    fn read(&mut self, offset: u64) -> u32 {
        self.uart.read(offset, 2) as u32
    }

    fn write(&mut self, offset: u64, value: u32) {
        self.uart.write(offset, 2, value.into(), &mut self.wire);
    }

    fn relieve(&mut self, room: usize) {
        self.wire.room += room;
        self.uart.line_ready(&mut self.wire);
    }

    /// pl011_startup: clear errors, line control with FIFOs, enable, drain input, unmask receive interrupts.
    fn startup(&mut self) {
        self.write(ICR, 0x7ff & !(TX | RX));
        let mask = self.read(IMSC);
        self.write(IMSC, RT | RX);
        self.write(IFLS, 0x12);
        self.write(CR, 0x301);
        self.write(IBRD, 13);
        self.write(FBRD, 1);
        self.write(LCR_H, 0x70);
        assert_eq!(mask, 0);
        self.write(ICR, RT | RX);
        for _ in 0..2 * FIFO {
            if self.read(FR) & FR_RXFE != 0 {
                break;
            }
            self.read(DR);
        }
        self.write(IMSC, RT | RX);
    }

    /// pl011_tx_chars: from the interrupt half a FIFO without a look at the flags, else until it is full.
    fn tx_chars(&mut self, queue: &mut Vec<u8>, from_interrupt: bool) {
        let mut budget = FIFO / 2;
        while !queue.is_empty() {
            if from_interrupt && budget == 0 || !from_interrupt && self.read(FR) & FR_TXFF != 0 {
                return;
            }
            budget = budget.saturating_sub(1);
            let byte = queue.remove(0);
            self.write(DR, byte.into());
        }
        self.write(IMSC, RT | RX);
    }

    /// pl011_int, until nothing is left to do or `passes` are over.
    fn interrupt(&mut self, queue: &mut Vec<u8>) -> Vec<(u8, bool)> {
        let mut received = Vec::new();
        for _ in 0..256 {
            let status = self.read(RIS) & self.read(IMSC);
            if status == 0 {
                break;
            }
            self.write(ICR, status & !(TX | RT | RX));
            if status & (RT | RX) != 0 {
                while self.read(FR) & FR_RXFE == 0 {
                    let data = self.read(DR);
                    received.push((data as u8, data & DR_OE != 0));
                }
            }
            if status & TX != 0 {
                self.tx_chars(queue, true);
            }
        }
        received
    }
}

#[test]
fn probe_finds_an_arm_pl011_r1p5() {
    let mut uart = Pl011::new();
    let mut word = |first: u64| {
        (0..4).fold(0, |id, i| id | (uart.read(first + 4 * i, 4) as u32 & 0xff) << (8 * i))
    };
    assert_eq!(word(0xfe0), 0x0034_1011);
    assert_eq!(word(0xff0), 0xb105_f00d);
}

#[test]
fn early_console_polls_a_uart_that_nobody_set_up() {
    let mut guest = Guest::new(100);
    for byte in *b"early" {
        while guest.read(FR) & FR_TXFF != 0 {}
        guest.uart.write(DR, 4, byte.into(), &mut guest.wire);
        while guest.read(FR) & FR_BUSY != 0 {}
    }
    assert_eq!(guest.wire.bytes, b"early");
    assert!(!guest.uart.interrupt());
}

#[test]
fn polling_console_waits_while_the_line_is_full_and_loses_nothing() {
    let mut guest = Guest::new(3);
    guest.startup();
    let mut waits = 0;
    for byte in 0..200u8 {
        while guest.read(FR) & FR_TXFF != 0 {
            waits += 1;
            guest.relieve(5);
        }
        guest.write(DR, byte.into());
    }
    while guest.read(FR) & FR_BUSY != 0 {
        guest.relieve(5);
    }
    assert!(waits > 0);
    assert_eq!(guest.wire.bytes, (0..200).collect::<Vec<u8>>());
    assert_eq!(guest.read(FR) & (FR_TXFE | FR_TXFF), FR_TXFE);
}

#[test]
fn interrupt_driven_output_is_complete_and_in_order() {
    for room in [0, 1, 7, 16, 40, 5000] {
        let mut guest = Guest::new(room);
        guest.startup();
        let text: Vec<u8> = (0..3000u32).map(|i| (i % 251) as u8).collect();
        let mut queue = text.clone();
        // start_tx: unmask, write what fits.
        guest.write(IMSC, TX | RT | RX);
        guest.tx_chars(&mut queue, false);
        for step in 0.. {
            if queue.is_empty() && guest.wire.bytes.len() == text.len() {
                break;
            }
            assert!(step < 10_000, "output stopped at byte {}", guest.wire.bytes.len());
            if guest.uart.interrupt() {
                guest.interrupt(&mut queue);
            } else {
                guest.relieve(1 + room % 50);
            }
        }
        assert_eq!(guest.wire.bytes, text);
        assert!(!guest.uart.interrupt(), "stop_tx masked the transmit interrupt");
    }
}

#[test]
fn transmit_interrupt_waits_for_half_a_fifo_of_room() {
    let mut guest = Guest::new(0);
    guest.startup();
    guest.write(IMSC, TX);
    for byte in 0..FIFO as u32 {
        guest.write(DR, byte);
        assert_eq!(guest.uart.interrupt(), byte < 16, "after {} bytes", byte + 1);
    }
    assert_ne!(guest.read(FR) & FR_TXFF, 0);
    guest.relieve(15);
    assert!(!guest.uart.interrupt());
    guest.relieve(1);
    assert!(guest.uart.interrupt());
    // Cleared by hand, it comes back with the next byte that goes out.
    guest.write(ICR, TX);
    assert!(!guest.uart.interrupt());
    guest.relieve(1);
    assert!(guest.uart.interrupt());
}

#[test]
fn bytes_stay_in_order_when_room_returns_between_two_writes() {
    let mut guest = Guest::new(1);
    guest.startup();
    for byte in 0..3 {
        guest.write(DR, byte);
    }
    guest.wire.room = 100;
    guest.write(DR, 3);
    assert_eq!(guest.wire.bytes, [0, 1, 2, 3]);
    assert_eq!(guest.read(FR) & FR_BUSY, 0);
}

#[test]
fn typed_bytes_arrive_one_by_one_and_in_bursts() {
    let mut guest = Guest::new(0);
    guest.startup();
    guest.uart.receive(b'x', false);
    assert!(guest.uart.interrupt(), "the receive timeout is raised for a single byte");
    assert_eq!(guest.interrupt(&mut Vec::new()), [(b'x', false)]);
    assert!(!guest.uart.interrupt());

    let burst: Vec<u8> = (0..FIFO as u8 * 3).collect();
    for &byte in &burst {
        guest.uart.receive(byte, false);
    }
    assert_ne!(guest.read(FR) & FR_RXFF, 0);
    assert_ne!(guest.read(MIS) & RX, 0);
    let received: Vec<u8> =
        guest.interrupt(&mut Vec::new()).into_iter().map(|(byte, _)| byte).collect();
    assert_eq!(received, burst);
    assert_eq!(guest.uart.overruns(), 0);
    assert!(!guest.uart.interrupt());
}

#[test]
fn receive_interrupt_follows_its_level() {
    let mut guest = Guest::new(0);
    guest.startup();
    guest.write(IMSC, RX);
    for count in 1..=20 {
        guest.uart.receive(0, false);
        assert_eq!(guest.uart.interrupt(), count >= 16, "{count} bytes");
    }
    for left in (0..20).rev() {
        guest.read(DR);
        assert_eq!(guest.uart.interrupt(), left >= 16, "{left} bytes left");
    }
}

#[test]
fn input_beyond_the_backlog_is_counted_and_reported_as_overrun() {
    let mut guest = Guest::new(0);
    guest.startup();
    for count in 0..BACKLOG + 3 {
        guest.uart.receive(count as u8, false);
    }
    assert_eq!(guest.uart.overruns(), 3);
    assert_ne!(guest.read(RIS) & OE, 0);
    assert_eq!(guest.read(RSR), RSR_OE);
    let received = guest.interrupt(&mut Vec::new());
    assert_eq!(received.len(), BACKLOG);
    assert_eq!(received.iter().filter(|(_, overrun)| *overrun).count(), 1);
    guest.write(RSR, 0);
    assert_eq!(guest.read(RSR), 0);

    guest.uart.receive(b'y', true);
    assert_eq!(guest.uart.overruns(), 4);
    assert_eq!(guest.interrupt(&mut Vec::new()), [(b'y', true)]);
}

#[test]
fn input_before_the_driver_starts_raises_nothing_and_later_input_does() {
    let mut guest = Guest::new(0);
    guest.uart.receive(b'a', false);
    assert!(!guest.uart.interrupt());
    guest.startup();
    assert!(!guest.uart.interrupt(), "startup drained the FIFO");
    guest.uart.receive(b'b', false);
    assert_eq!(guest.interrupt(&mut Vec::new()), [(b'b', false)]);
}

#[test]
fn startup_with_much_waiting_input_still_gets_the_rest() {
    let mut guest = Guest::new(0);
    for _ in 0..200 {
        guest.uart.receive(b'a', false);
    }
    guest.startup();
    assert!(guest.uart.interrupt());
    assert_eq!(guest.interrupt(&mut Vec::new()).len(), 200 - 2 * FIFO);
}

#[test]
fn shutdown_silences_and_reset_forgets() {
    let mut guest = Guest::new(0);
    guest.startup();
    guest.uart.receive(b'a', false);
    guest.write(DR, u32::from(b'z'));
    guest.write(IMSC, 0);
    assert!(!guest.uart.interrupt());
    guest.uart.reset();
    assert_eq!(guest.read(FR), FR_CTS | FR_DSR | FR_DCD | FR_RXFE | FR_TXFE);
    assert_eq!((guest.read(CR), guest.read(IFLS), guest.read(RIS)), (0x300, 0x12, 0));
    guest.relieve(10);
    assert_eq!(guest.wire.bytes, b"");
}

#[test]
fn without_fifos_there_is_room_for_one_byte() {
    let mut guest = Guest::new(0);
    guest.write(LCR_H, 0x60);
    guest.write(DR, 1);
    assert_ne!(guest.read(FR) & FR_TXFF, 0);
    guest.relieve(1);
    assert_eq!(guest.read(FR) & FR_TXFF, 0);
    guest.write(IMSC, RX);
    guest.uart.receive(7, false);
    assert!(guest.uart.interrupt());
    assert_ne!(guest.read(FR) & FR_RXFF, 0);
}

#[test]
fn accesses_of_every_size_and_place_are_answered() {
    let mut guest = Guest::new(1000);
    for size in [1, 2, 4, 8] {
        for offset in 0..FRAME_SIZE {
            guest.uart.write(offset, size, u64::MAX, &mut guest.wire);
            let value = guest.uart.read(offset, size);
            assert!(size == 8 || value < 1 << (8 * size));
        }
    }
    assert_eq!(guest.wire.bytes, [0xff; 4], "one byte for each write at the data register");
    guest.uart.reset();
    assert_eq!(guest.uart.read(CR + 1, 1), 3, "second byte of CR");
}

/// The guest clears its interrupts and does not read: when the far end has more, the guest is reminded, though its FIFO is full.
#[test]
fn a_guest_that_forgets_a_full_fifo_is_reminded() {
    let mut guest = Guest::new(0);
    guest.startup();
    (0..FIFO).for_each(|byte| guest.uart.receive(byte as u8, false));
    assert!(guest.uart.interrupt() && !guest.uart.has_room());
    guest.read(FR);
    guest.write(ICR, 0x7ff);
    guest.uart.announce(0);
    assert!(!guest.uart.interrupt());
    guest.uart.announce(1);
    assert_eq!(guest.read(MIS), RT | RX);
}

/// A byte comes between the last look of a handler and its clearing of interrupts: on a chip the timeout follows that.
#[test]
fn interrupts_of_bytes_that_the_guest_has_not_seen_stay() {
    let mut guest = Guest::new(0);
    guest.startup();
    guest.uart.receive(b'a', false);
    assert!(guest.uart.interrupt());
    assert_eq!(guest.read(DR), u32::from(b'a'));
    assert_ne!(guest.read(FR) & FR_RXFE, 0);
    guest.uart.receive(b'b', false);
    guest.write(ICR, RX | RT);
    assert!(guest.uart.interrupt(), "nobody has seen b");
    // What the guest has seen it may clear.
    assert_eq!(guest.read(FR) & FR_RXFE, 0);
    guest.write(ICR, RX | RT);
    assert!(!guest.uart.interrupt());
    for byte in 0..FIFO as u8 {
        guest.uart.receive(byte, false);
    }
    guest.write(ICR, RX | RT);
    assert_eq!(guest.read(RIS) & (RX | RT), RX | RT);
}
