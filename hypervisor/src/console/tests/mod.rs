//! The console on a UART made of memory.

mod lines;
mod races;
mod views;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use super::*;

/// A UART whose FIFO drains when the test says so.
#[derive(Clone)]
struct FakeUart(Arc<Mutex<State>>);

struct State {
    fifo: VecDeque<u8>,
    capacity: usize,
    wire: Vec<u8>,
    input: VecDeque<Input>,
    transmit_interrupt: bool,
    /// Happens once, when the transmit interrupt is disabled.
    when_disabled: Option<Box<dyn FnOnce() + Send>>,
}

impl FakeUart {
    fn new(capacity: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            fifo: VecDeque::new(),
            capacity,
            wire: Vec::new(),
            input: VecDeque::new(),
            transmit_interrupt: false,
            when_disabled: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Moves up to `count` bytes from the FIFO to the wire.
    fn drain(&self, count: usize) {
        let state = &mut *self.state();
        let count = count.min(state.fifo.len());
        state.wire.extend(state.fifo.drain(..count));
    }

    fn sent(&self) -> usize {
        let state = self.state();
        state.wire.len() + state.fifo.len()
    }

    fn wants_to_send(&self) -> bool {
        self.state().transmit_interrupt
    }

    fn type_in(&self, keys: &[u8]) {
        self.state().input.extend(keys.iter().map(|&byte| Input { byte, overrun: false }));
    }
}

impl Uart for FakeUart {
    fn can_send(&self) -> bool {
        let state = self.state();
        state.fifo.len() < state.capacity
    }

    fn send(&self, byte: u8) {
        let mut state = self.state();
        assert!(state.fifo.len() < state.capacity, "sent into a full FIFO");
        state.fifo.push_back(byte);
    }

    fn receive(&self) -> Option<Input> {
        self.state().input.pop_front()
    }

    fn set_interrupts(&self, transmit: bool) {
        self.state().transmit_interrupt = transmit;
        let happens = if transmit { None } else { self.state().when_disabled.take() };
        if let Some(happens) = happens {
            happens();
        }
    }
}

/// A live console of VMs "linux", "rt", "three" on a UART with a FIFO of `capacity` bytes.
fn console(capacity: usize) -> (Console<FakeUart>, FakeUart) {
    let uart = FakeUart::new(capacity);
    let console = Console::new();
    console.set_vms(["linux", "rt", "three"]);
    console.attach(uart.clone());
    console.go_live();
    (console, uart)
}

/// Serves the UART until it has nothing more to send; returns the input that arrived.
fn settle(console: &Console<FakeUart>, uart: &FakeUart) -> Vec<(usize, u8)> {
    let mut received = Vec::new();
    for _ in 0..100_000 {
        uart.drain(usize::MAX);
        if !uart.wants_to_send() && uart.state().input.is_empty() {
            return received;
        }
        console.on_uart_interrupt(|vm, input| received.push((vm, input.byte)));
    }
    panic!("the transmit interrupt stays enabled");
}

/// All that the terminal got so far, and forgets it.
fn shown(console: &Console<FakeUart>, uart: &FakeUart) -> String {
    settle(console, uart);
    String::from_utf8(core::mem::take(&mut uart.state().wire)).unwrap()
}
