//! The memory budget of a VM in all orders in which its VCPUs can take and give back grants of it.

use std::collections::BTreeSet;

use policy::bandwidth::{Grant, Parameters, Pool};
use policy::time::{Duration, Instant};

const PERIOD: u64 = 2;
const END: u64 = 3 * PERIOD;

fn pool(budget: u64, cpus: u64) -> Pool {
    let (period, start) = (Duration(PERIOD), Instant(0));
    Pool::new(Parameters { budget, period, start }, cpus).unwrap()
}

fn grant(accesses: u64, until: u64) -> Grant {
    Grant { accesses, until: Instant(until) }
}

#[test]
fn a_vcpu_that_is_alone_takes_all() {
    let mut pool = pool(1000, 1);
    assert_eq!(pool.take(0, Instant(0)), grant(1000, 2));
    assert_eq!(pool.take(0, Instant(1)), grant(0, 2), "nothing is left");
    assert_eq!(pool.take(0, Instant(7)), grant(1000, 8));
}

#[test]
fn several_vcpus_take_quarters_of_their_shares() {
    let mut pool = pool(100, 4);
    assert_eq!(pool.take(0, Instant(0)), grant(6, 2));
    assert_eq!(pool.take(5, Instant(0)), grant(11, 2), "what it owes besides");
    pool.give_back(grant(4, 2));
    let (mut takes, mut taken) = (0, 6 + 11 - 4);
    while let Grant { accesses: 1.., .. } = pool.take(0, Instant(1)) {
        takes += 1;
        taken += 6;
    }
    assert_eq!((takes, taken), (15, 103), "the last one got 3 only");
}

#[test]
fn before_the_first_period_there_is_nothing() {
    let parameters = Parameters { budget: 9, period: Duration(2), start: Instant(5) };
    let mut pool = Pool::new(parameters, 2).unwrap();
    assert_eq!(pool.take(0, Instant(4)), grant(0, 5));
    assert_eq!(pool.take(0, Instant(5)), grant(1, 7));
}

/// A grant ends with its period.
#[test]
fn what_is_given_back_late_is_lost() {
    let mut pool = pool(8, 2);
    let old = pool.take(0, Instant(0));
    assert_eq!(pool.take(0, Instant(2)), grant(1, 4));
    pool.give_back(old);
    let rest =
        std::iter::repeat_with(|| pool.take(0, Instant(3)).accesses).take_while(|&it| it > 0);
    assert_eq!(rest.sum::<u64>(), 7);
}

/// The VM with all that its VCPUs know.
#[derive(Clone, Debug)]
struct State {
    pool: Pool,
    now: u64,
    grants: Vec<Grant>,
    /// Accesses in the current period.
    used: u64,
}

impl State {
    /// All that can happen next. A CPU reads the clock, and may then have to wait until it
    /// can ask: its time is one tick late at most.
    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for vcpu in 0..self.grants.len() {
            let held = self.grants[vcpu];
            let is_valid = held.accesses > 0 && self.now < held.until.0;
            if is_valid {
                let mut uses = self.clone();
                uses.grants[vcpu].accesses -= 1;
                uses.used += 1;
                next.push(uses);
                let mut sleeps = self.clone();
                sleeps.pool.give_back(held);
                sleeps.grants[vcpu].accesses = 0;
                next.push(sleeps);
                continue;
            }
            for late in 0..=self.now.min(1) {
                let mut takes = self.clone();
                takes.grants[vcpu] = takes.pool.take(0, Instant(self.now - late));
                if late == 0 {
                    let left = takes.held();
                    let refused = takes.grants[vcpu].accesses == 0;
                    let others = takes.grants.len() as u64 - 1;
                    assert!(!refused || left <= others * takes.size(), "{self:?}");
                }
                next.push(takes);
            }
        }
        if self.now < END {
            let mut later = self.clone();
            later.now += 1;
            if later.now.is_multiple_of(PERIOD) {
                later.used = 0;
            }
            next.push(later);
        }
        next
    }

    fn size(&self) -> u64 {
        (BUDGET / (4 * self.grants.len() as u64)).max(1)
    }

    /// What the VCPUs have of the current period.
    fn held(&self) -> u64 {
        let end = (self.now / PERIOD + 1) * PERIOD;
        self.grants.iter().filter(|it| it.until.0 == end).map(|it| it.accesses).sum()
    }

    /// What is left, asked of a copy.
    fn left(&self) -> u64 {
        let mut pool = self.pool.clone();
        pool.take(u64::MAX, Instant(self.now)).accesses
    }

    fn check(&self) {
        assert!(self.used <= BUDGET, "{self:?}");
        assert_eq!(self.used + self.held() + self.left(), BUDGET, "{self:?}");
        // Nobody has a grant of a period that has not begun.
        assert!(self.grants.iter().all(|it| it.until.0 <= self.now + PERIOD), "{self:?}");
    }
}

const BUDGET: u64 = 3;

/// Every state that three VCPUs can get into within three periods: nobody takes more than there
/// is, nothing is lost, and who finds nothing knows that others have little.
#[test]
fn in_every_order_all_of_the_budget_is_somewhere() {
    let first = State { pool: pool(BUDGET, 3), now: 0, grants: vec![grant(0, 0); 3], used: 0 };
    let (mut seen, mut todo) = (BTreeSet::new(), vec![first]);
    while let Some(state) = todo.pop() {
        state.check();
        for next in state.next() {
            if seen.insert(format!("{next:?}")) {
                todo.push(next);
            }
        }
    }
    assert!(seen.len() > 1_000, "{} states", seen.len());
}
