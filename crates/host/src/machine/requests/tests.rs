use policy::color::{Cache, Geometry, IndexBits};
use vmm::{Candidates, TABLES_BYTES};

use super::*;

/// Pages of RAM here, more than one large page has.
const PAGES: u64 = 520;
/// The extra colours, and frames of each of them.
const COLORS: u64 = 0xf0;
const OF_EACH: u32 = 16;

const CR3: u64 = 0x1000;
const LEAF: u64 = 7;
const LARGE: u64 = 1 << 7;

/// The state of a VM with tables that map its RAM where it is, and a word in each page that is its number.
fn requests() -> Requests {
    let cache = Cache::new(1 << 20, 16, 64).expect("a cache");
    let geometry = Geometry::new(cache, PAGE, IndexBits::AbovePage).expect("16 colours");
    let extra = Extra { colors: ColorSet::from_bits(COLORS), pages: 4 * OF_EACH };
    let colors = "0-3".parse().expect("colours");
    let colored = Colored { geometry, colors, shown: false, extra: Some(extra) };
    let (mut candidates, spare) = (Candidates::new().expect("a file"), u64::from(extra.pages));
    candidates.add(PAGES + spare).expect("memory");
    let memory = candidates.movable(&[(spare, PAGES)], &[(0, spare)]).expect("memory");
    (0..PAGES).for_each(|page| memory.memory().set_word(page * PAGE + 8, page));
    let tables = Memory::new("tables", TABLES_BYTES).expect("memory");
    tables.set_word(CR3, 0x2000 | LEAF);
    tables.set_word(0x2000 + 8, 0x3000 | LEAF);
    for large in 0..2 {
        tables.set_word(0x3000 + large * 8, (RAM + (large << 21)) | LARGE | LEAF);
    }
    Requests::new(&colored, extra, tables, memory).expect("frames")
}

/// Asks, and does all steps, each of which moves at most one page.
fn asked(requests: &Requests, cr3: u64, colors: u64, start: u64, bytes: u64) -> i64 {
    if let Err(error) = requests.begin(cr3, [colors, start, bytes]) {
        return error as i64;
    }
    loop {
        let before = requests.moves();
        let result = requests.step();
        let moved = requests.moves() - before;
        assert!(moved == 0 || moved == 2, "a step moves one page");
        if let Some(result) = result {
            return result;
        }
    }
}

fn ask(requests: &Requests, colors: u64, first: u64, pages: u64) -> i64 {
    asked(requests, CR3, colors, RAM + first * PAGE, pages * PAGE)
}

/// Returns the places of all pages, after a check that each has its contents, and that no frame has two.
fn places(requests: &Requests) -> Vec<Place> {
    let state = requests.state.lock().expect("nobody fails");
    let mut used = vec![false; 4 * OF_EACH as usize];
    for (page, place) in (0..).zip(&state.places) {
        assert_eq!(state.memory.memory().word(page * PAGE + 8), page);
        let (memory, at) = match *place {
            Place::Home => (state.memory.homes(), page),
            Place::Pool(frame) => {
                assert!(!std::mem::replace(&mut used[frame as usize], true), "frame {frame}");
                (state.memory.spare(), u64::from(frame))
            }
        };
        assert_eq!(memory.word(at * PAGE + 8), page, "the page is in its frame");
    }
    state.places.clone()
}

/// The colour of a frame: they go round the extra ones.
fn color(place: Place) -> Option<u64> {
    match place {
        Place::Home => None,
        Place::Pool(frame) => Some(4 + u64::from(frame) % 4),
    }
}

#[test]
fn pages_of_the_range_get_the_colours_and_go_home() {
    let requests = requests();
    assert_eq!(ask(&requests, 0x30, 100, 20), 20);
    let now = places(&requests);
    for (page, place) in (0..).zip(&now) {
        match (100..120).contains(&page) {
            true => assert_eq!(color(*place), Some(4 + page % 2), "page {page}"),
            false => assert_eq!(*place, Place::Home, "page {page}"),
        }
    }
    // What has its colour stays, and bytes stand for their pages.
    assert_eq!(asked(&requests, CR3, 0x30, RAM + 100 * PAGE + 4095, 2), 2);
    assert_eq!(places(&requests)[..102], now[..102]);
    assert_eq!(ask(&requests, 0x80, 110, 10), 10);
    assert!(places(&requests)[110..120].iter().all(|it| color(*it) == Some(7)));
    assert_eq!(ask(&requests, 0, 0, PAGES), (PAGES - BLOCKS) as i64);
    assert!(places(&requests).iter().all(|it| *it == Place::Home));
}

#[test]
fn blocks_stay_and_what_is_no_ram_is_not_found() {
    let requests = requests();
    assert_eq!(asked(&requests, CR3, 0xf0, 0, RAM + (BLOCKS + 3) * PAGE), 3);
    let moved = places(&requests);
    let moved = moved.iter().enumerate().filter(|(_, it)| **it != Place::Home);
    assert!(moved.map(|(page, _)| page as u64).eq(BLOCKS..BLOCKS + 3));
    // Behind the RAM, the second large page maps nothing.
    assert_eq!(ask(&requests, 0xf0, PAGES - 2, 100), 2);
    for (start, bytes) in [(0, RAM), (RAM + (4 << 20), u64::MAX), (RAM + (1 << 20), 0), (!0, !0)] {
        assert_eq!(asked(&requests, CR3, 0xf0, start, bytes), 0);
    }
    places(&requests);
}

#[test]
fn errors_change_nothing() {
    let requests = requests();
    assert_eq!(ask(&requests, 0x50, 50, 10), 10);
    let before = places(&requests);
    let free = |requests: &Requests| requests.state.lock().expect("it").pool.free();
    let left = free(&requests);
    for colors in [0x10f, 1, 1 << 63, !0] {
        assert_eq!(ask(&requests, colors, 60, 10), Error::Invalid as i64);
    }
    // There are 16 of each.
    assert_eq!(ask(&requests, 0x10, 50, 20), Error::NoMemory as i64);
    assert_eq!(ask(&requests, 0xf0, 8, PAGES - 8), Error::NoMemory as i64);
    for cr3 in [TABLES_BYTES, RAM + PAGES * PAGE, !0xfff & !(0xfff << 52)] {
        assert_eq!(asked(&requests, cr3, 0xf0, 0, !0), Error::BadAddress as i64, "{cr3:#x}");
    }
    assert_eq!((places(&requests), free(&requests)), (before, left));
    assert_eq!(ask(&requests, 0x10, 50, 16), 16, "the frames are free again");
    places(&requests);
}

#[test]
fn tables_of_a_hostile_guest_move_nothing() {
    let requests = requests();
    {
        let state = requests.state.lock().expect("nobody fails");
        let ram = state.memory.memory();
        // A table in RAM that contains itself, and the pages of the first one once more, in many places.
        for index in 2..512 {
            ram.set_word((1 << 20) + index * 8, (RAM + (1 << 20)) | LEAF);
        }
        ram.set_word(1 << 20, RAM | LEAF);
        ram.set_word((1 << 20) + 8, 0);
        // The words that `places` looks at.
        ram.set_word((1 << 20) + 8, 256);
    }
    let result = asked(&requests, RAM + (1 << 20), 0xf0, 0, !0);
    assert!([Error::BadAddress as i64, Error::NoMemory as i64].contains(&result), "{result}");
    assert!(places(&requests).iter().all(|it| *it == Place::Home));
}

#[test]
fn one_request_at_a_time_and_a_restart_forgets_it() {
    let requests = requests();
    requests.begin(CR3, [0xf0, RAM, PAGES * PAGE]).expect("it begins");
    (0..20).for_each(|_| assert_eq!(requests.step(), None));
    assert_eq!(requests.begin(CR3, [0, RAM, 1]), Err(Error::Busy));
    assert!(requests.moves() >= 30, "pages have moved");
    requests.reset();
    let state = requests.state.lock().expect("nobody fails");
    assert!(state.places.iter().all(|it| *it == Place::Home));
    assert_eq!(state.pool.free(), 4 * OF_EACH);
    drop(state);
    assert_eq!(ask(&requests, 0xf0, 8, 64), 64);
    assert_eq!(requests.step(), Some(Error::TryAgain as i64), "there is no request");
}

#[test]
fn contents_and_frames_are_right_after_any_requests() {
    let requests = requests();
    let mut random = 1u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let (mut good, mut bad) = (0, 0);
    for round in 0..150 {
        let (colors, first, pages) = match round % 6 {
            5 => (0, 0, PAGES),
            _ => (next(16) << 4, next(PAGES), next(40)),
        };
        let before = places(&requests);
        let result = ask(&requests, colors, first, pages);
        let now = places(&requests);
        if result < 0 {
            assert_eq!((result, now), (Error::NoMemory as i64, before));
            bad += 1;
            continue;
        }
        good += 1;
        let end = (first + pages).min(PAGES);
        assert_eq!(result as u64, end.saturating_sub(first.max(BLOCKS)));
        for (page, place) in (0..).zip(&now) {
            match (first.max(BLOCKS)..end).contains(&page) {
                true if colors == 0 => assert_eq!(*place, Place::Home),
                true => assert!(color(*place).is_some_and(|it| colors >> it & 1 != 0)),
                false => assert_eq!(*place, before[page as usize]),
            }
        }
    }
    assert!(good > 30 && bad > 5, "{good} {bad}");
}
