//! The mutants: what is replaced in the sources that are copied.

/// A text of a source that occurs there once, and what the mutant has in its place.
pub struct Mutant {
    pub name: &'static str,
    pub replaced: &'static [(&'static str, &'static str)],
}

/// Those of the protocol of kicks, in `attention.rs`.
pub const ATTENTION: [Mutant; 9] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "place_before_note",
        replaced: &[(
            "let before = self.notes.fetch_or(LOOK, SeqCst);\n        let kicks = match self.place() {",
            "let place = self.place();\n        let before = self.notes.fetch_or(LOOK, SeqCst);\n        let kicks = match place {",
        )],
    },
    Mutant {
        name: "relaxed_run",
        replaced: &[
            ("self.notes.load(SeqCst) != 0", "self.notes.load(crate::fenced::RELAXED) != 0"),
            (
                "self.place.store(Place::Running as u8, SeqCst)",
                "self.place.store(Place::Running as u8, crate::fenced::RELAXED)",
            ),
        ],
    },
    Mutant {
        name: "relaxed_look",
        replaced: &[
            ("match self.place.load(SeqCst) {", "match self.place.load(crate::fenced::RELAXED) {"),
            (
                "let before = self.notes.fetch_or(LOOK, SeqCst);",
                "let before = self.notes.fetch_or(LOOK, crate::fenced::RELAXED);",
            ),
        ],
    },
    Mutant {
        name: "wait_without_look",
        replaced: &[(
            "self.place.store(Place::Waiting as u8, SeqCst);\n        self.is_noted()",
            "self.place.store(Place::Waiting as u8, SeqCst);\n        false",
        )],
    },
    Mutant {
        name: "notes_taken_late",
        replaced: &[(
            "let called = if noted { attend() } else { None };",
            "let called = if noted { attend() } else { None };\n        self.notes.store(0, SeqCst);",
        )],
    },
    Mutant {
        name: "quiet_call",
        replaced: &[(
            "place => can_take(place) && self.notes",
            "place => can_take(place) && before & LOOK == 0 && self.notes",
        )],
    },
    Mutant {
        name: "settled_sleeps_on",
        replaced: &[(
            "place == Place::Settled && called == Some(true)",
            "place == Place::Settled && called == None && noted",
        )],
    },
    Mutant {
        name: "later_kick_unpaid",
        replaced: &[("        if kicks {\n", "        if kicks && before == 0 {\n")],
    },
];

/// Those of the lock that CPUs get in turn, in `mutex/ticket.rs` of the crate `spin`.
pub const TICKET: [Mutant; 4] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "relaxed_lock",
        replaced: &[(
            "while self.next_serving.load(Ordering::Acquire)",
            "while self.next_serving.load(Ordering::Relaxed)",
        )],
    },
    Mutant {
        name: "relaxed_unlock",
        replaced: &[("(new_ticket, Ordering::Release)", "(new_ticket, Ordering::Relaxed)")],
    },
    Mutant {
        name: "one_ticket_for_two",
        replaced: &[(
            "let ticket = self.next_ticket.fetch_add(1, Ordering::Relaxed);",
            "let ticket = self.next_ticket.load(Ordering::Relaxed);
            self.next_ticket.store(ticket + 1, Ordering::Relaxed);",
        )],
    },
];

/// Those of messages through channels, in `channel.rs` of the library for guests.
pub const CHANNEL: [Mutant; 11] = [
    Mutant { name: "real", replaced: &[] },
    Mutant { name: "unmarked", replaced: &[("        state.store(0, Ordering::Relaxed);\n", "")] },
    Mutant {
        name: "marked_without_a_fence",
        replaced: &[(
            "        state.store(0, Ordering::Relaxed);\n        fence(Ordering::Release);\n",
            "        state.store(0, Ordering::Relaxed);\n",
        )],
    },
    Mutant {
        name: "newest_too_early",
        replaced: &[(
            "header(NEWEST).store(number, Ordering::Release)",
            "header(NEWEST).store(number, Ordering::Relaxed)",
        )],
    },
    Mutant {
        name: "newest_without_acquiring",
        replaced: &[(
            "header(NEWEST).load(Ordering::Acquire)",
            "header(NEWEST).load(Ordering::Relaxed)",
        )],
    },
    Mutant {
        name: "no_second_look",
        replaced: &[("        state.load(Ordering::Relaxed) == number\n", "        true\n")],
    },
    Mutant {
        name: "second_look_without_a_fence",
        replaced: &[(
            "        fence(Ordering::Acquire);\n        state.load",
            "        state.load",
        )],
    },
    Mutant {
        name: "opening_without_a_fence",
        replaced: &[(
            "        fence(Ordering::Release);\n        if load(MAGIC)",
            "        if load(MAGIC)",
        )],
    },
    Mutant {
        name: "opened_too_early",
        replaced: &[(
            "store(opening.wrapping_add(1), Ordering::Release)",
            "store(opening.wrapping_add(1), Ordering::Relaxed)",
        )],
    },
    Mutant {
        name: "no_look_for_openings",
        replaced: &[("if header(EPOCH).load(Ordering::Relaxed) != epoch {", "if false {")],
    },
    Mutant {
        name: "look_for_openings_without_a_fence",
        replaced: &[(
            "            fence(Ordering::Acquire);\n            if header(EPOCH)",
            "            if header(EPOCH)",
        )],
    },
];

/// Those of one direction of a serial line, in `vdev/wire.rs`.
pub const WIRE: [Mutant; 5] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "shown_too_early",
        replaced: &[("self.sent.load(Relaxed), Release)", "self.sent.load(Relaxed), Relaxed)")],
    },
    Mutant {
        name: "seen_without_acquiring",
        replaced: &[("self.shown.load(Acquire)", "self.shown.load(Relaxed)")],
    },
    Mutant {
        name: "no_second_look",
        replaced: &[("            room = WIRE_SIZE - self.used();\n", "            room += 0;\n")],
    },
    Mutant {
        name: "second_look_without_a_fence",
        replaced: &[(
            "            // The reader makes room before it looks for this.\n            fence(SeqCst);\n",
            "",
        )],
    },
];

/// Those of notes about ports, in `vm/port/notes.rs`.
pub const NOTES: [Mutant; 5] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "no_second_try",
        replaced: &[(
            "            fence(SeqCst);\n            try_lock()\n        })?;",
            "            fence(SeqCst);\n            None\n        })?;",
        )],
    },
    Mutant {
        name: "misses_late",
        replaced: &[
            ("            self.missed.fetch_or(1 << port, SeqCst);\n", ""),
            (
                "            try_lock()\n        })?;",
                "            let found = try_lock();\n            \
                 self.missed.fetch_or(1 << port, SeqCst);\n            found\n        })?;",
            ),
        ],
    },
    Mutant {
        name: "leaves_without_a_look",
        replaced: &[(
            "self.missed.load(Relaxed) & 1 << port != 0\n",
            "false && self.missed.load(Relaxed) & 1 << port != 0\n",
        )],
    },
    Mutant {
        name: "forgets_by_a_store",
        replaced: &[("self.told.swap(0, SeqCst);", "self.told.store(0, SeqCst);")],
    },
];

/// Those of ends of links, in `vm/link.rs`.
pub const LINKS: [Mutant; 8] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "comes_while_moving",
        replaced: &[("if link.moving.load(Relaxed) {", "if false {")],
    },
    Mutant {
        name: "stops_without_taking",
        replaced: &[("        link.receive.lock().0 = None;\n", "")],
    },
    Mutant {
        name: "stops_without_waiting",
        replaced: &[(
            "        link.receive.lock().0 = None;\n",
            "        if let Some(mut receive) = link.receive.try_lock() { receive.0 = None; }\n",
        )],
    },
    Mutant {
        name: "starts_without_forgetting",
        replaced: &[(
            "            link.broken.store(false, Relaxed);\n            let rings",
            "            let rings",
        )],
    },
    Mutant {
        name: "breaks_late",
        replaced: &[(
            "            link.broken.store(true, Relaxed);\n            drop(receive);\n",
            "            drop(receive);\n            link.broken.store(true, Relaxed);\n",
        )],
    },
    Mutant {
        name: "breaks_untold",
        replaced: &[(
            "            machine::tell_link(vm.index, number);\n            Err",
            "            Err",
        )],
    },
    Mutant {
        name: "sends_untold",
        replaced: &[("if sending.done || link.broken.load(Relaxed) {", "if sending.done {")],
    },
];

/// Those of what CPUs do, in these files of the hypervisor.
pub const CPUS: [(&str, Mutant); 13] = [
    ("", Mutant { name: "real", replaced: &[] }),
    (
        "pcpu/sharing.rs",
        Mutant {
            name: "goes_on_unseen",
            replaced: &[(
                "core::ptr::eq(next, at) && at.vcpu.attention.is_running()",
                "core::ptr::eq(next, at)",
            )],
        },
    ),
    (
        "pcpu/sharing.rs",
        Mutant {
            name: "enters_without_a_look",
            replaced: &[("if at.vcpu.attention.run() {", "if at.vcpu.attention.run() && false {")],
        },
    ),
    (
        "pcpu/sharing.rs",
        Mutant {
            name: "sleeps_without_a_look",
            replaced: &[(
                "if at.vcpu.attention.wait() {",
                "if at.vcpu.attention.wait() && false {",
            )],
        },
    ),
    (
        "locks.rs",
        Mutant {
            name: "waits_under_the_table",
            replaced: &[(
                "        let (_, vcpu) = self.vcpu(who)?;\n",
                "        let (vm, vcpu) = self.vcpu(who)?;\n        \
                 vm.gic.raise_private(&crate::vm::GicEnv::any(vm), vcpu.index, \
                 abi::hypercall::LOCK_INTERRUPT);\n",
            )],
        },
    ),
    (
        "locks.rs",
        Mutant {
            name: "grants_without_a_kick",
            replaced: &[(
                "    if let Some(vcpu) = granted {\n        vcpu.pcpu.kick();\n",
                "    if let Some(vcpu) = granted {\n        let _ = vcpu;\n",
            )],
        },
    ),
    (
        "locks.rs",
        Mutant {
            name: "kicks_before_the_grant",
            replaced: &[
                ("        sections.untold.store(true, Release);\n", ""),
                (
                    "    if let Some(vcpu) = granted {\n        vcpu.pcpu.kick();\n",
                    "    if let Some(vcpu) = granted {\n        vcpu.pcpu.kick();\n        vcpu.sections.untold.store(true, Release);\n",
                ),
            ],
        },
    ),
    (
        "locks/calls.rs",
        Mutant {
            name: "two_owners",
            replaced: &[(
                "let locked = locks.with(|table| match table.take(who, resource, function == LOCK) {",
                "let locked = locks.with(|table| match {
                let _ = table.leave(who.vcpu() ^ 1, resource, false);
                table.take(who, resource, function == LOCK)
            } {",
            )],
        },
    ),
    (
        "locks/calls.rs",
        Mutant {
            name: "opens_and_closes_alike",
            replaced: &[
                ("true => open.fetch_and(!bit, Relaxed)", "true => open.fetch_xor(bit, Relaxed)"),
                ("false => open.fetch_or(bit, Relaxed)", "false => open.fetch_xor(bit, Relaxed)"),
            ],
        },
    ),
    (
        "pcpu/sharing.rs",
        Mutant {
            name: "masks_without_waking",
            replaced: &[("                    self.wake(it, now);\n", "")],
        },
    ),
    (
        "vdev/gic/attention.rs",
        Mutant {
            name: "settles_without_folding",
            replaced: &[("if !wakes && called.is_some() {", "if !wakes {")],
        },
    ),
    (
        "vdev/gic/state.rs",
        Mutant {
            name: "waits_for_those_who_sleep",
            replaced: &[(
                "env.attention(vcpu).is_some_and(Attention::is_running);",
                "env.attention(vcpu).is_some_and(|it| it.place() != super::attention::Place::Settled);",
            )],
        },
    ),
    (
        "vdev/gic/state.rs",
        Mutant {
            name: "trusts_what_seems_listed",
            replaced: &[(
                "(bank.targets[vcpu] | bank.held[vcpu])",
                "bank.targets[vcpu] & !bank.listed",
            )],
        },
    ),
];
