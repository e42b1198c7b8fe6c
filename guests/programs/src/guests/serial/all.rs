//! All lines of a VM at once: bytes are sent and read at each, and its interrupt comes and goes. So the other ends tell something
//! at all of them, and there is something to tell at each. In between the guest reads memory, so that a budget of accesses is
//! used up.

use core::hint::black_box;
use core::sync::atomic::Ordering::Relaxed;

use rt::arch::counter;
use rt::arch::ram::Arena;
use rt::arguments;
use rt::serial::Port;

/// Bytes that are sent to each line, or read from it, one after the other.
const BYTES: u64 = 48;

/// The memory that it reads: more than the last-level cache holds, a line of 64 bytes each.
const BYTES_READ: u64 = 2 << 20;
const LINE_WORDS: usize = 8;
/// Lines that it reads each time.
const READS: usize = 600;

/// Sends to the first ones of the VM's lines and reads from them until this time, and returns the numbers of bytes sent and
/// received.
pub fn run(lines: u64, end: u64) -> [u64; 2] {
    let [mut sent, mut received] = [0; 2];
    let arena = arguments::ram_bytes_of_tree().and_then(Arena::take);
    let Some(memory) = arena.and_then(|mut arena| arena.allocate(BYTES_READ, 64)) else {
        return [0; 2];
    };
    let mut memory = memory.iter().step_by(LINE_WORDS).cycle();
    for line in 0..lines {
        let _opened = Port::open(line as usize);
    }
    while counter::now() < end {
        black_box(memory.by_ref().take(READS).map(|line| line.load(Relaxed)).sum::<u64>());
        for line in 0..lines {
            let Some(port) = Port::of(line as usize) else { continue };
            port.listen(true);
            for byte in 0..BYTES {
                sent += u64::from(port.send(byte as u8));
            }
            port.listen(false);
        }
        for line in 0..lines {
            let Some(port) = Port::of(line as usize) else { continue };
            received += (0..2 * BYTES).map_while(|_| port.receive()).count() as u64;
        }
    }
    [sent, received]
}
