//! Channels (`policy::channel`): what passes, and how often a receiver is interrupted.

use policy::channel::{Bucket, Channel, Dropped, Moderation, Parameters, ParametersError, Signal};
use policy::time::{Duration, Instant};
use proptest::prelude::*;
use testing::cases;

fn parameters(tokens: u64, period: u64, burst: u64) -> Parameters {
    Parameters { tokens, period: Duration(period), burst }
}

fn bucket(tokens: u64, period: u64, burst: u64) -> Bucket {
    Bucket::new(parameters(tokens, period, burst)).unwrap()
}

/// What passed, as instants and tokens; decides by the definition: in no window up to now may more
/// have passed than `burst + tokens / period` for each tick.
struct Reference {
    parameters: Parameters,
    passed: Vec<(u64, u64)>,
}

impl Reference {
    fn new(parameters: Parameters) -> Self {
        Self { parameters, passed: Vec::new() }
    }

    fn take(&mut self, tokens: u64, now: u64) -> bool {
        let now = self.passed.last().map_or(now, |(last, _)| now.max(*last));
        let Parameters { tokens: rate, period, burst } = self.parameters;
        let mut sum = u128::from(tokens);
        let mut fits = sum <= u128::from(burst);
        for (from, earlier) in self.passed.iter().rev() {
            sum += u128::from(*earlier);
            let filled = u128::from(now - from) * u128::from(rate);
            fits &= sum * u128::from(period.0) <= u128::from(burst) * u128::from(period.0) + filled;
        }
        if fits {
            self.passed.push((now, tokens));
        }
        fits
    }
}

/// The largest number of tokens in a window, by its length.
fn most(passed: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let from = |first: usize| {
        let mut sum = 0;
        passed[first..].iter().map(move |(at, tokens)| {
            sum += tokens;
            (at - passed[first].0, sum)
        })
    };
    (0..passed.len()).flat_map(from).collect()
}

#[test]
fn tokens_come_evenly_and_exactly() {
    // 3 tokens in 7 ticks, at most 2 at a time.
    let mut bucket = bucket(3, 7, 2);
    let taken: Vec<u64> = (0..22).filter(|&now| bucket.take(1, Instant(now))).collect();
    // The bucket is full at first, so that one more comes at 3 (7/3), and from then on 3 in 7
    // ticks.
    assert_eq!(taken, [0, 1, 3, 5, 7, 10, 12, 14, 17, 19, 21]);
    assert_eq!(bucket.level(Instant(21)), 0);
    assert_eq!(bucket.level(Instant(1_000)), 2);
    assert_eq!(bucket.interval(), Duration(3));
}

/// One token in each 3 ticks is taken as often as it comes, for as long as there is time.
#[test]
fn the_rate_does_not_drift() {
    let mut bucket = bucket(1_000_000, 3_000_001, 1);
    let first = 1 << 62;
    assert!(bucket.take(1, Instant(first)));
    let mut now = first;
    for number in 1..100_000u64 {
        now = bucket.available(1, Instant(now)).unwrap().0;
        assert!(!bucket.take(1, Instant(now - 1)));
        assert!(bucket.take(1, Instant(now)));
        // A bucket that holds one token loses what comes beyond it; less than a tick each time.
        let exact = u128::from(number) * 3_000_001 / 1_000_000;
        assert!(u128::from(now - first) >= exact);
        assert!(u128::from(now - first) <= exact + u128::from(number) + 1);
    }
    // With place for two nothing is lost.
    let mut bucket = self::bucket(1_000_000, 3_000_001, 2);
    assert!(bucket.take(2, Instant(0)));
    for number in 1..100_000u64 {
        let now = bucket.available(1, Instant(0)).unwrap();
        assert_eq!(now.0, (number * 3_000_001).div_ceil(1_000_000));
        assert!(bucket.take(1, now));
    }
}

#[test]
fn what_never_fits_is_never_available() {
    let mut bucket = bucket(1, 10, 4);
    assert_eq!(bucket.available(5, Instant(0)), None);
    assert_eq!(bucket.available(u64::MAX, Instant(0)), None);
    assert!(!bucket.take(5, Instant(u64::MAX)));
    assert!(!bucket.take(u64::MAX, Instant(u64::MAX)));
    let mut bucket = self::bucket(1, 10, 4);
    assert!(bucket.take(4, Instant(7)));
    assert_eq!(bucket.available(3, Instant(7)), Some(Instant(37)));
    assert_eq!(bucket.available(0, Instant(7)), Some(Instant(7)));
    assert_eq!(bucket.available(1, Instant(50)), Some(Instant(50)));
}

#[test]
fn parameters_that_make_no_bucket_are_refused() {
    let refused = |tokens, period, burst| Bucket::new(parameters(tokens, period, burst)).err();
    assert_eq!(refused(0, 1, 1), Some(ParametersError::NoTokens));
    assert_eq!(refused(1, 0, 1), Some(ParametersError::NoPeriod));
    assert_eq!(refused(1, 1, 0), Some(ParametersError::NoBurst));
    assert_eq!(refused(1, 1 << 32, 1 << 32), Some(ParametersError::TooLarge));
    assert_eq!(refused(1 << 31, 1 << 32, 1 << 32), None, "1 token in 2 ticks");
    assert_eq!(refused(u64::MAX, u64::MAX, u64::MAX), None);
    assert_eq!(refused(u64::MAX, 1, u64::MAX), None);
}

#[test]
fn extremes_do_not_overflow() {
    for (tokens, period, burst) in [(u64::MAX, 1, u64::MAX), (1, u64::MAX, 1), (1, 1, u64::MAX)] {
        let mut bucket = bucket(tokens, period, burst);
        for now in [u64::MAX, 0, 1, u64::MAX] {
            let _ = (bucket.take(burst, Instant(now)), bucket.take(1, Instant(now)));
            let _ = bucket.available(burst, Instant(now));
        }
        assert!(bucket.level(Instant(u64::MAX)) <= burst);
    }
}

#[test]
fn interrupts_come_at_once_while_some_are_saved_and_then_together() {
    // One in 10 ticks, two at a time.
    let mut moderation = Moderation::new(parameters(1, 10, 2)).unwrap();
    assert_eq!(moderation.message(Instant(100)), Signal::Now);
    assert_eq!(moderation.message(Instant(101)), Signal::Now);
    assert_eq!(moderation.message(Instant(102)), Signal::Later(Instant(110)));
    assert_eq!(moderation.message(Instant(103)), Signal::Waits);
    assert!(!moderation.due(Instant(109)));
    assert_eq!(moderation.waits(), Some(Instant(110)));
    assert!(moderation.due(Instant(110)));
    assert!(!moderation.due(Instant(110)), "one interrupt for both");
    // A receiver that has taken all messages needs none.
    assert_eq!(moderation.message(Instant(111)), Signal::Later(Instant(120)));
    moderation.emptied();
    assert!(!moderation.due(Instant(120)));
    assert_eq!(moderation.message(Instant(121)), Signal::Now);
    // An instant that passes unnoticed is made up for by the next message.
    assert_eq!(moderation.message(Instant(122)), Signal::Later(Instant(130)));
    assert_eq!(moderation.message(Instant(140)), Signal::Now);
    assert_eq!(moderation.waits(), None);
}

#[test]
fn each_drop_has_its_reason() {
    let moderation = Moderation::new(parameters(1, 1, 1)).unwrap();
    let mut channel = Channel::new(bucket(1, 10, 3), moderation, 2);
    let now = Instant(50);
    assert_eq!(channel.send(4, now), Err(Dropped::Rate));
    assert_eq!(channel.send(1, now), Ok(Signal::Now));
    assert!(matches!(channel.send(0, now), Ok(Signal::Later(_))), "costs one token as well");
    // A full queue takes no token.
    assert_eq!(channel.send(1, now), Err(Dropped::Full));
    assert!(channel.receive());
    assert_eq!(channel.send(1, now), Ok(Signal::Waits));
    assert!(channel.receive() && channel.receive() && !channel.receive());
    assert_eq!(channel.waits(), None);
    assert_eq!(channel.send(1, now), Err(Dropped::Rate));
    assert_eq!(channel.waiting(), 0);
}

/// Parameters, and what a hostile sender does: how long it waits, often not at all, and how many
/// tokens it wants.
fn attack() -> impl Strategy<Value = (Parameters, Vec<(u64, u64)>)> {
    let parameters = (1u64..20, 1u64..40, 1u64..12).prop_map(|(r, p, b)| parameters(r, p, b));
    let step = (prop_oneof![3 => Just(0u64), 3 => 0u64..4, 1 => 0u64..100], 0u64..8);
    (parameters, prop::collection::vec(step, 1..80))
}

fn instants(steps: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut now = 5;
    steps
        .iter()
        .map(|(wait, tokens)| {
            now += wait;
            (now, *tokens)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_000)))]

    #[test]
    fn a_bucket_decides_as_its_definition((parameters, steps) in attack()) {
        let mut bucket = Bucket::new(parameters).unwrap();
        let mut reference = Reference::new(parameters);
        for (now, tokens) in instants(&steps) {
            let available = bucket.available(tokens, Instant(now));
            let taken = bucket.take(tokens, Instant(now));
            prop_assert_eq!(taken, reference.take(tokens, now), "{} at {}", tokens, now);
            prop_assert_eq!(taken, available == Some(Instant(now)));
            prop_assert_eq!(available.is_none(), tokens > parameters.burst);
        }
        for (window, tokens) in most(&reference.passed) {
            let Parameters { tokens: rate, period, burst } = parameters;
            prop_assert!(tokens <= burst + window * rate / period.0);
        }
    }

    /// Instants of several CPUs are not in order.
    #[test]
    fn time_that_goes_back_gives_nothing(
        (parameters, steps) in attack(), back in prop::collection::vec(0u64..30, 80),
    ) {
        let mut bucket = Bucket::new(parameters).unwrap();
        let mut reference = Reference::new(parameters);
        let mut latest = 0;
        for ((now, tokens), back) in instants(&steps).into_iter().zip(back) {
            let now = now.saturating_sub(back);
            latest = now.max(latest);
            let taken = bucket.take(tokens, Instant(now));
            prop_assert_eq!(taken, reference.take(tokens, latest), "{} at {}", tokens, now);
        }
    }

    /// An interrupt follows each message, and no window has more than the limit, whatever is sent
    /// and whenever the receiver takes messages.
    #[test]
    fn interrupts_are_limited_and_in_time(
        (parameters, steps) in attack(), takes in prop::collection::vec(0u8..6, 80),
    ) {
        let Parameters { tokens: rate, period, burst } = parameters;
        let mut moderation = Moderation::new(parameters).unwrap();
        let mut interrupts: Vec<(u64, u64)> = Vec::new();
        // The first message that no interrupt has announced.
        let mut open: Option<u64> = None;
        let events = instants(&steps);
        let end = events[events.len() - 1].0 + period.0 + 1;
        let mut events = events.iter().zip(takes).peekable();
        for now in 0..=end {
            if moderation.due(Instant(now)) {
                prop_assert_eq!(open.take().is_some(), true);
                interrupts.push((now, 1));
            }
            while let Some((_, takes)) = events.next_if(|((at, _), _)| *at == now) {
                open = open.or(Some(now));
                match moderation.message(Instant(now)) {
                    Signal::Now => { interrupts.push((now, 1)); open = None; }
                    Signal::Later(due) => prop_assert_eq!(moderation.waits(), Some(due)),
                    Signal::Waits => prop_assert!(moderation.waits().is_some()),
                }
                if takes == 0 {
                    moderation.emptied();
                    open = None;
                }
            }
            if let Some(open) = open {
                prop_assert!(now - open < period.0.div_ceil(rate), "{now}");
            }
        }
        for (window, number) in most(&interrupts) {
            prop_assert!(number <= burst + window * rate / period.0);
        }
    }

    /// A queue never has more than its places, and loses no message that it let in.
    #[test]
    fn a_channel_counts_its_messages(
        (parameters, steps) in attack(),
        capacity in 0u32..5,
        takes in prop::collection::vec(0u8..3, 80),
    ) {
        let moderation = Moderation::new(parameters).unwrap();
        let mut channel = Channel::new(Bucket::new(parameters).unwrap(), moderation, capacity);
        let mut waiting = 0;
        for ((now, tokens), takes) in instants(&steps).into_iter().zip(takes) {
            channel.due(Instant(now));
            match channel.send(tokens, Instant(now)) {
                Ok(_) => waiting += 1,
                Err(Dropped::Full) => prop_assert_eq!(waiting, capacity),
                Err(Dropped::Rate) => prop_assert!(waiting < capacity),
            }
            for _ in 0..takes {
                prop_assert_eq!(channel.receive(), waiting > 0);
                waiting = waiting.saturating_sub(1);
            }
            prop_assert_eq!(channel.waiting(), waiting);
            prop_assert!(waiting <= capacity);
        }
    }
}
