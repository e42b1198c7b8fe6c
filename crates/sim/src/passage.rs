//! The way of a job through its critical sections.

use crate::Section;

/// The position of a job among its critical sections.
#[derive(Clone, Debug, Default)]
pub struct Passage {
    /// Number of the task among those of its VCPU that have sections.
    number: usize,
    sections: Vec<Section>,
    /// Execution of a job that takes as long as jobs can.
    longest: u64,
    /// For each section of the first job, the execution times at which it begins and ends.
    places: Vec<(u64, u64)>,
    /// Section, and whether the job is in it.
    at: (usize, bool),
    /// True if the job has requested the resource of the next section, which is global, and has to
    /// wait.
    pub waits: bool,
}

impl Passage {
    /// `longest`: execution of a job that takes as long as jobs can.
    pub fn new(number: usize, sections: &[Section], longest: u64) -> Self {
        let sections = sections.to_vec();
        let places = vec![(0, 0); sections.len()];
        Self { number, longest, places, sections, ..Self::default() }
    }

    /// Returns the number of the task among those of its VCPU that have sections, if it has some.
    #[inline]
    pub fn number(&self) -> Option<usize> {
        (!self.sections.is_empty()).then_some(self.number)
    }

    /// Begins a job with this execution time.
    pub fn begin(&mut self, execution: u64) {
        if self.sections.is_empty() {
            return;
        }
        let longest = u128::from(self.longest.max(1));
        let place = |at: u64| (u128::from(at) * u128::from(execution) / longest) as u64;
        let mut end = 0;
        for (section, places) in self.sections.iter().zip(&mut self.places) {
            let start = end + section.after;
            end = start + section.length;
            *places = (place(start), place(end));
        }
        self.at = (0, false);
    }

    /// Returns the execution time at which the job next enters or leaves a section.
    #[inline]
    pub fn next(&self) -> Option<u64> {
        let (start, end) = self.places.get(self.at.0)?;
        Some(if self.at.1 { *end } else { *start })
    }

    /// Returns the resource, and whether the job is in the section, which it leaves next.
    pub fn current(&self) -> Option<(usize, bool)> {
        Some((self.sections.get(self.at.0)?.resource, self.at.1))
    }

    /// Lets the job enter or leave the section.
    pub fn pass(&mut self) {
        self.at = match self.at {
            (section, false) => (section, true),
            (section, true) => (section + 1, false),
        };
    }
}
