//! A VM whose tasks are to be allocated.

use analysis::Duration;
use policy::color::ColorSet;

use crate::{Error, Task};

/// Most tasks of a VM.
pub const TASKS_MAX: usize = 128;

/// A set of tasks of a VM: bit `i` is task `i`.
pub type Mask = u128;

/// Returns the tasks of a set, ascending.
pub fn indices(mut mask: Mask) -> Vec<usize> {
    let mut indices = Vec::with_capacity(mask.count_ones() as usize);
    while mask != 0 {
        indices.push(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
    indices
}

/// Returns the set of these tasks.
pub fn mask(indices: &[usize]) -> Mask {
    indices.iter().fold(0, |mask, index| mask | 1 << index)
}

/// A VCPU before it has tasks, and its fixed properties.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Slot {
    /// Its period: `T^v`.
    pub period: Duration,
    /// Its budget, if that is not to be planned.
    pub budget: Option<Duration>,
    /// Tasks that it has in any case.
    pub pinned: Mask,
}

impl Slot {
    /// Returns a VCPU of which the period is fixed.
    pub fn new(period: Duration) -> Self {
        Self { period, budget: None, pinned: 0 }
    }

    /// Returns true if the same tasks need the same in both.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.period == other.period && self.budget == other.budget
    }
}

/// The colours of a VM's tasks.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Coloring {
    /// Each task has some of the colours of its VCPU, which no other VCPU has: the guest, or
    /// the hypervisor on its behalf, colours tasks (vLLC, vColoring).
    #[default]
    Own,
    /// Each task has all colours of the VM.
    Shared,
    /// Each task has the colours that are given here.
    Fixed(Vec<ColorSet>),
}

/// A VM whose tasks are to be allocated.
#[derive(Clone, Debug)]
pub struct Vm {
    // Private: there are not too many tasks, each is pinned once at most, and has colours
    // if colours are fixed.
    tasks: Vec<Task>,
    vcpus: Vec<Slot>,
    coloring: Coloring,
    /// Fewest colours of the VM, for reasons other than time.
    pub least_colors: usize,
    /// True if the number of its colours is a power of two (vLLC).
    pub power_of_two: bool,
}

impl Vm {
    /// Returns a VM with these tasks, the highest priority first, and these VCPUs.
    ///
    /// # Errors
    ///
    /// There are more than [`TASKS_MAX`] tasks; there is no VCPU, or one whose period is 0 or
    /// shorter than its budget; or pins name a task twice or one that does not exist.
    pub fn new(tasks: Vec<Task>, vcpus: Vec<Slot>) -> Result<Self, Error> {
        if tasks.len() > TASKS_MAX {
            return Err(Error::Tasks { tasks: tasks.len(), most: TASKS_MAX });
        }
        if vcpus.is_empty() {
            return Err(Error::NoVcpu);
        }
        let mut pinned: Mask = 0;
        for (index, slot) in vcpus.iter().enumerate() {
            let budget = slot.budget.unwrap_or(Duration(1));
            if budget == Duration(0) || budget > slot.period || slot.period > analysis::LONGEST {
                return Err(Error::Server { vcpu: index });
            }
            let unknown = slot.pinned.checked_shr(tasks.len() as u32).unwrap_or(0);
            if slot.pinned & pinned != 0 || unknown != 0 {
                return Err(Error::Pinned { vcpu: index });
            }
            pinned |= slot.pinned;
        }
        let coloring = Coloring::Own;
        Ok(Self { tasks, vcpus, coloring, least_colors: 0, power_of_two: false })
    }

    /// Returns the VM with this division of colours among tasks.
    ///
    /// # Errors
    ///
    /// Colours are fixed, but a task has none.
    pub fn with_coloring(self, coloring: Coloring) -> Result<Self, Error> {
        if let Coloring::Fixed(sets) = &coloring
            && (sets.len() != self.tasks.len() || sets.iter().any(|set| set.is_empty()))
        {
            return Err(Error::Fixed);
        }
        Ok(Self { coloring, ..self })
    }

    /// Returns the colours of the tasks.
    pub fn coloring(&self) -> &Coloring {
        &self.coloring
    }

    /// Returns true if colours of the VM are planned.
    pub(crate) fn needs_colors(&self) -> bool {
        !matches!(self.coloring, Coloring::Fixed(_))
    }

    /// Returns true if the VM can have this number of the planned colours.
    pub(crate) fn allows(&self, colors: usize) -> bool {
        match self.coloring {
            Coloring::Fixed(_) => colors == 0,
            _ => colors >= self.least_colors && (!self.power_of_two || colors.is_power_of_two()),
        }
    }

    /// Returns the tasks, the highest priority first.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns the VCPUs.
    pub fn vcpus(&self) -> &[Slot] {
        &self.vcpus
    }

    /// Tasks that some VCPU has in any case.
    pub(crate) fn pinned(&self) -> Mask {
        self.vcpus.iter().fold(0, |pinned, slot| pinned | slot.pinned)
    }
}
