//! Pages by the colour that their frames' numbers suggest.

/// Pages, and the frames behind them.
pub struct Pages<M> {
    /// The pages.
    pub memory: M,
    /// The number of the frame behind each; 0 without one.
    frames: Vec<u64>,
    /// The pages in random order.
    shuffled: Vec<usize>,
}

impl<M> Pages<M> {
    /// Returns the pages of this memory, and the number of the frame behind each.
    pub fn new(memory: M, frames: Vec<u64>, random: &mut fastrand::Rng) -> Self {
        let mut shuffled: Vec<usize> = (0..frames.len()).collect();
        random.shuffle(&mut shuffled);
        Self { memory, frames, shuffled }
    }

    /// Returns the pages of each colour, if colours are this number of bits of the frame numbers.
    /// Their order is random.
    pub fn by_color(&self, bits: u32) -> Vec<Vec<usize>> {
        let mut colors = vec![Vec::new(); 1 << bits];
        for &page in self.shuffled.iter().filter(|page| self.frames[**page] != 0) {
            colors[(self.frames[page] & ((1 << bits) - 1)) as usize].push(page);
        }
        colors
    }

    /// Returns this number of pages, chosen as if the colours had been shuffled.
    pub fn any(&self, count: usize, random: &mut fastrand::Rng) -> Vec<usize> {
        random.choose_multiple(self.shuffled.iter().copied(), count)
    }

    /// Number of pages that have another frame than these.
    pub fn changed(&self, frames: &[u64]) -> usize {
        frames.iter().zip(&self.frames).filter(|(now, before)| now != before).count()
    }
}
