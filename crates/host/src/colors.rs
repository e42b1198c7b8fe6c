//! Page colours of VMs: which frames they get, and what became of these.

mod stock;

use policy::color::{Cache, ColorSet, VirtualLlc, VllcError};
pub use policy::color::{Geometry, Shortage};
use serde::Serialize;
pub use stock::{Run, Stock, Wish};

/// Colours of the memory of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Colored {
    /// The colours of the host's cache.
    pub geometry: Geometry,
    /// The colours of the VM.
    pub colors: ColorSet,
    /// True if the VM sees them as its last-level cache (`vllc`).
    pub shown: bool,
    /// The colours that its tasks can ask for.
    pub extra: Option<Extra>,
}

/// Further colours of a VM, and the spare frames that have them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Extra {
    /// The colours, at least one.
    pub colors: ColorSet,
    /// Number of frames, which go round the colours.
    pub pages: u32,
}

impl Colored {
    /// Returns the last-level cache that the VM sees, if it is not that of the host. Pages of a VM go round its colours, so
    /// that a page has in the guest the colour that this cache gives its address.
    pub fn cache(self) -> Result<Option<Cache>, VllcError> {
        match self.shown {
            true => VirtualLlc::new(self.geometry, self.colors).map(|it| Some(it.cache())),
            false => Ok(None),
        }
    }
}

/// The findings about the frames of VMs with colours until the end of a run.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Findings {
    /// The VMs with colours.
    pub vms: Vec<VmFindings>,
    /// Number of looks at all frames.
    pub looks: u64,
    /// The reason why they could not be looked at, if so.
    pub failure: Option<String>,
}

/// The findings about a VM.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct VmFindings {
    /// Its index.
    pub vm: u8,
    /// Its pages: RAM, the tables that let its VCPUs execute, and spare frames.
    pub pages: u64,
    /// The most pages that lay at the same time in frames of other colours, or in none.
    pub lost: u64,
    /// The time at which the first of them was seen, in milliseconds from the start.
    pub lost_at_ms: Option<u64>,
}
