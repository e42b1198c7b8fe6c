//! The sporadic server.
//!
//! Its budget is a queue of *replenishments*: amounts with the times from which on they can be
//! used. The amounts always add up to the budget, they do not overlap when laid out from their
//! times on, and all of them lie within one period. So the server never takes more than a periodic
//! task whose jobs are released at the times of the replenishments.

use super::Parameters;
use crate::time::{Duration, Instant};

/// Maximum number of replenishments with which a VCPU becomes ready. If there would be more, two
/// are joined at the time of the later one: the VCPU waits longer, others do not. The later time is
/// necessary because a VCPU that stays ready relies on getting each part back within one period
/// after its use, and because all of the budget must still lie within one period.
pub const REPLENISHMENTS_MAX: usize = 8;

/// One more while a part of the first is used. A VCPU that stays ready needs no other, because the
/// used rest is put back next to that part.
const KEPT_MAX: usize = REPLENISHMENTS_MAX + 1;

/// Room for all replenishments: a power of two, so that places in the ring need no division.
const SLOTS: usize = KEPT_MAX.next_power_of_two();

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
struct Replenishment {
    time: Instant,
    amount: Duration,
}

impl Replenishment {
    /// Returns the time at which the amount is used up if it is used from its time on.
    fn end(self) -> Instant {
        self.time + self.amount
    }

    /// Joins the replenishment with a later one; the result ends where the later one would end.
    ///
    /// The sum and the difference need no limits: the amounts add up to the budget at most, and
    /// `later` ends both of them after its own start.
    #[inline(always)]
    fn join(&mut self, later: Self) {
        self.amount.0 += later.amount.0;
        self.time = self.time.max(Instant(later.end().0 - self.amount.0));
    }
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Sporadic {
    budget: Duration,
    period: Duration,
    queue: [Replenishment; SLOTS],
    first: usize,
    len: usize,
}

impl Sporadic {
    pub fn new(parameters: Parameters) -> Self {
        let mut queue = [Replenishment::default(); SLOTS];
        queue[0] = Replenishment { time: parameters.start, amount: parameters.budget };
        Self { budget: parameters.budget, period: parameters.period, queue, first: 0, len: 1 }
    }

    fn at(&mut self, number: usize) -> &mut Replenishment {
        &mut self.queue[(self.first + number) % SLOTS]
    }

    fn head(&self) -> Replenishment {
        self.queue[self.first % SLOTS]
    }

    fn pop(&mut self) -> Replenishment {
        let head = self.head();
        self.first = (self.first + 1) % SLOTS;
        self.len -= 1;
        head
    }

    /// Puts a used part back, which can be used again one period after its time.
    fn put_back(&mut self, used: Replenishment) {
        let back = Replenishment { time: used.time + self.period, ..used };
        if self.len > 0 {
            let full = self.len == KEPT_MAX;
            let tail = self.at(self.len - 1);
            if full || tail.end() >= back.time {
                return tail.join(back);
            }
        }
        self.len += 1;
        *self.at(self.len - 1) = back;
    }

    /// Takes the time for which the budget was used off the budget.
    #[inline(always)]
    pub fn charge(&mut self, used: Duration) {
        let head = self.head();
        if used < head.amount {
            return self.split(used);
        }
        self.use_up(used);
    }

    /// At least the head is used up. The excess is taken from amounts that could only be used
    /// later. Steps: at most the number of replenishments.
    #[inline(always)]
    fn use_up(&mut self, mut used: Duration) {
        if used >= self.budget {
            // The whole budget, perhaps several times if the server was not advanced for long.
            let rounds = used.0 / self.budget.0;
            let delay = Duration(self.period.0.saturating_mul(rounds));
            for number in 0..self.len {
                self.at(number).time += delay;
            }
            used.0 %= self.budget.0;
        }
        while used >= self.head().amount {
            let head = self.pop();
            used -= head.amount;
            self.put_back(head);
        }
        self.split(used);
    }

    /// A part of the head was used, less than its amount.
    #[inline(always)]
    fn split(&mut self, used: Duration) {
        if used == Duration::ZERO {
            return;
        }
        let rest = self.at(0);
        let time = rest.time;
        rest.amount.0 -= used.0;
        rest.time += used;
        self.put_back(Replenishment { time, amount: used });
    }

    /// The VCPU becomes ready after it waited: amounts that could be used from earlier on count
    /// from now on.
    #[inline(never)]
    pub fn activate(&mut self, now: Instant) {
        if self.head().time <= now {
            self.delay(now);
        }
        if self.len > REPLENISHMENTS_MAX {
            let last = *self.at(self.len - 1);
            self.len -= 1;
            self.at(self.len - 1).join(last);
        }
    }

    /// The budget is used from `since` on. An amount that could be used for such a time that it would
    /// meet its own replenishment is lost: a server that others keep from running takes at most two
    /// budgets in a row, like a periodic one.
    #[inline]
    pub fn begin(&mut self, since: Instant) {
        let earliest = since - (self.period - self.budget);
        if self.head().time < earliest {
            self.delay(earliest);
        }
    }

    /// The head can be used from `time` on, and the following amounts not earlier.
    fn delay(&mut self, time: Instant) {
        self.at(0).time = time;
        while self.len > 1 {
            let end = self.head().end();
            if self.at(1).time > end {
                break;
            }
            let first = self.pop();
            let head = self.at(0);
            head.time = first.time;
            head.amount += first.amount;
        }
    }

    #[inline]
    pub fn budget(&self, now: Instant) -> Option<Duration> {
        let head = self.head();
        (head.time <= now).then_some(head.amount)
    }

    #[inline]
    pub fn renewal(&self) -> Instant {
        self.head().time
    }
}
