//! Two interrupt controllers of type 8259, the second one at the third input of the first one: what Linux uses of them.
//!
//! All inputs are edges. There is no polling, no rotation of priorities and no end of interrupt by itself.

/// The input of the first controller at which the second one is.
const CASCADE: u8 = 2;

/// Both controllers.
#[derive(Debug, Default)]
pub struct Interrupts([Controller; 2]);

#[derive(Debug, Default)]
struct Controller {
    /// One bit for each input: it has risen, it is masked, its interrupt is being served.
    requested: u8,
    masked: u8,
    served: u8,
    /// The vector of input 0.
    base: u8,
    /// The word of an initialisation that comes next; 0: none.
    next: u8,
    /// The initialisation has a fourth word.
    has_fourth: bool,
    /// Reads of the command port show `served`, and not `requested`.
    shows_served: bool,
}

impl Controller {
    /// Returns the input whose interrupt comes next, if there is one: lower numbers come first, and only those that come
    /// before all that are being served.
    fn next_input(&self, requested: u8) -> Option<u8> {
        let waiting = (requested & !self.masked).trailing_zeros() as u8;
        (waiting < 8 && u32::from(waiting) < self.served.trailing_zeros()).then_some(waiting)
    }

    fn acknowledge(&mut self, input: u8) -> u8 {
        self.requested &= !(1 << input);
        self.served |= 1 << input;
        self.base | input
    }

    fn command(&mut self, value: u8) {
        if value & 0x10 != 0 {
            *self = Self { next: 2, has_fourth: value & 1 != 0, ..Self::default() };
        } else if value & 0x08 != 0 {
            if value & 2 != 0 {
                self.shows_served = value & 1 != 0;
            }
        } else if value & 0x60 == 0x60 {
            self.served &= !(1 << (value & 7));
        } else if value & 0x20 != 0 {
            // The first one that is being served.
            self.served &= self.served.wrapping_sub(1);
        }
    }

    fn data(&mut self, value: u8) {
        match std::mem::take(&mut self.next) {
            2 => (self.base, self.next) = (value & 0xf8, 3),
            3 if self.has_fourth => self.next = 4,
            3 | 4 => {}
            _ => self.masked = value,
        }
    }
}

impl Interrupts {
    /// An input (0 to 15) rises.
    pub fn rise(&mut self, input: u8) {
        self.0[usize::from(input / 8) % 2].requested |= 1 << (input % 8);
    }

    /// Returns true if an input can interrupt, now or when its turn comes.
    pub fn is_open(&self, input: u8) -> bool {
        self.0[usize::from(input / 8) % 2].masked & 1 << (input % 8) == 0
    }

    /// Returns true if there is an interrupt for the CPU.
    pub fn is_pending(&self) -> bool {
        self.next_input().is_some()
    }

    fn next_input(&self) -> Option<u8> {
        let [first, second] = &self.0;
        let cascade = u8::from(second.next_input(second.requested).is_some()) << CASCADE;
        first.next_input(first.requested & !(1 << CASCADE) | cascade)
    }

    /// The CPU takes the interrupt that comes next. Returns its vector.
    pub fn acknowledge(&mut self) -> Option<u8> {
        let input = self.next_input()?;
        let [first, second] = &mut self.0;
        let vector = first.acknowledge(input);
        match input {
            CASCADE => {
                let input = second.next_input(second.requested)?;
                Some(second.acknowledge(input))
            }
            _ => Some(vector),
        }
    }

    /// Reads a register: `second` names the controller, `data` the port.
    pub fn read(&self, second: bool, data: bool) -> u8 {
        let controller = &self.0[usize::from(second)];
        match (data, controller.shows_served) {
            (true, _) => controller.masked,
            (false, true) => controller.served,
            (false, false) => controller.requested,
        }
    }

    /// Writes a register.
    pub fn write(&mut self, second: bool, data: bool, value: u8) {
        let controller = &mut self.0[usize::from(second)];
        match data {
            true => controller.data(value),
            false => controller.command(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Initialised as by Linux: vectors from 0x30, everything masked.
    fn initialised() -> Interrupts {
        let mut it = Interrupts::default();
        for (second, base) in [(false, 0x30), (true, 0x38)] {
            it.write(second, false, 0x11);
            for word in [base, if second { 2 } else { 4 }, 1, 0xff] {
                it.write(second, true, word);
            }
            assert_eq!(it.read(second, true), 0xff);
        }
        it
    }

    #[test]
    fn interrupts_come_in_their_order_and_wait_for_the_end_of_others() {
        let mut it = initialised();
        [0, 4, 9].into_iter().for_each(|input| it.rise(input));
        assert!(!it.is_pending() && !it.is_open(4) && it.acknowledge().is_none());
        it.write(false, true, !(1 | 1 << 4 | 1 << CASCADE));
        it.write(true, true, !(1 << 1));
        assert!(it.is_open(9));
        assert_eq!(it.acknowledge(), Some(0x30));
        // Served until the end of interrupt, and others come later.
        assert!(!it.is_pending());
        it.rise(0);
        assert!(!it.is_pending());
        it.write(false, false, 0x60);
        assert_eq!(it.acknowledge(), Some(0x30));
        it.write(false, false, 0x20);
        assert_eq!(it.acknowledge(), Some(0x39));
        assert!(!it.is_pending());
        it.write(true, false, 0x61);
        it.write(false, false, 0x62);
        assert_eq!(it.acknowledge(), Some(0x34));
        it.write(false, false, 0x0b);
        assert_eq!(it.read(false, false), 1 << 4);
        it.write(false, false, 0x64);
        assert_eq!((it.read(false, false), it.acknowledge()), (0, None));
    }
}
