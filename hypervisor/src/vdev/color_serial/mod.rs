//! The serial port on which closed guests ask for colours (vCache, section 4.2.2).
//!
//! A task that can neither call the hypervisor nor map the doorbell writes a line to an ordinary
//! UART, `colors 8-11` or `colors none`, and busy-waits for the answer. The port does not know the
//! task: so for [`WINDOW_MS`] milliseconds the VM's VCPUs are sampled, and the most frequent
//! address space is taken for the task's, if it is frequent enough. Then its pages move, and the
//! answer is `ok <pages>`, or `error <word>`. If no address space is frequent enough there is no
//! answer, and the task asks again.
//!
//! This is the port as a state machine; `vm/color_serial.rs` drives it.

mod line;
mod samples;
#[cfg(test)]
mod tests;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use abi::hypercall::Error;
use policy::color::ColorSet;

use super::pl011::Pl011;
use line::{Command, LineReader};
use samples::Samples;

/// Time for which VCPUs are sampled in milliseconds: *T* of the paper.
pub const WINDOW_MS: u64 = 10;
/// Number of samples of a VCPU in this time: *T / T'*.
pub const SAMPLES: u64 = 100;

/// A second UART of a VM.
pub struct ColorSerial {
    uart: Pl011,
    line: LineReader,
    state: State,
    /// The samples of each VCPU.
    samples: Vec<Samples>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Sampling(Window),
    Found(Found),
    /// The VCPU on which the task was found does the work.
    Moving,
}

/// The window in which VCPUs are sampled, in counter ticks.
#[derive(Clone, Copy, Debug)]
struct Window {
    start: u64,
    period: u64,
    /// The VCPU that ends it: the one that wrote the line.
    asker: usize,
    colors: ColorSet,
}

/// The address space that asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Found {
    /// The VCPU on which it was seen, and on which its pages are to be moved.
    pub vcpu: usize,
    /// Address of its first translation table.
    pub table: u64,
    /// The requested colours.
    pub colors: ColorSet,
}

/// The consequence of an access or a sample.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// There is nothing to do.
    Nothing,
    /// Every VCPU of the VM has to be sampled from now on ([`ColorSerial::first_sample`]).
    Sample,
    /// This VCPU has to be sampled again, at this time.
    Again(u64),
    /// This VCPU has to take its work ([`ColorSerial::take`]).
    Found(usize),
}

impl ColorSerial {
    /// Makes the port of a VM with `vcpus` VCPUs.
    pub fn new(vcpus: usize) -> Self {
        Self {
            uart: Pl011::new(),
            line: LineReader::new(),
            state: State::Idle,
            samples: vec![Samples::new(); vcpus],
        }
    }

    /// Resets the port, and forgets any request.
    pub fn reset(&mut self) {
        self.uart.reset();
        self.line = LineReader::new();
        self.state = State::Idle;
    }

    /// Returns true if the interrupt line is high; call after every other call.
    pub fn interrupt(&self) -> bool {
        self.uart.interrupt()
    }

    /// Serves a read of the guest, like [`Pl011::read`].
    pub fn read(&mut self, offset: u64, size: usize) -> u64 {
        self.uart.read(offset, size)
    }

    /// Serves a write of the guest, like [`Pl011::write`], by `vcpu` at the time `now` of a counter
    /// with `per_second` ticks per second.
    pub fn write(
        &mut self,
        offset: u64,
        size: usize,
        value: u64,
        vcpu: usize,
        (now, per_second): (u64, u64),
    ) -> Outcome {
        self.uart.write(offset, size, value, &mut self.line);
        match self.line.take() {
            None => Outcome::Nothing,
            Some(Command::Nonsense) => {
                self.send(format_args!("error syntax\n"));
                Outcome::Nothing
            }
            Some(Command::Colors(_)) if !matches!(self.state, State::Idle) => {
                self.answer(Error::Busy as i64);
                Outcome::Nothing
            }
            Some(Command::Colors(colors)) => {
                self.samples.fill(Samples::new());
                let period = (per_second * WINDOW_MS / (1000 * SAMPLES)).max(1);
                self.state = State::Sampling(Window { start: now, period, asker: vcpu, colors });
                Outcome::Sample
            }
        }
    }

    /// Returns the time of the first sample of a VCPU, if VCPUs are sampled. A VCPU that learns of
    /// the window after its end is sampled at once, because the VCPU that asked has to end it.
    pub fn first_sample(&self, now: u64) -> Option<u64> {
        let sampling = matches!(self.state, State::Sampling(_));
        sampling.then(|| self.next_sample(now).unwrap_or(now))
    }

    /// Returns the time of the next sample of a VCPU, if there is one.
    fn next_sample(&self, now: u64) -> Option<u64> {
        let State::Sampling(window) = &self.state else { return None };
        let passed = now.saturating_sub(window.start) / window.period;
        // A late sample does not shift the next ones. The last sample ends the window.
        (passed < SAMPLES).then(|| window.start + (passed + 1) * window.period)
    }

    /// Takes a sample of a VCPU: the first table of the address space that was interrupted at EL0,
    /// or `None` if it was interrupted elsewhere.
    pub fn sample(&mut self, vcpu: usize, now: u64, table: Option<u64>) -> Outcome {
        let State::Sampling(window) = self.state else { return Outcome::Nothing };
        if let (Some(table), Some(samples)) = (table, self.samples.get_mut(vcpu)) {
            samples.add(table);
        }
        if let Some(next) = self.next_sample(now) {
            return Outcome::Again(next);
        }
        if vcpu != window.asker {
            return Outcome::Nothing;
        }
        let winners = self.samples.iter().enumerate().filter_map(|(vcpu, samples)| {
            samples.winner().map(|(table, count)| (count, vcpu, table))
        });
        match winners.max() {
            None => {
                self.state = State::Idle;
                Outcome::Nothing
            }
            Some((_, vcpu, table)) => {
                self.state = State::Found(Found { vcpu, table, colors: window.colors });
                Outcome::Found(vcpu)
            }
        }
    }

    /// Returns the work of a VCPU, if there is some. When the work is complete, or cannot be done,
    /// call [`ColorSerial::finish`].
    pub fn take(&mut self, vcpu: usize) -> Option<Found> {
        match self.state {
            State::Found(found) if found.vcpu == vcpu => {
                self.state = State::Moving;
                Some(found)
            }
            _ => None,
        }
    }

    /// Ends the work with the number of pages, or a negative [`Error`]; `None` if the task has to
    /// ask again.
    pub fn finish(&mut self, result: Option<i64>) {
        // The port may have been reset meanwhile: then no task waits.
        if let State::Moving = self.state {
            self.state = State::Idle;
            if let Some(result) = result {
                self.answer(result);
            }
        }
    }

    fn answer(&mut self, result: i64) {
        match u64::try_from(result) {
            Ok(pages) => self.send(format_args!("ok {pages}\n")),
            Err(_) => self.send(format_args!("error {}\n", word(result))),
        }
    }

    fn send(&mut self, text: fmt::Arguments<'_>) {
        struct Receiver<'a>(&'a mut Pl011);
        impl Write for Receiver<'_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                text.bytes().for_each(|byte| self.0.receive(byte, false));
                Ok(())
            }
        }
        // A guest that does not read loses bytes, as with any UART.
        let _ = Receiver(&mut self.uart).write_fmt(text);
    }
}

/// Returns one word for the reason for which a request was refused.
fn word(error: i64) -> &'static str {
    const WORDS: [(Error, &str); 4] = [
        (Error::Invalid, "invalid"),
        (Error::NoMemory, "no-memory"),
        (Error::Busy, "busy"),
        (Error::BadAddress, "bad-address"),
    ];
    let known = WORDS.iter().find(|(known, _)| *known as i64 == error);
    known.map_or("failed", |(_, word)| word)
}
