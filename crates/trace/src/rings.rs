//! Reads the rings of the hypervisor out of the RAM of a machine that runs.

use std::io;

use abi::trace::descriptor::{
    ADDRESS_WORD, FREQUENCY_WORD, MAGIC, MAGIC_WORD, PAGE_BYTES, RECORDS_WORD, RING_PAGES,
    RINGS_MAX, RINGS_WORD, VERSION, VERSION_WORD, WORDS, ring_word,
};
use abi::trace::{RECORD_BYTES, RING_RECORDS, Record};

/// The RAM of a machine.
pub trait Ram {
    /// Copies bytes from an address of the machine.
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()>;
}

/// The reason why the rings cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RingsError {
    /// The RAM cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The hypervisor is of another version.
    #[error(
        "the hypervisor has version {0} of the descriptor, {VERSION} is known: build both anew"
    )]
    Version(u64),
    /// The descriptor contains an impossible value.
    #[error("the descriptor of the rings makes no sense: {0}")]
    Descriptor(&'static str),
}

/// The rings of a machine, and how far they were read.
#[derive(Debug)]
pub struct Rings {
    frequency_hz: u64,
    rings: Vec<Ring>,
}

#[derive(Debug)]
struct Ring {
    counter: u64,
    /// Addresses of the first record and of all further pages.
    pages: Vec<u64>,
    /// Number of the next record to read.
    next: u64,
}

impl Rings {
    /// Looks for the descriptor on pages of the hypervisor, given by their addresses. `None`:
    /// it is not there, or not yet.
    pub fn find(
        ram: &impl Ram,
        pages: impl IntoIterator<Item = u64>,
    ) -> Result<Option<Self>, RingsError> {
        for page in pages {
            if word(ram, page + 8 * MAGIC_WORD as u64)? == MAGIC {
                let mut bytes = [0; PAGE_BYTES];
                ram.read(page, &mut bytes)?;
                let mut words = [0; WORDS];
                for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                if words[ADDRESS_WORD] == page {
                    return Self::from_words(&words).map(Some);
                }
            }
        }
        Ok(None)
    }

    fn from_words(words: &[u64; WORDS]) -> Result<Self, RingsError> {
        let (version, count) = (words[VERSION_WORD], words[RINGS_WORD]);
        if version != VERSION {
            return Err(RingsError::Version(version));
        }
        if count == 0 || count > RINGS_MAX as u64 {
            return Err(RingsError::Descriptor("the number of rings"));
        }
        if words[RECORDS_WORD] != RING_RECORDS as u64 {
            return Err(RingsError::Descriptor("the length of the rings"));
        }
        if words[FREQUENCY_WORD] == 0 {
            return Err(RingsError::Descriptor("the frequency of the counter"));
        }
        let rings = (0..count as usize).map(|index| {
            let at = ring_word(index);
            Ring { counter: words[at], pages: words[at + 1..][..RING_PAGES].to_vec(), next: 0 }
        });
        Ok(Self { frequency_hz: words[FREQUENCY_WORD], rings: rings.collect() })
    }

    /// Returns the frequency of the machine's counter in Hz.
    pub fn frequency_hz(&self) -> u64 {
        self.frequency_hz
    }

    /// Returns the number of rings, which is that of the PCPUs.
    pub fn count(&self) -> usize {
        self.rings.len()
    }

    /// Reads what a PCPU has written since the last time. Returns how many records were
    /// overwritten before they were read; `records` holds those behind them.
    pub fn poll(
        &mut self,
        ram: &impl Ram,
        pcpu: usize,
        records: &mut Vec<Record>,
    ) -> io::Result<u64> {
        records.clear();
        let Some(ring) = self.rings.get_mut(pcpu) else { return Ok(0) };
        let written = word(ram, ring.counter)?;
        let first = ring.next.max(written.saturating_sub(RING_RECORDS as u64));
        ring.copy(ram, first, written, records)?;
        // What was overwritten meanwhile is not what it was.
        let now = word(ram, ring.counter)?;
        let kept = first.max((now + 1).saturating_sub(RING_RECORDS as u64)).min(written);
        records.drain(..(kept - first.min(kept)) as usize);
        let lost = kept.saturating_sub(ring.next);
        ring.next = written.max(ring.next);
        Ok(lost)
    }
}

impl Ring {
    fn copy(
        &self,
        ram: &impl Ram,
        first: u64,
        end: u64,
        records: &mut Vec<Record>,
    ) -> io::Result<()> {
        let start = (self.pages[0] % PAGE_BYTES as u64) as usize;
        let mut number = first;
        let mut bytes = [0; PAGE_BYTES];
        while number < end {
            let offset = start + (number % RING_RECORDS as u64) as usize * RECORD_BYTES;
            let (page, place) = (offset / PAGE_BYTES, offset % PAGE_BYTES);
            // To the end of the page, of the ring, or of what was written.
            let in_page = (PAGE_BYTES - place) / RECORD_BYTES;
            let in_ring = RING_RECORDS - (number % RING_RECORDS as u64) as usize;
            let count = (in_page.min(in_ring) as u64).min(end - number) as usize;
            let bytes = &mut bytes[..count * RECORD_BYTES];
            let base = self.pages[page] / PAGE_BYTES as u64 * PAGE_BYTES as u64;
            ram.read(base + place as u64, bytes)?;
            records.extend(bytes.as_chunks::<RECORD_BYTES>().0.iter().map(|bytes| {
                let number = u128::from_le_bytes(*bytes);
                Record { ticks: number as u64, what: (number >> 64) as u64 }
            }));
            number += count as u64;
        }
        Ok(())
    }
}

fn word(ram: &impl Ram, address: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    ram.read(address, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use abi::trace::Kind;

    use super::*;

    const BASE: u64 = 0x4000_0000;
    const COUNTER: u64 = BASE + 0x1008;
    const DESCRIPTOR: u64 = BASE + 0x3000;
    /// Offset of the ring in its first page.
    const START: usize = 0x230;

    /// RAM with one ring on scattered pages.
    struct Machine {
        bytes: RefCell<Vec<u8>>,
        /// Records that are written when the counter is read for the second time.
        meanwhile: Cell<u64>,
        looks: Cell<u64>,
    }

    impl Machine {
        fn new() -> Self {
            let bytes = RefCell::new(vec![0; 0x80_000]);
            let machine = Self { bytes, meanwhile: Cell::new(0), looks: Cell::new(0) };
            let mut words = vec![(ADDRESS_WORD, DESCRIPTOR), (VERSION_WORD, VERSION)];
            words.extend([(FREQUENCY_WORD, 1_000), (RINGS_WORD, 1), (MAGIC_WORD, MAGIC)]);
            words.extend([(RECORDS_WORD, RING_RECORDS as u64), (ring_word(0), COUNTER)]);
            words.extend((0..RING_PAGES).map(|page| (ring_word(0) + 1 + page, frame(page))));
            for (word, value) in words {
                machine.set(DESCRIPTOR + 8 * word as u64, value);
            }
            machine
        }

        fn set(&self, address: u64, value: u64) {
            let at = (address - BASE) as usize;
            self.bytes.borrow_mut()[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }

        fn counter(&self) -> u64 {
            let at = (COUNTER - BASE) as usize;
            u64::from_le_bytes(self.bytes.borrow()[at..at + 8].try_into().expect("8 bytes"))
        }

        fn write(&self, count: u64) {
            for number in self.counter()..self.counter() + count {
                let offset = START + (number % RING_RECORDS as u64) as usize * RECORD_BYTES;
                let base = frame(offset / PAGE_BYTES) / PAGE_BYTES as u64 * PAGE_BYTES as u64;
                let address = base + (offset % PAGE_BYTES) as u64;
                let record = Record::new(number, Kind::ExitIrq, 0, 0, number);
                self.set(address, record.ticks);
                self.set(address + 8, record.what);
                self.set(COUNTER, number + 1);
            }
        }
    }

    /// Every second page from the end of the RAM on.
    fn frame(page: usize) -> u64 {
        let frame = BASE + 0x7_0000 - 0x2000 * page as u64;
        if page == 0 { frame + START as u64 } else { frame }
    }

    impl Ram for Machine {
        fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
            if address == COUNTER {
                self.looks.set(self.looks.get() + 1);
                if self.looks.get().is_multiple_of(2) {
                    self.write(self.meanwhile.take());
                }
            }
            let at = (address - BASE) as usize;
            bytes.copy_from_slice(&self.bytes.borrow()[at..at + bytes.len()]);
            Ok(())
        }
    }

    fn rings(machine: &Machine) -> Rings {
        let pages = (BASE..BASE + 0x8000).step_by(PAGE_BYTES);
        Rings::find(machine, pages).expect("a good descriptor").expect("there is one")
    }

    #[test]
    fn all_records_come_once_and_in_order() {
        let machine = Machine::new();
        let mut rings = rings(&machine);
        assert_eq!((rings.count(), rings.frequency_hz()), (1, 1_000));
        let (mut records, mut expected) = (Vec::new(), 0);
        for count in [0, 1, 17, 4_000, 4_095, 300, 4_095] {
            machine.write(count);
            assert_eq!(rings.poll(&machine, 0, &mut records).expect("RAM"), 0);
            assert_eq!(records.len() as u64, count);
            for record in &records {
                assert_eq!((record.ticks, record.argument()), (expected, expected));
                expected += 1;
            }
        }
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let machine = Machine::new();
        let mut rings = rings(&machine);
        let mut records = Vec::new();
        machine.write(2 * RING_RECORDS as u64 + 5);
        let lost = rings.poll(&machine, 0, &mut records).expect("RAM");
        // The oldest record is the one that the next record would overwrite.
        assert_eq!(lost, RING_RECORDS as u64 + 6);
        assert_eq!(records.first().map(|record| record.ticks), Some(lost));
        // Records are overwritten while they are copied.
        machine.write(4_000);
        machine.meanwhile.set(200);
        let lost = rings.poll(&machine, 0, &mut records).expect("RAM");
        assert_eq!(lost, 4_200 + 1 - RING_RECORDS as u64);
        assert_eq!(records.len() as u64, 4_000 - lost);
        assert_eq!(rings.poll(&machine, 0, &mut records).expect("RAM"), 0);
        assert_eq!(records.len(), 200);
        // All of them.
        machine.write(10);
        machine.meanwhile.set(2 * RING_RECORDS as u64);
        assert_eq!(rings.poll(&machine, 0, &mut records).expect("RAM"), 10);
        assert!(records.is_empty());
    }

    #[test]
    fn copies_of_the_descriptor_elsewhere_are_ignored() {
        let machine = Machine::new();
        machine.set(DESCRIPTOR + 8 * ADDRESS_WORD as u64, DESCRIPTOR + 0x1000);
        let pages = (BASE..BASE + 0x8000).step_by(PAGE_BYTES);
        assert!(Rings::find(&machine, pages).expect("no descriptor").is_none());
    }

    #[test]
    fn descriptors_that_make_no_sense_are_refused() {
        for (word, value) in [(RINGS_WORD, 0), (RINGS_WORD, 99), (RECORDS_WORD, 7)] {
            let machine = Machine::new();
            machine.set(DESCRIPTOR + 8 * word as u64, value);
            let error = Rings::find(&machine, [DESCRIPTOR]).expect_err("refused");
            assert!(matches!(error, RingsError::Descriptor(_)), "{error}");
        }
        let machine = Machine::new();
        machine.set(DESCRIPTOR + 8 * VERSION_WORD as u64, VERSION + 1);
        let error = Rings::find(&machine, [DESCRIPTOR]).expect_err("refused");
        assert!(matches!(error, RingsError::Version(found) if found == VERSION + 1), "{error}");
    }
}
