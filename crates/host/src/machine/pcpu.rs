//! A PCPU: one thread, which asks the scheduler what to run, and runs it.
//!
//! The thread itself executes the VCPUs, one after the other. So nothing else has to be woken when another VCPU gets the
//! PCPU, and no lock and no priority decides between VCPUs: only [`policy::cpu`] does. The alarm of the thread ends an
//! execution when the scheduler has to be asked again.
//!
//! Records are those of the hypervisor (`hypervisor/src/pcpu/sharing.rs`), with the times that the scheduler was told.

mod asked;
mod regulation;
mod sections;

use std::sync::Arc;

use abi::kvm::Call;
use abi::trace::{Kind, NO_LIMIT, Record};
use policy::bandwidth::NoGrants;
use policy::cpu::{Cpu, Event, Slot};
use policy::restart::Then;
use policy::time::Instant;
use vmm::{Alarm, Exit, RealTime, Scale, Vcpu, now};

use super::life::Reason;
use super::locks::Locks;
use super::news::Teller;
use super::records::Writer;
use super::requests::Requests;
use super::restart::Renewal;
use super::shared::Shared;
use super::{FREQUENCY_HZ, Id};
pub use regulation::Regulation;
pub use sections::Sections;

/// An alarm stops a VCPU within this time on most hosts and almost always.
const ALARM_MAX_NS: u64 = 100_000;

/// A VCPU executes for little more than twice as long with the same clock. Linux may change the speed of its own by 500
/// millionths, which are 105 us then.
const RENEWAL_NS: u64 = 100_000_000;

/// A Linux whose text finds no place waits for so long, and then tries again.
const TEXT_PAUSE_NS: u64 = 1_000_000;

/// The things that the thread of a PCPU has from the beginning.
#[derive(Debug)]
pub struct Context {
    /// The number of the PCPU.
    pub number: usize,
    /// The CPU of the host.
    pub cpu: usize,
    /// The speed of the clock of guests.
    pub scale: Scale,
    /// The trace.
    pub records: Writer,
    /// The way for news to the thread that shows them.
    pub news: Teller,
    /// The state that all threads know.
    pub shared: Arc<Shared>,
    /// The resources that VMs share, if they share some.
    pub locks: Option<Arc<Locks>>,
    /// The extra colours of each VM.
    pub requests: Arc<[Option<Requests>]>,
    /// The event that is counted, if VCPUs here have limits of it.
    pub counts: Option<vmm::Event>,
}

/// A PCPU.
pub struct Pcpu {
    context: Context,
    thread: RealTime,
    alarm: Alarm,
    scheduler: Cpu<Vec<Slot>>,
    seats: Vec<Seat>,
    /// The VCPU to run.
    run: Option<usize>,
    /// The VCPU that executed last.
    loaded: Option<usize>,
    /// The VCPU that executed last has blocked.
    blocked: bool,
    /// The scheduler is to be asked then.
    timer: Option<u64>,
    /// Time of the last record.
    last: u64,
    /// Something may have happened since the last look at what there is to do.
    unseen: bool,
    /// The limits of memory accesses, if VCPUs here have some.
    regulation: Option<Regulation>,
}

/// A VCPU and its state.
struct Seat {
    id: Id,
    vcpu: Vcpu,
    state: State,
    /// Number of restarts of its VM that it knows of.
    restarts: u64,
    /// The place of its VCPU after the next restart.
    renewal: Renewal,
    exits: u64,
    /// Marks that were lost.
    lost: u64,
    /// Its critical sections, if VMs share resources.
    sections: Option<Sections>,
    /// It waits for colours, which come while it is the VCPU to run.
    asks: bool,
    /// The number of moves when it last came upon memory that it could not access.
    hidden: Option<u64>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Ready,
    /// It waits until this time.
    Waits(u64),
    /// Its VM may restart.
    Stopped,
    Off,
}

/// Returns a time at which a VCPU stops that nothing else stops, so that it goes on with a new clock. The time is the same for a
/// while, so that the alarm is not set for each exit.
fn renewal(now: u64) -> u64 {
    (now / RENEWAL_NS).saturating_add(2).saturating_mul(RENEWAL_NS)
}

/// Returns the VCPU that an input of the scheduler is about, as records have it.
fn about(event: Event) -> Option<usize> {
    match event {
        Event::Wake(place) | Event::Block(place) | Event::Overflow(place) => Some(place),
        _ => None,
    }
}

impl Pcpu {
    /// Returns a PCPU whose VCPUs the scheduler knows by their places here.
    pub fn new(
        context: Context,
        (thread, alarm): (RealTime, Alarm),
        scheduler: Cpu<Vec<Slot>>,
        vcpus: Vec<(Id, (Vcpu, Renewal), Option<Sections>)>,
    ) -> Self {
        let seat = |(id, (vcpu, renewal), sections)| {
            let state = State::Waits(0);
            Seat {
                id,
                vcpu,
                state,
                restarts: 0,
                renewal,
                exits: 0,
                lost: 0,
                sections,
                asks: false,
                hidden: None,
            }
        };
        Self {
            context,
            thread,
            alarm,
            scheduler,
            seats: vcpus.into_iter().map(seat).collect(),
            run: None,
            loaded: None,
            blocked: false,
            timer: None,
            last: 0,
            unseen: true,
            regulation: None,
        }
    }

    /// Holds VCPUs to limits of memory accesses.
    pub fn with_regulation(self, regulation: Option<Regulation>) -> Self {
        Self { regulation, ..self }
    }

    /// Runs the VCPUs until all are off. The first period of all servers starts at `start`.
    pub fn run(mut self, start: u64) {
        for place in 0..self.seats.len() {
            self.seats[place].vcpu.set_servers_start(start);
            self.attach(place);
        }
        // The record is as old as the servers are, though the time is still to come.
        self.context.records.write(Record::new(start, Kind::Epoch, 0, 0, FREQUENCY_HZ));
        let mut time = now();
        while !self.context.shared.stops() {
            let mut next = self.next_look();
            if self.unseen || next.is_some_and(|next| next <= time) {
                time = now();
                self.look(time);
                if self.seats.iter().all(|seat| seat.state == State::Off) {
                    break;
                }
                next = self.next_look();
            }
            match self.run {
                Some(seat) => {
                    let interrupt = self.seats[seat].vcpu.next_interrupt();
                    let end = next.into_iter().chain(interrupt).fold(renewal(time), u64::min);
                    // A VCPU that goes on may be interrupted too early: in critical sections there is more time, and then
                    // the same time as before, and to set the alarm takes as long as everything else at their ends.
                    if self.loaded != Some(seat) || !self.alarm.rings_by(end) {
                        self.alarm.set(Some(end));
                    }
                    time = self.execute(seat, time);
                }
                None => {
                    self.alarm.set(next);
                    self.thread.wait();
                    self.alarm.rang();
                    self.counter_rang();
                    self.unseen = true;
                }
            }
        }
        self.mark_accesses();
        for Seat { id, exits, lost, .. } in self.seats {
            self.context.news.left(id, exits, lost);
        }
    }

    /// The time at which there is something to do, unless a guest does something before.
    fn next_look(&self) -> Option<u64> {
        let waits = self.seats.iter().filter_map(|seat| match seat.state {
            State::Waits(until) if until < u64::MAX => Some(until),
            _ => None,
        });
        waits.chain(self.timer).min()
    }

    /// Does what is to be done at this time.
    fn look(&mut self, now: u64) {
        self.unseen = false;
        self.mark_accesses();
        for place in 0..self.seats.len() {
            if self.seats[place].state == State::Stopped {
                self.start_again(place, now);
            }
            let Seat { id, state, restarts, .. } = self.seats[place];
            if let State::Stopped | State::Off = state {
                continue;
            }
            if self.context.shared.life(id.vm).has_ended(restarts) {
                self.stop(place, state, now);
                continue;
            }
            if let State::Waits(until) = state
                && until <= now
            {
                self.wake(place, self.time_of_wake(until, now));
            }
            self.look_at_sections(place, now);
        }
        self.look_at_accesses(now);
        if self.timer.is_some_and(|timer| timer <= now) {
            self.decide(Event::Tick, Kind::Tick, now);
        }
    }

    /// Lets alarms and kicks stop a VCPU.
    fn attach(&mut self, place: usize) {
        if self.seats[place].vcpu.attach(&self.thread).is_err() {
            self.end(place, Reason::Fault("no-signals"));
        }
    }

    /// The run of a VCPU's VM has ended.
    fn stop(&mut self, place: usize, state: State, now: u64) {
        self.seats[place].state = State::Stopped;
        self.seats[place].asks = false;
        self.record(now, Kind::VcpuStop, Some(place), 0);
        self.stop_sections(place, now);
        if let Some(reason) = self.context.shared.life(self.seats[place].id.vm).leave() {
            self.record(now, Kind::VmStop, Some(place), reason);
        }
        if state == State::Ready {
            self.blocked |= self.loaded == Some(place);
            self.decide(Event::Block(place), Kind::Block, now);
        }
        self.start_again(place, now);
    }

    /// Starts a VCPU that has stopped, if its VM has restarted. If its VM never does, the VCPU is off.
    fn start_again(&mut self, place: usize, now: u64) {
        let seat = &mut self.seats[place];
        let life = self.context.shared.life(seat.id.vm);
        let restarts = life.restarts();
        if restarts > seat.restarts && seat.renewal.take(&mut seat.vcpu) {
            seat.restarts = restarts;
            seat.state = State::Waits(0);
            if seat.id.vcpu == 0 {
                self.record(now, Kind::VmStart, Some(place), restarts);
            }
            self.attach(place);
        } else if life.is_over() {
            seat.state = State::Off;
        }
    }

    /// A VCPU that waited has something to do.
    fn wake(&mut self, place: usize, time: u64) {
        self.seats[place].state = State::Ready;
        self.blocked &= self.loaded != Some(place);
        self.count_for(place, time);
        self.decide(Event::Wake(place), Kind::Wake, time);
    }

    /// Returns the time from which on a VCPU pays that waited until some time before now. If it preempts another one, then not
    /// that one has to pay for the alarm by which it is stopped. What takes much longer than alarms do is no matter of VCPUs:
    /// the host took it from the one that executed.
    fn time_of_wake(&self, until: u64, now: u64) -> u64 {
        match self.run {
            Some(_) => until.max(now.saturating_sub(ALARM_MAX_NS)).max(self.last),
            None => now,
        }
    }

    /// Tells the scheduler, and notes what it decides.
    fn decide(&mut self, event: Event, kind: Kind, now: u64) {
        if self.regulation.is_some() {
            return self.decide_regulated(event, kind, now);
        }
        self.record(now, kind, about(event), 0);
        let decision = self.scheduler.step(event, Instant(now), &mut NoGrants);
        self.timer = decision.timer.map(|timer| timer.0);
        self.act(decision.run, now);
        self.take_news(now);
    }

    /// Runs what the scheduler has decided to run.
    fn act(&mut self, run: Option<usize>, now: u64) {
        if run == self.run {
            return;
        }
        self.run = run;
        match self.run {
            Some(place) => {
                let budget = self.scheduler.budget().0.min(NO_LIMIT);
                self.record(now, Kind::VcpuRun, Some(place), budget);
            }
            None => self.record(now, Kind::Idle, None, 0),
        }
    }

    /// Lets a VCPU execute until it stops, and does what it asks for. `from`: a time since which no other VCPU has executed, if
    /// this one goes on. Returns the time at which it stopped.
    fn execute(&mut self, place: usize, mut from: u64) -> u64 {
        if self.loaded != Some(place) {
            from = now();
            let before = self.loaded.replace(place);
            if std::mem::take(&mut self.blocked) {
                if let Some(before) = before {
                    self.count_switch_for(before, from);
                }
                self.scheduler.enter(Instant(from));
                self.record(from, Kind::Enter, Some(place), 0);
            }
        }
        let seat = &mut self.seats[place];
        if seat.asks {
            self.go_on_asking(place);
            // Nothing interrupts that: each page is followed by a look at everything.
            self.unseen = true;
            return now();
        }
        let exit = seat.vcpu.run(self.context.scale);
        let now = now();
        seat.exits += seat.vcpu.take_exits();
        self.take_marks(place, from, now);
        // What other threads tell comes with a kick, and times with an alarm: a VCPU that only asks for resources, or passes marks
        // on, can go on without a look at everything. Where accesses are counted, each look tells for whom.
        let is_small = matches!(
            exit,
            Exit::Call(Call::Lock | Call::Unlock | Call::Granted | Call::Open | Call::Marks)
        );
        self.unseen = !is_small || self.regulation.is_some();
        let Seat { id, vcpu, .. } = &self.seats[place];
        match exit {
            Exit::Signal => {
                self.thread.take();
                self.alarm.rang();
                self.counter_rang();
            }
            Exit::Call(Call::Marks) => {}
            Exit::Call(Call::Console) => {
                if self.context.shared.may_show(id.vm) {
                    self.context.news.console(id.vm, |text| vcpu.read_text(text));
                    self.context.shared.tell();
                } else {
                    vcpu.refuse_text();
                }
            }
            Exit::Call(Call::Wait) => {
                let until = vcpu.argument();
                if vcpu.knows_grants() {
                    self.block(place, until, now);
                }
            }
            Exit::Idle(until) => self.block(place, until, now),
            Exit::Timer => {}
            Exit::Text => self.show(place, now),
            Exit::Call(call @ (Call::Open | Call::Lock | Call::Unlock | Call::Granted)) => {
                self.serve(place, call, now);
            }
            Exit::Call(Call::Colors) => self.ask(place),
            Exit::Hidden if self.may_try_again(place) => {}
            Exit::Hidden => self.end(place, Reason::Fault("kvm-error")),
            Exit::Call(Call::Off) | Exit::Off => self.end(place, Reason::Off),
            Exit::Call(Call::Reset) | Exit::Reset => self.end(place, Reason::Reset),
            Exit::Fault(why) => self.end(place, Reason::Fault(why)),
        }
        now
    }

    /// A VCPU waits until some time, if that is still to come.
    fn block(&mut self, place: usize, until: u64, now: u64) {
        if until > now {
            self.seats[place].state = State::Waits(until);
            self.blocked = true;
            self.decide(Event::Block(place), Kind::Block, now);
        }
    }

    /// Passes on the text of a Linux. It cannot be told to try again, and waits if its text has to.
    fn show(&mut self, place: usize, now: u64) {
        let Seat { id, vcpu, .. } = &mut self.seats[place];
        if self.context.shared.may_show(id.vm) {
            self.context.news.console(id.vm, |text| vcpu.take_text(text));
            self.context.shared.tell();
        } else {
            self.block(place, now + TEXT_PAUSE_NS, now);
        }
    }

    /// Takes the marks that a VCPU has written from `from` to `now`. What it says of their times is believed within these.
    fn take_marks(&mut self, place: usize, from: u64, now: u64) {
        let Seat { id, vcpu, lost, .. } = &mut self.seats[place];
        let (id, last, records) = (*id, &mut self.last, &mut self.context.records);
        let overwritten = vcpu.take_marks(|time, value| {
            *last = time.clamp(from, now).max(*last);
            let mark = Record::new(*last, Kind::GuestMark, id.vm, id.vcpu, value);
            *lost += u64::from(!records.mark(mark));
        });
        *lost = lost.saturating_add(records.lose(overwritten));
    }

    /// The VM of a VCPU ends, or starts again: its VCPUs stop, here and on other PCPUs, when these look next.
    fn end(&mut self, place: usize, reason: Reason) {
        let Seat { id: Id { vm, .. }, restarts, .. } = self.seats[place];
        let Context { shared, news, .. } = &mut self.context;
        let Some(then) = shared.life(vm).end(restarts, reason) else { return };
        match then {
            Then::Restarts { number } => {
                let limit = shared.life(vm).limit();
                news.restarts(vm, reason.name().unwrap_or_default(), number, limit);
            }
            Then::Over { at_limit } => {
                if at_limit {
                    news.at_limit(vm);
                }
                news.ended(vm, reason.name());
            }
        }
        shared.kick_vm(vm);
        shared.tell();
    }

    fn record(&mut self, time: u64, kind: Kind, about: Option<usize>, argument: u64) {
        self.last = time.max(self.last);
        let Id { vm, vcpu } = about.map_or(Id { vm: 0, vcpu: 0 }, |place| self.seats[place].id);
        self.context.records.write(Record::new(self.last, kind, vm, vcpu, argument));
    }
}
