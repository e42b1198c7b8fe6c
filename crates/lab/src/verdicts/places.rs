//! Places in a description of the things that are judged.

use report::verdicts::{self, Row};
use system::description::System;
use system::diagnostic::Place;

/// Names of subjects, the same in all tables.
pub fn task(vm: &str, task: &str) -> String {
    format!("task {vm}.{task}")
}

/// The same for a VCPU of a VM.
pub fn vcpu(vm: &str, vcpu: usize) -> String {
    format!("VCPU {vm}.{vcpu}")
}

/// The same for a VM.
pub fn vm(name: &str) -> String {
    format!("VM {name}")
}

/// The same for a chain.
pub fn chain(name: &str) -> String {
    format!("chain {name}")
}

/// The same for a channel.
pub fn channel(name: &str) -> String {
    format!("channel {name}")
}

/// Returns a verdict with the place at which the description names its subject, if it does.
pub fn placed(system: &System, row: Row) -> Row {
    let place = row.place.clone().or_else(|| place_of(system, &row.subject).map(place));
    row.at(place)
}

/// Returns the place at which a description names a subject.
pub fn place_of<'s>(system: &'s System, subject: &str) -> Option<&'s Place> {
    let chains = system.chains.iter().map(|it| (chain(&it.name.value), &it.name.place));
    let channels = system.channels.iter().map(|it| (channel(&it.name.value), &it.name.place));
    let vms = system.vms.iter().flat_map(|of| {
        let name = &of.name.value;
        let vcpus = of.vcpus.iter().enumerate().map(move |(index, it)| {
            let server = it.server.as_ref().map(|server| &server.class.place);
            (vcpu(name, index), server.unwrap_or(&of.name.place))
        });
        let tasks = of.tasks.iter().map(move |it| (task(name, &it.name.value), &it.name.place));
        [(vm(name), &of.name.place)].into_iter().chain(vcpus).chain(tasks)
    });
    let mut all = chains.chain(channels).chain(vms);
    all.find(|(name, _)| name == subject).map(|(_, place)| place)
}

/// Returns a place in the form of documents.
pub fn place(place: &Place) -> verdicts::Place {
    let (line, column) = place.line_column();
    let length = place.source().text()[place.span()].chars().count();
    verdicts::Place {
        file: place.source().name().into(),
        line,
        column,
        end_column: column + length.max(1),
    }
}
