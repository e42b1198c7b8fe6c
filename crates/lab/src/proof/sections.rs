//! The resources that tasks requested and held.

use std::collections::BTreeMap;

use report::proof::Section;
use trace::{Event, LockStep, Trace};

use crate::responses::Key;

/// Returns how tasks wait for and hold each global resource, by resource and task. `names` are the
/// names of the resources, `places` the places of the tasks.
pub fn sections(trace: &Trace, names: &[&str], places: &BTreeMap<Key, usize>) -> Vec<Section> {
    let clock = trace.clock();
    let mut found: BTreeMap<(u8, usize), Section> = BTreeMap::new();
    let mut asked: BTreeMap<(u8, usize), u64> = BTreeMap::new();
    let mut got: BTreeMap<(u8, usize), u64> = BTreeMap::new();
    for (_, entry) in trace.merged() {
        let Event::Lock { vcpu, step, task, resource, global: true } = entry.event else {
            continue;
        };
        let Some(&place) = places.get(&(vcpu, task)) else { continue };
        let key = (resource, place);
        let it = found.entry(key).or_insert_with(|| Section {
            resource: names.get(usize::from(resource)).copied().unwrap_or("resource").into(),
            task: place,
            ..Section::default()
        });
        let since = |start: Option<u64>| {
            start.map_or(0, |start| clock.length_ns(entry.ticks.saturating_sub(start)))
        };
        match step {
            LockStep::Wait => {
                it.waits += 1;
                asked.insert(key, entry.ticks);
            }
            LockStep::Lock => {
                it.times += 1;
                it.wait_max_ns = it.wait_max_ns.max(since(asked.remove(&key)));
                got.insert(key, entry.ticks);
            }
            LockStep::Unlock => it.hold_max_ns = it.hold_max_ns.max(since(got.remove(&key))),
        }
    }
    found.into_values().collect()
}
