//! The multiplexer: which source's bytes go to the terminal next, and how they look.
//!
//! Sources take turns. A turn of a VM lasts for one line, or for what the ring held when
//! the turn began if that has no line end; a turn of the hypervisor for all its lines. Before another
//! source's bytes go out, an open line is ended: no line of the terminal ever has two owners.
//!
//! A message of the hypervisor comes after the lines that VMs had written by then, so that the
//! report of a VM's end follows its last words. They are at most what the rings hold.

use abi::console::END_OF_RAW;
use abi::console::render::{Piece, Renderer};

use super::names::Names;
use super::ring::Ring;
use super::sources::{HYPERVISOR, SOURCES, Sources};
use super::staging::Staging;
use super::{MAX_VMS, View};

/// Most bytes taken out of a ring while its lock is held.
const CHUNK: usize = 16;

/// The time at which a source's incomplete line was seen first.
#[derive(Clone, Copy)]
struct Idle {
    // What `Ring::pushed` said then.
    pushed: u32,
    since: u64,
}

pub(super) struct Mux {
    pub(super) names: Names,
    /// Bytes that the UART gets next.
    pub(super) staging: Staging,
    /// The last setting of the UART's transmit interrupt.
    pub(super) interrupt: bool,
    view: View,
    // The source whose line the terminal's cursor stands in; none at the start of a line.
    open: Option<usize>,
    // The source whose turn it is, and the bytes left in its turn.
    turn: usize,
    left: usize,
    // A message of the hypervisor waits until these VMs have shown what they had written when it
    // came, that is up to a count of `Ring::popped`.
    message_waits: bool,
    earlier: u16,
    earlier_until: [u32; MAX_VMS],
    renderers: [Renderer; SOURCES],
    idle: [Option<Idle>; SOURCES],
    end_raw: bool,
    hidden_lines: u64,
}

impl Mux {
    pub(super) const fn new() -> Self {
        Self {
            names: Names::NONE,
            staging: Staging::new(),
            interrupt: false,
            view: View::All,
            open: None,
            turn: HYPERVISOR,
            left: 0,
            message_waits: false,
            earlier: 0,
            earlier_until: [0; MAX_VMS],
            renderers: [Renderer::new(); SOURCES],
            idle: [None; SOURCES],
            end_raw: false,
            hidden_lines: 0,
        }
    }

    pub(super) fn view(&self) -> View {
        self.view
    }

    /// Returns true if the terminal's cursor stands in a line of `source`.
    pub(super) fn is_open(&self, source: usize) -> bool {
        self.open == Some(source)
    }

    /// Changes the view; returns the number of lines that the old one did not show.
    pub(super) fn set_view(&mut self, view: View, sources: &Sources) -> u64 {
        if self.view == view {
            return 0;
        }
        self.end_raw |= matches!(self.view, View::Focus(_));
        self.view = view;
        self.left = 0;
        if let View::Focus(vm) = view {
            sources.set_eager(Some(vm));
            sources.force(vm, &sources.lock(vm));
        }
        core::mem::take(&mut self.hidden_lines)
    }

    /// Fills the staging buffer, which must be empty. Returns the steps that took: one for each byte
    /// taken and at least one, or none if no source has anything to show.
    ///
    /// Bounded: at most [`CHUNK`] bytes are taken from one ring, which may
    /// leave the buffer empty although there is more.
    #[inline]
    pub(super) fn refill(&mut self, sources: &Sources) -> usize {
        if self.has_more(sources) { self.fill(sources).max(1) } else { 0 }
    }

    /// Returns true if there is something to fill the staging buffer with.
    pub(super) fn has_more(&self, sources: &Sources) -> bool {
        self.end_raw || self.left > 0 || sources.ready() != 0
    }

    fn fill(&mut self, sources: &Sources) -> usize {
        if core::mem::take(&mut self.end_raw) {
            self.staging.extend(END_OF_RAW.as_bytes());
            self.open = None;
            return 0;
        }
        let begins = self.left == 0;
        if begins {
            match next(self.candidates(sources), self.turn) {
                Some(source) => self.turn = source,
                None => return 0,
            }
        }
        let source = self.turn;
        // Its VM is writing: who does so sends afterwards, or the UART's interrupt.
        let Some(mut ring) = sources.try_lock(source) else { return 0 };
        if begins {
            self.left = ring.len();
        }
        let mut taken = 0;
        if self.is_hidden(source) {
            self.hidden_lines += u64::from(ring.discard());
            self.renderers[source] = Renderer::new();
            self.left = 0;
        } else {
            taken = self.take(source, &mut ring);
        }
        if source == HYPERVISOR {
            ring.report_lost();
        }
        self.note_shown(source, &ring);
        if self.left == 0 {
            sources.set_eager(match self.view {
                View::Focus(vm) => Some(vm),
                View::All => self.open,
            });
            sources.end_turn(source, &ring);
        }
        sources.taken(source, &mut ring);
        taken
    }

    /// The ready sources, without the hypervisor while its message waits for earlier output.
    fn candidates(&mut self, sources: &Sources) -> u16 {
        const MESSAGE: u16 = 1 << HYPERVISOR;
        let ready = sources.ready();
        if ready & MESSAGE == 0 {
            return ready;
        }
        if !self.message_waits {
            for vm in (0..MAX_VMS).filter(|vm| ready & 1 << vm != 0) {
                // If its VM is writing, the message waits until somebody looks again.
                let Some(ring) = sources.try_lock(vm) else { return ready & !MESSAGE };
                self.earlier_until[vm] = ring.pushed();
            }
            self.message_waits = true;
            self.earlier = ready & !MESSAGE;
        }
        // A VM that is not ready has shown all its lines.
        self.earlier &= ready;
        if self.earlier != 0 { ready & !MESSAGE } else { ready }
    }

    fn note_shown(&mut self, source: usize, ring: &Ring) {
        match self.earlier_until.get(source) {
            Some(until) if ring.has_popped(*until) => self.earlier &= !(1 << source),
            Some(_) => {}
            None => self.message_waits = false,
        }
    }

    fn take(&mut self, source: usize, ring: &mut Ring) -> usize {
        if self.open.is_some_and(|open| open != source) {
            self.staging.extend(b"\r\n");
            self.open = None;
        }
        let raw = self.view == View::Focus(source);
        for taken in 0..CHUNK {
            if self.left == 0 || !self.staging.takes_more() {
                return taken;
            }
            let Some(byte) = ring.pop() else {
                self.left = 0;
                return taken;
            };
            self.left -= 1;
            // Most bytes are shown as they are: text within a line.
            if raw || self.is_plain(source, byte) {
                self.staging.push(byte);
                self.open = (byte != b'\n').then_some(source);
            } else {
                self.show(source, byte);
                if byte == b'\n' && source != HYPERVISOR {
                    self.left = 0;
                }
            }
        }
        CHUNK
    }

    fn is_plain(&self, source: usize, byte: u8) -> bool {
        matches!(byte, b' '..=b'~')
            && self.open == Some(source)
            && self.renderers[source].is_in_text()
    }

    fn show(&mut self, source: usize, byte: u8) {
        let piece = self.renderers[source].render(byte);
        let restart = matches!(piece, Piece::Text { restart: true, .. }) && self.open.is_some();
        if restart {
            self.staging.push(b'\r');
        }
        if piece != Piece::Nothing && (restart || self.open.is_none()) {
            for part in self.names.label(source) {
                self.staging.extend(part);
            }
            self.open = Some(source);
        }
        match piece {
            Piece::Nothing => {}
            Piece::LineEnd => {
                self.staging.extend(b"\r\n");
                self.open = None;
            }
            Piece::Text { characters: (text, length), .. } => self.staging.extend(&text[..length]),
        }
    }

    fn is_hidden(&self, source: usize) -> bool {
        matches!(self.view, View::Focus(vm) if source != vm && source != HYPERVISOR)
    }

    /// Marks incomplete lines as ready that did not change for `idle` ticks.
    ///
    /// Returns when to look again, if there are younger ones.
    pub(super) fn show_idle(&mut self, sources: &Sources, now: u64, idle: u64) -> Option<u64> {
        sources.set_partial(false);
        let mut again: Option<u64> = None;
        let ready = sources.ready();
        for source in 0..SOURCES {
            let ring = sources.lock(source);
            if ring.len() == 0 || ready & 1 << source != 0 {
                self.idle[source] = None;
                continue;
            }
            let seen = match self.idle[source] {
                Some(seen) if seen.pushed == ring.pushed() => seen,
                _ => Idle { pushed: ring.pushed(), since: now },
            };
            if now.saturating_sub(seen.since) >= idle {
                sources.force(source, &ring);
                self.idle[source] = None;
            } else {
                self.idle[source] = Some(seen);
                let due = seen.since.saturating_add(idle);
                again = Some(again.map_or(due, |again| again.min(due)));
            }
        }
        if again.is_some() {
            sources.set_partial(true);
        }
        again
    }

    /// Shows everything that is there, complete or not.
    pub(super) fn show_all(&mut self, sources: &Sources) {
        for source in 0..SOURCES {
            sources.force(source, &sources.lock(source));
        }
    }
}

/// The first ready source after `turn`, in a circle.
fn next(ready: u16, turn: usize) -> Option<usize> {
    let ready = u32::from(ready);
    let later = ready & !0 << (turn + 1);
    let chosen = if later != 0 { later } else { ready };
    (chosen != 0).then(|| chosen.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_sources_take_turns() {
        assert_eq!(next(0, 3), None);
        assert_eq!(next(0b1_0000_0101, 0), Some(2));
        assert_eq!(next(0b1_0000_0101, 2), Some(8));
        assert_eq!(next(0b1_0000_0101, 8), Some(0));
        assert_eq!(next(0b0_0000_0100, 2), Some(2));
    }
}
