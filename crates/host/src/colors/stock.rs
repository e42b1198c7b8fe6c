//! Chooses pages by the colours of their frames.

use std::collections::VecDeque;

use policy::color::{COLORS_MAX, Color, ColorSet, Demand, Geometry, Shortage};

/// Memory that is wanted. Its pages go round its colours, from the lowest one on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wish {
    /// Number of pages.
    pub pages: u64,
    /// Its colours, at least one.
    pub colors: ColorSet,
}

/// Contiguous pages: the first one, and their number.
pub type Run = (u64, u64);

/// Pages, numbered from 0 on, from which some are taken.
#[derive(Clone, Debug)]
pub struct Stock {
    geometry: Geometry,
    /// The colour of each page that has a frame and was not taken.
    free: Vec<Option<Color>>,
    /// Number of free pages by colour.
    count: [u64; COLORS_MAX],
}

impl Stock {
    /// Returns a stock without pages.
    pub fn new(geometry: Geometry) -> Self {
        Self { geometry, free: Vec::new(), count: [0; COLORS_MAX] }
    }

    /// Returns the number of colours that a page can have.
    pub fn colors(&self) -> u64 {
        self.geometry.colors().into()
    }

    /// Adds pages with these physical addresses. A page without one is never taken.
    pub fn add(&mut self, addresses: impl IntoIterator<Item = Option<u64>>) {
        for address in addresses {
            let color = address.map(|address| self.geometry.color_of(address));
            self.free.push(color);
            self.count[color.map_or(0, Color::index)] += u64::from(color.is_some());
        }
    }

    /// Returns the colours of which there are fewer free pages than all these wishes need.
    pub fn lacking(&self, wishes: &[Wish]) -> Vec<Shortage> {
        let shortage = |color: Color| {
            let of = |wish: &Wish| Demand::rotating(wish.colors, wish.pages).of(color);
            let (needed, free) = (wishes.iter().map(of).sum(), self.count[color.index()]);
            (free < needed).then_some(Shortage { color, needed, free })
        };
        self.geometry.all().iter().filter_map(shortage).collect()
    }

    /// Takes pages for all wishes. Returns for each its pages in their order, in runs that are as long as can be found by
    /// looking at the next page only.
    ///
    /// # Errors
    ///
    /// There are too few pages of some colours, and none is taken.
    pub fn take(&mut self, wishes: &[Wish]) -> Result<Vec<Vec<Run>>, Vec<Shortage>> {
        let lacking = self.lacking(wishes);
        if !lacking.is_empty() {
            return Err(lacking);
        }
        let mut of_color = vec![VecDeque::new(); COLORS_MAX];
        for (page, color) in self.free.iter().enumerate() {
            if let Some(color) = color {
                of_color[color.index()].push_back(page);
            }
        }
        Ok(wishes.iter().map(|wish| self.runs(wish, &mut of_color)).collect())
    }

    fn runs(&mut self, wish: &Wish, of_color: &mut [VecDeque<usize>]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let colors: Vec<Color> = wish.colors.iter().collect();
        for color in colors.into_iter().cycle().take(wish.pages as usize) {
            let next = runs.last().map(|(first, pages)| (first + pages) as usize);
            let next = next.filter(|page| self.free.get(*page) == Some(&Some(color)));
            let first = || loop {
                // Those that follow others were taken before it was their turn here.
                let page = of_color[color.index()].pop_front()?;
                if self.free[page].is_some() {
                    return Some(page);
                }
            };
            // `lacking` has counted them.
            let Some(page) = next.or_else(first) else { break };
            self.free[page] = None;
            self.count[color.index()] -= 1;
            match runs.last_mut() {
                Some((_, pages)) if next.is_some() => *pages += 1,
                _ => runs.push((page as u64, 1)),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use policy::color::{Cache, IndexBits, VirtualLlc};

    use super::*;

    const PAGE: u64 = 4096;

    fn geometry() -> Geometry {
        let cache = Cache::new(1 << 20, 16, 64).expect("a cache");
        Geometry::new(cache, PAGE, IndexBits::AbovePage).expect("16 colours")
    }

    fn wish(pages: u64, colors: &str) -> Wish {
        Wish { pages, colors: colors.parse().expect("colours") }
    }

    fn pages(runs: &[Run]) -> Vec<u64> {
        runs.iter().flat_map(|(first, pages)| *first..first + pages).collect()
    }

    /// Addresses of different frames in no order; some pages have none.
    fn scattered(count: u64, seed: u64) -> Vec<Option<u64>> {
        let frame = |page: u64| (page * 2_654_435_761 + seed * 40_503) % 1_048_583;
        (0..count).map(|page| (page % 7 != seed % 7).then(|| frame(page) * PAGE)).collect()
    }

    #[test]
    fn each_page_has_the_colour_of_its_turn_and_no_page_is_taken_twice() {
        for seed in 0..20 {
            let addresses = scattered(4_000, seed);
            let mut stock = Stock::new(geometry());
            stock.add(addresses.iter().copied());
            let wishes =
                [wish(300 + seed, "0-3"), wish(16, "0-3"), wish(97, "4,9,15"), wish(150, "9")];
            let taken = stock.take(&wishes).expect("enough pages");
            let mut all = BTreeSet::new();
            for (wish, runs) in wishes.iter().zip(&taken) {
                let pages = pages(runs);
                assert_eq!(pages.len() as u64, wish.pages);
                let turns = wish.colors.iter().collect::<Vec<_>>().into_iter().cycle();
                for (page, color) in pages.iter().zip(turns) {
                    let address = addresses[*page as usize].expect("a frame");
                    assert_eq!(geometry().color_of(address), color);
                    assert!(all.insert(*page), "page {page} is taken twice");
                }
            }
            // What is left is all the rest.
            let frames = addresses.iter().flatten().count();
            let left: u64 = stock.count.iter().sum();
            assert_eq!(left as usize + all.len(), frames);
        }
    }

    #[test]
    fn all_pages_of_a_colour_can_be_taken_and_one_more_is_told_and_takes_none() {
        let addresses = scattered(2_000, 3);
        let mut stock = Stock::new(geometry());
        stock.add(addresses.iter().copied());
        let color = geometry().all().iter().nth(5).expect("a colour");
        let of_color = |it: &&u64| geometry().color_of(**it) == color;
        let free = addresses.iter().flatten().filter(of_color).count() as u64;
        let before = stock.clone();
        let wishes = [wish(free - 10, "5"), wish(11, "5")];
        let needed = free + 1;
        assert_eq!(stock.take(&wishes), Err(vec![Shortage { color, needed, free }]));
        assert_eq!(stock.free, before.free);
        stock.take(&[wish(free - 10, "5"), wish(10, "5")]).expect("enough pages");
        assert!(stock.lacking(&[wish(1, "5")])[0].free == 0);
    }

    /// Where a VM sees its colours as a cache, the pages that it takes for pages of one colour are of one colour on the host.
    #[test]
    fn pages_go_round_as_a_virtual_cache_expects() {
        for colors in ["0", "4-7", "2,3,8,15"] {
            let mut stock = Stock::new(geometry());
            let addresses = scattered(4_000, 5);
            stock.add(addresses.iter().copied());
            let wish = wish(100, colors);
            let cache = VirtualLlc::new(geometry(), wish.colors).expect("a virtual cache");
            let taken = stock.take(&[wish]).expect("enough pages");
            for (page, frame) in pages(&taken[0]).into_iter().enumerate() {
                let address = addresses[frame as usize].expect("a frame");
                let inside = abi::guest::RAM + page as u64 * PAGE;
                assert_eq!(geometry().color_of(address), cache.host_color_at(inside));
            }
        }
    }

    #[test]
    fn pages_that_lie_side_by_side_make_one_run() {
        let mut stock = Stock::new(geometry());
        stock.add((0..64).map(|page| Some(page * PAGE)));
        let wishes = [wish(12, "4-7"), wish(3, "0,2"), wish(4, "4-7")];
        let taken = stock.take(&wishes).expect("enough pages");
        let runs = [vec![(4, 4), (20, 4), (36, 4)], vec![(0, 1), (2, 1), (16, 1)], vec![(52, 4)]];
        assert_eq!(taken, runs);
    }
}
