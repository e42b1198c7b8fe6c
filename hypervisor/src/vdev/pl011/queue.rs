//! A queue of bytes in a fixed array.

pub(super) struct Queue<const N: usize> {
    bytes: [u8; N],
    start: usize,
    length: usize,
}

impl<const N: usize> Queue<N> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; N], start: 0, length: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Appends a byte; false if the queue is full.
    pub(super) fn push(&mut self, byte: u8) -> bool {
        if self.length == N {
            return false;
        }
        self.bytes[(self.start + self.length) % N] = byte;
        self.length += 1;
        true
    }

    pub(super) fn front(&self) -> Option<u8> {
        (self.length > 0).then(|| self.bytes[self.start % N])
    }

    pub(super) fn pop(&mut self) -> Option<u8> {
        let byte = self.front()?;
        self.start = (self.start + 1) % N;
        self.length -= 1;
        Some(byte)
    }
}
