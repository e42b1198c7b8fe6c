//! Events and news of a CPU in few words, where no VCPUs share a memory budget.

#![allow(dead_code, reason = "each test file uses a part of it")]

use policy::bandwidth::NoGrants;
use policy::cpu::{Cpu, Decision, Event, News, Slot};
use policy::time::Instant;

pub trait Events {
    fn tell(&mut self, event: Event, now: Instant) -> Decision;

    fn news(&mut self) -> Vec<News>;

    fn wake(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.tell(Event::Wake(vcpu), now)
    }

    fn block(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.tell(Event::Block(vcpu), now)
    }

    fn kick(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.tell(Event::Kick(vcpu), now)
    }

    fn tick(&mut self, now: Instant) -> Decision {
        self.tell(Event::Tick, now)
    }

    fn enter_gcs(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.tell(Event::EnterGcs(vcpu), now)
    }

    fn leave_gcs(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.tell(Event::LeaveGcs(vcpu), now)
    }

    /// Of the news, which all are taken, the VCPU that has to wait in its section.
    fn stopped_in_gcs(&mut self) -> Option<usize> {
        let stopped = |news| if let News::StoppedInGcs(vcpu) = news { Some(vcpu) } else { None };
        self.news().into_iter().find_map(stopped)
    }

    /// Of the news, which all are taken, the VCPU whose section was ended.
    fn ended_gcs(&mut self) -> Option<usize> {
        let ended = |news| if let News::EndedGcs(vcpu) = news { Some(vcpu) } else { None };
        self.news().into_iter().find_map(ended)
    }
}

impl<S: AsRef<[Slot]> + AsMut<[Slot]>> Events for Cpu<S> {
    fn tell(&mut self, event: Event, now: Instant) -> Decision {
        self.step(event, now, &mut NoGrants)
    }

    fn news(&mut self) -> Vec<News> {
        std::iter::from_fn(|| self.take_news()).collect()
    }
}
