//! Whatever a guest does to its virtual PL011, and whatever arrives there: no register is wider than 32 bits, and no
//! byte is sent that was not written.
#![no_main]

use hypervisor::vdev::pl011::{Line, Pl011};

/// A line that takes bytes now and then.
struct Sometimes {
    room: u8,
    sent: usize,
}

impl Line for Sometimes {
    fn send(&mut self, _byte: u8) -> bool {
        let takes = self.room > 0;
        self.room = self.room.saturating_sub(1);
        self.sent += usize::from(takes);
        takes
    }
}

libfuzzer_sys::fuzz_target!(|operations: Vec<(u8, u16, u32)>| {
    let (mut uart, mut line) = (Pl011::new(), Sometimes { room: 0, sent: 0 });
    let mut written = 0;
    for (kind, offset, value) in operations {
        let (offset, size) = (u64::from(offset & 0xfff), 1 << (kind >> 6));
        match kind % 8 {
            0..3 => assert!(uart.read(offset, size) >> 32 == 0),
            3..6 => {
                written += usize::from(offset == 0);
                uart.write(offset, size, value.into(), &mut line);
            }
            6 => uart.receive(value as u8, value >> 8 & 1 != 0),
            _ => {
                line.room = value as u8;
                uart.line_ready(&mut line);
            }
        }
        uart.interrupt();
        assert!(line.sent <= written);
    }
});
