//! The start of a VM, and the actions when it ends.
//!
//! A description says this, and its plan repeats it for the hypervisor. All that the tools do with such a property
//! stands here: its key in the description, its type, and how it is written into a plan and read.

use std::fmt;

use abi::plan::{names, words};
use policy::restart::Restarts;

use super::read::Cursor;
use super::tree::Node;
use crate::document::Fields;

/// Restarts of a VM if the description does not limit them.
const RESTART_LIMIT: u32 = 3;

/// The words of `on_bad_address`.
const BAD_ADDRESS_WORDS: [&str; 2] = ["stop", "abort"];

/// The values of a key of a description.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number from the first to the second.
    Whole(u64, u64),
}

/// The start of a VM, and the actions when it ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lifecycle {
    /// The action after a crash.
    pub on_crash: OnEvent,
    /// The action after the VM has reset itself.
    pub on_reset: OnEvent,
    /// Number of restarts after which the VM stays stopped.
    pub restart_limit: u32,
    /// True if an access to an address at which it has nothing fails, as on a machine (an external abort). Otherwise the
    /// access is a crash.
    pub aborts: bool,
    /// True if all of its RAM is mapped before it starts, instead of page by page
    /// when it is first touched.
    pub warm_up: bool,
}

impl Lifecycle {
    /// The keys of a table `[[vm]]` that say this. All of them may be left out.
    pub const KEYS: [(&str, Values); 5] = [
        ("warm_up", Values::Flag),
        ("on_crash", Values::Words(&words::EVENTS)),
        ("on_reset", Values::Words(&words::EVENTS)),
        ("on_bad_address", Values::Words(&BAD_ADDRESS_WORDS)),
        ("restart_limit", Values::Whole(0, u32::MAX as u64)),
    ];

    /// Returns after which ends the VM starts again.
    pub fn restarts(&self) -> Restarts {
        let [after_crash, after_reset] =
            [self.on_crash, self.on_reset].map(|event| event == OnEvent::Restart);
        Restarts { after_crash, after_reset, limit: self.restart_limit }
    }

    /// Returns the lifecycle in a table `[[vm]]`. `colored`: the VM has colours, or they are planned.
    pub(crate) fn described(at: &Fields<'_>, colored: bool) -> Self {
        let warm_up = at.boolean("warm_up");
        let events = OnEvent::ALL.map(|event| (event.as_str(), event));
        let on_crash = at.choice("on_crash", &events);
        let on_reset = at.choice("on_reset", &events);
        let [stop, abort] = BAD_ADDRESS_WORDS;
        let on_bad_address = at.choice("on_bad_address", &[(stop, false), (abort, true)]);
        let restart_limit = at.integer("restart_limit", 0, u64::from(u32::MAX));
        Self {
            on_crash: on_crash.map_or(OnEvent::Stop, |event| event.value),
            on_reset: on_reset.map_or(OnEvent::Restart, |event| event.value),
            restart_limit: restart_limit.map_or(RESTART_LIMIT, |limit| limit.value as u32),
            aborts: on_bad_address.is_some_and(|aborts| aborts.value),
            warm_up: warm_up.unwrap_or(!colored),
        }
    }

    /// Writes the properties of `vm@i`.
    pub(super) fn write(self, vm: &mut Node) {
        vm.strings(names::ON_CRASH, &[self.on_crash.as_str()]);
        vm.strings(names::ON_RESET, &[self.on_reset.as_str()]);
        vm.numbers(names::RESTART_LIMIT, &[self.restart_limit]);
        if self.aborts {
            let comment = "accesses where it has nothing fail, and do not stop it";
            vm.numbers(names::ABORTS, &[1]).comment(comment);
        }
        if self.warm_up {
            vm.numbers(names::WARM_UP, &[1]).comment("all of its RAM is mapped at the start");
        }
    }

    /// Reads the properties of `vm@i`.
    pub(super) fn read(vm: &Cursor<'_>) -> Option<Self> {
        let on_crash = event(vm, names::ON_CRASH);
        let on_reset = event(vm, names::ON_RESET);
        let restart_limit = vm.number(names::RESTART_LIMIT);
        let aborts = vm.one_or_absent(names::ABORTS);
        let warm_up = vm.one_or_absent(names::WARM_UP);
        Some(Self {
            on_crash: on_crash?,
            on_reset: on_reset?,
            restart_limit: restart_limit?,
            aborts,
            warm_up,
        })
    }
}

fn event(vm: &Cursor<'_>, name: &str) -> Option<OnEvent> {
    let word = vm.word(name, &OnEvent::ALL.map(OnEvent::as_str))?;
    OnEvent::ALL.into_iter().find(|event| event.as_str() == word)
}

/// The action on a VM after a crash or a reset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnEvent {
    /// It stays stopped.
    Stop,
    /// It is started again.
    Restart,
}

impl OnEvent {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stop, Self::Restart];

    /// The word in description and plan.
    pub fn as_str(self) -> &'static str {
        let [stop, restart] = words::EVENTS;
        match self {
            Self::Stop => stop,
            Self::Restart => restart,
        }
    }
}

impl fmt::Display for OnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
