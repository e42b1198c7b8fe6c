//! The devices at the ports of the machine.

use super::interrupts::Interrupts;
use super::serial::Port;
use super::timer::Timer;

/// Inputs of the interrupt controllers.
const TIMER_INPUT: u8 = 0;
const SERIAL_INPUT: u8 = 4;

/// All devices.
#[derive(Debug, Default)]
pub struct Board {
    pub interrupts: Interrupts,
    pub timer: Timer,
    pub serial: Port,
}

impl Board {
    /// Lets the devices see the time.
    pub fn look(&mut self, now: u64) {
        if self.timer.take_ends(now) {
            self.interrupts.rise(TIMER_INPUT);
        }
    }

    /// Returns the time of the next interrupt that does not come from an access.
    pub fn next_interrupt(&self) -> Option<u64> {
        self.timer.next_end().filter(|_| self.interrupts.is_open(TIMER_INPUT))
    }

    /// Writes a byte to a port; nothing is behind most ports. Returns true if that resets the machine.
    pub fn write(&mut self, port: u16, value: u8, now: u64) -> bool {
        match port {
            0x20 | 0x21 | 0xa0 | 0xa1 => {
                self.interrupts.write(port & 0x80 != 0, port & 1 != 0, value);
            }
            0x40..=0x43 => self.timer.write((port & 3) as u8, value, now),
            0x61 => self.timer.set_gate(value & 1 != 0, now),
            // The keyboard controller resets the CPU, as does the chip set.
            0x64 => return value == 0xfe,
            0xcf9 => return value & 4 != 0,
            0x3f8..=0x3ff => self.serial.write((port & 7) as u8, value),
            _ => {}
        }
        if self.serial.take_interrupt() {
            self.interrupts.rise(SERIAL_INPUT);
        }
        false
    }

    /// Reads a byte from a port: where nothing is, all bits are set.
    pub fn read(&mut self, port: u16, now: u64) -> u8 {
        match port {
            0x20 | 0x21 | 0xa0 | 0xa1 => self.interrupts.read(port & 0x80 != 0, port & 1 != 0),
            0x40..=0x43 => self.timer.read((port & 3) as u8, now),
            0x61 => {
                let (gate, output) = self.timer.third(now);
                u8::from(gate) | u8::from(output) << 5
            }
            // No keyboard controller, but one bit of it says that it takes commands: who resets the machine does not wait.
            0x64 => !2,
            // A clock that keeps no time, which Linux notices at once; the time of the day comes from KVM.
            0x71 => 0,
            0x3f8..=0x3ff => self.serial.read((port & 7) as u8),
            _ => 0xff,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_come_from_the_timer_and_the_serial_port() {
        let mut board = Board::default();
        for (port, value) in [(0x20, 0x11), (0x21, 0x30), (0x21, 4), (0x21, 1), (0x21, 0xff)] {
            assert!(!board.write(port, value, 0));
        }
        for (port, value) in [(0x43, 0x38), (0x40, 0xa9), (0x40, 0x04), (0x3f9, 2)] {
            assert!(!board.write(port, value, 0));
        }
        assert_eq!(board.next_interrupt(), None, "it is masked");
        board.write(0x21, !1 & !(1 << 4), 0);
        let next = board.next_interrupt().expect("the timer counts");
        assert_eq!(board.interrupts.acknowledge(), Some(0x34));
        board.look(next - 1);
        assert!(!board.interrupts.is_pending());
        board.look(next);
        assert_eq!((board.interrupts.acknowledge(), board.next_interrupt()), (Some(0x30), None));
    }

    #[test]
    fn the_keyboard_controller_and_the_chip_set_reset_the_machine() {
        let mut board = Board::default();
        let resets = [(0x64, 0xfe), (0xcf9, 6), (0x64, 0x20), (0xcf9, 2), (0x80, 0xfe)]
            .map(|(port, value)| board.write(port, value, 0));
        assert_eq!(resets, [true, true, false, false, false]);
        // A driver waits until bit 1 is clear, and finds no controller if bit 0 never is.
        assert_eq!((board.read(0x64, 0) & 3, board.read(0xcfc, 0)), (1, 0xff));
    }
}
