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

    /// The first bytes, as many as lie behind each other.
    pub(super) fn first(&self) -> &[u8] {
        let start = self.start % N;
        &self.bytes[start..N.min(start + self.length)]
    }

    /// Removes the first `bytes` bytes.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.start = (self.start + bytes) % N;
        self.length -= bytes;
    }

    pub(super) fn pop(&mut self) -> Option<u8> {
        let byte = *self.first().first()?;
        self.skip(1);
        Some(byte)
    }
}
