//! Follows the data of chains through a simulation.

use model::Model;
use sim::{Event, Observer};
use system::description::System;

use crate::chains::Watch;

/// A task: PCPU, VCPU and task, as the simulator counts them.
pub type Key = (usize, usize, usize);

/// Sees the events that another observer sees, and follows the data of chains.
#[derive(Debug)]
pub struct Following<'w, O> {
    /// The other observer.
    pub inner: &'w mut O,
    /// Follows the chains, if there are any.
    pub watch: Option<&'w mut Watch<Key>>,
}

impl<O: Observer> Observer for Following<'_, O> {
    fn event(&mut self, at_ns: u64, pcpu: usize, event: Event) {
        if let Some(watch) = &mut self.watch {
            match event {
                Event::Release { vcpu, task } => watch.release(at_ns, &(pcpu, vcpu, task)),
                Event::Complete { vcpu, task, .. } => watch.complete(at_ns, &(pcpu, vcpu, task)),
                _ => {}
            }
        }
        self.inner.event(at_ns, pcpu, event);
    }

    fn sees_accesses(&self) -> bool {
        self.inner.sees_accesses()
    }
}

/// Returns the watch that follows the chains of a description, if it has any.
pub fn watch(system: &System, model: &Model) -> Option<Watch<Key>> {
    let key = |vm: usize, name: &str| {
        let mut vcpus = model.vcpus().filter(|(.., vcpu)| vcpu.vm == vm);
        vcpus.find_map(|(pcpu, index, vcpu)| {
            let task = vcpu.tasks.iter().position(|task| task.name == name)?;
            Some((pcpu, index, task))
        })
    };
    (!system.chains.is_empty()).then(|| Watch::new(system, key))
}
