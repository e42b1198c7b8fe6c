//! Pages get frames of the requested colours, evenly, and go back whole (vCache, section 4.2).

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::PAGE;
use policy::color::{
    Cache, Choice, Color, ColorSet, Geometry, IndexBits, Place, Pool, RequestError, Slot, Stripe,
};
use proptest::prelude::*;

const AREA: u64 = 0x4800_0000;

fn colors(text: &str) -> ColorSet {
    text.parse().expect("a set of colours")
}

/// Address bits [15:12].
fn sixteen_colors() -> Geometry {
    let llc = Cache::new(1 << 20, 16, 64).expect("a cache");
    Geometry::new(llc, PAGE, IndexBits::AbovePage).expect("a geometry")
}

/// The VM and its pool, as a person would keep books: which page is where.
struct Books<'a> {
    geometry: Geometry,
    pool: Pool<'a>,
    places: BTreeMap<u32, Place>,
}

impl<'a> Books<'a> {
    fn new(geometry: Geometry, colors: ColorSet, slots: &'a mut [Slot]) -> Self {
        let stripe = Stripe::new(PAGE, geometry.mask(), colors, AREA).expect("a stripe");
        let pool = Pool::new(stripe, colors, slots).expect("a pool");
        Self { geometry, pool, places: BTreeMap::new() }
    }

    fn place(&self, page: u32) -> Place {
        self.places.get(&page).copied().unwrap_or(Place::Home)
    }

    fn color(&self, frame: u32) -> Color {
        self.geometry.color_of(self.pool.address(frame))
    }

    /// Frames of `color` in which no page is, and that are not in `held`.
    fn free(&self, color: Color, held: &BTreeSet<u32>) -> u32 {
        let used = |frame: &u32| self.places.values().any(|place| *place == Place::Pool(*frame));
        let all = (0..self.pool.frames()).filter(|&frame| self.color(frame) == color);
        all.filter(|frame| !used(frame) && !held.contains(frame)).count() as u32
    }

    /// Makes a request for pages as a walk finds them, some more than once. `false` if
    /// the pool did not suffice, or if the walk failed after `end` pages.
    fn request(&mut self, colors: ColorSet, walk: &[u32], end: Option<usize>) -> bool {
        let before = self.places.clone();
        self.pool.begin(colors).expect("extra colours");
        assert_eq!(self.pool.begin(colors), Err(RequestError::Busy));
        let cycle: Vec<Color> = colors.iter().collect();
        let (mut seen, mut held) = (BTreeSet::new(), BTreeSet::new());
        for (number, &page) in walk.iter().enumerate() {
            if end == Some(number) {
                self.roll_back(&before);
                return false;
            }
            let now = self.place(page);
            let choice = self.pool.place(page, now);
            if cycle.is_empty() {
                assert_eq!(
                    choice,
                    Ok(match now {
                        Place::Home => Choice::Stay,
                        Place::Pool(_) => Choice::Move(Place::Home),
                    })
                );
            } else if !seen.insert(page) {
                assert_eq!(choice, Ok(Choice::Stay), "once per request");
            } else {
                let turn = (seen.len() - 1) % cycle.len();
                let mut rest = cycle[turn..].iter().chain(&cycle[..turn]).copied();
                let is = match now {
                    Place::Home => None,
                    Place::Pool(frame) => Some(self.color(frame)),
                };
                let full = self.free(cycle[turn], &held) == 0;
                let stays = is.is_some_and(|is| is == cycle[turn] || full && cycle.contains(&is));
                let target = rest.find(|&color| self.free(color, &held) > 0);
                match (choice, target) {
                    (Ok(Choice::Stay), _) => assert!(stays),
                    (Ok(Choice::Move(Place::Pool(to))), Some(color)) => {
                        assert!(!stays);
                        assert_eq!(self.color(to), color);
                        assert!(!held.contains(&to), "held frames are not given out");
                        assert!(!self.places.values().any(|place| *place == Place::Pool(to)));
                    }
                    (Err(_), None) => {
                        assert!(!stays);
                        self.roll_back(&before);
                        return false;
                    }
                    wrong => panic!("{wrong:?}"),
                }
            }
            if let Ok(Choice::Move(to)) = choice {
                self.places.insert(page, to);
                if let Place::Pool(frame) = now {
                    held.insert(frame);
                }
            }
            self.check(&held);
        }
        self.pool.commit();
        true
    }

    fn roll_back(&mut self, before: &BTreeMap<u32, Place>) {
        while let Some(back) = self.pool.undo() {
            assert_eq!(self.places.insert(back.page, back.to), Some(back.from));
        }
        self.places.retain(|page, place| *place != Place::Home || before.contains_key(page));
        assert_eq!(&self.places, before);
    }

    /// The pool's counts and pages are those of the books.
    fn check(&self, held: &BTreeSet<u32>) {
        let mut sum = 0;
        for color in (0..64).filter_map(Color::new) {
            assert_eq!(self.pool.free_of(color), self.free(color, held), "colour {color}");
            sum += self.pool.free_of(color);
        }
        assert_eq!(self.pool.free(), sum);
        for frame in 0..self.pool.frames() {
            let mut pages = self.places.iter().filter(|(_, place)| **place == Place::Pool(frame));
            assert_eq!(self.pool.page_in(frame), pages.next().map(|(&page, _)| page));
            assert_eq!(pages.next(), None, "frame {frame} has two pages");
            assert_eq!(self.pool.place_of(self.pool.address(frame)), Place::Pool(frame));
        }
        assert_eq!(self.pool.page_in(self.pool.frames()), None);
    }
}

#[derive(Clone, Debug)]
struct Ask {
    colors: u64,
    walk: Vec<u32>,
    end: Option<usize>,
    reset: bool,
}

fn ask() -> impl Strategy<Value = Ask> {
    let walk = prop::collection::vec(0..40u32, 0..48);
    let colors = prop_oneof![1 => Just(0), 4 => any::<u64>()];
    let end = prop::option::weighted(0.2, 0..20usize);
    (colors, walk, end, prop::bool::weighted(0.05)).prop_map(|(colors, walk, end, reset)| Ask {
        colors,
        walk,
        end,
        reset,
    })
}

proptest! {
    #[test]
    fn requests_move_pages_as_the_paper_says(
        (geometry, unit, _) in crate::machine::geometry(),
        extra in any::<u64>(),
        frames in 0..48usize,
        asks in prop::collection::vec(ask(), 1..8),
    ) {
        let extra = geometry.all() & ColorSet::from_bits(extra | 1);
        prop_assume!(u64::from(geometry.all().len()) * unit / PAGE <= Stripe::PERIOD_PAGES_MAX);
        let mut slots = vec![Slot::EMPTY; frames];
        let mut books = Books::new(geometry, extra, &mut slots);
        for ask in asks {
            books.request(extra & ColorSet::from_bits(ask.colors), &ask.walk, ask.end);
            books.check(&BTreeSet::new());
            if ask.reset {
                books.pool.reset();
                books.places.clear();
                books.check(&BTreeSet::new());
                prop_assert_eq!(books.pool.free() as usize, frames);
            }
        }
    }
}

#[test]
fn contiguous_pages_are_spread_evenly() {
    let mut slots = vec![Slot::EMPTY; 64];
    let mut books = Books::new(sixteen_colors(), colors("8-11"), &mut slots);
    let walk: Vec<u32> = (100..130).collect();
    assert!(books.request(colors("8,10-11"), &walk, None));
    for (number, page) in walk.iter().enumerate() {
        let Place::Pool(frame) = books.place(*page) else { panic!("page {page} is at home") };
        assert_eq!(books.color(frame).index(), [8, 10, 11][number % 3]);
    }
    let free = [8, 9, 10, 11].map(|index| books.pool.free_of(Color::new(index).unwrap()));
    assert_eq!(free, [6, 16, 6, 6]);
}

#[test]
fn the_same_request_again_moves_nothing() {
    let mut slots = vec![Slot::EMPTY; 8];
    let mut books = Books::new(sixteen_colors(), colors("8-11"), &mut slots);
    // Six pages in two colours of two frames, with two pages found twice.
    let walk = [1, 2, 1, 3, 4, 2];
    assert!(books.request(colors("8-9"), &walk, None));
    let places = books.places.clone();
    assert!(books.request(colors("8-9"), &walk, None));
    assert_eq!(books.places, places);
}

#[test]
fn a_pool_that_does_not_suffice_gives_nothing() {
    let mut slots = vec![Slot::EMPTY; 8];
    let mut books = Books::new(sixteen_colors(), colors("8-11"), &mut slots);
    assert!(books.request(colors("8"), &[1, 2], None));
    let places = books.places.clone();
    // The pages of colour 8 move to colour 9; their frames are not for the third page.
    assert!(!books.request(colors("9"), &[1, 2, 3], None));
    assert_eq!(books.places, places);
    assert!(books.request(colors("9"), &[1, 2], None));
    assert!(books.request(colors("8"), &[3, 4], None));
    // No page of the first two is at home, and both frames are free again.
    assert!(books.request(ColorSet::EMPTY, &[1, 2], None));
    assert_eq!(books.pool.free_of(Color::new(9).unwrap()), 2);
}

#[test]
fn colours_that_are_not_extra_are_refused() {
    let mut slots = vec![Slot::EMPTY; 8];
    let mut books = Books::new(sixteen_colors(), colors("8-11"), &mut slots);
    let error = books.pool.begin(colors("7-8,15")).unwrap_err();
    assert_eq!(error, RequestError::Colors(colors("7,15")));
    assert_eq!(error.to_string(), "7,15 are not extra colours of the VM");
    assert_eq!(books.pool.undo(), None);
    assert!(books.request(colors("8"), &[1], None), "no request is under way");
}

#[test]
fn a_stripe_of_other_colours_is_refused() {
    let mask = sixteen_colors().mask();
    let stripe = Stripe::new(PAGE, mask, colors("8-11"), AREA).unwrap();
    assert!(Pool::new(stripe, colors("8-10"), &mut [Slot::EMPTY; 8]).is_none());
    assert!(Pool::new(stripe, ColorSet::EMPTY, &mut [Slot::EMPTY; 8]).is_none());
}
