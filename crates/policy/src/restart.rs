//! Restarts of a VM: after which ends of its runs it starts again.

/// After which ends a VM starts again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Restarts {
    /// After a crash.
    pub after_crash: bool,
    /// After a reset for which its guest asked.
    pub after_reset: bool,
    /// Number of restarts after which the VM stays stopped.
    pub limit: u32,
}

/// The end of a run of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// The guest switched the VM, or all of its VCPUs, off.
    Off,
    /// The guest asked for a reset.
    Reset,
    /// The guest could not go on.
    Crash,
}

/// What follows the end of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Then {
    /// The VM starts again.
    Restarts {
        /// Number of its restarts with this one.
        number: u32,
    },
    /// The VM never runs again.
    Over {
        /// True if the VM would start again if it had not reached the limit.
        at_limit: bool,
    },
}

impl Restarts {
    /// Returns what follows this end of a run, if the VM has restarted this often before.
    pub const fn then(self, end: End, before: u32) -> Then {
        let again = match end {
            End::Off => false,
            End::Reset => self.after_reset,
            End::Crash => self.after_crash,
        };
        if again && before < self.limit {
            Then::Restarts { number: before + 1 }
        } else {
            Then::Over { at_limit: again }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWICE: Restarts = Restarts { after_crash: true, after_reset: false, limit: 2 };

    #[test]
    fn a_vm_starts_again_as_often_as_it_may() {
        let then = [0, 1, 2, u32::MAX].map(|before| TWICE.then(End::Crash, before));
        let over = Then::Over { at_limit: true };
        assert_eq!(then, [Then::Restarts { number: 1 }, Then::Restarts { number: 2 }, over, over]);
    }

    #[test]
    fn ends_for_which_no_restart_is_described_are_for_good() {
        for end in [End::Off, End::Reset] {
            assert_eq!(TWICE.then(end, 0), Then::Over { at_limit: false });
        }
        let resets = Restarts { after_reset: true, ..Restarts::default() };
        assert_eq!(resets.then(End::Reset, 0), Then::Over { at_limit: true });
        assert_eq!(resets.then(End::Crash, 0), Then::Over { at_limit: false });
    }
}
