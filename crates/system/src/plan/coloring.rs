//! How much of the machine coloured RAM takes.

use policy::color::{Cache, ColorSet, Geometry, Stripe, VirtualLlc};

use super::{Coloring, PAGE, Plan, Vm};
use crate::units::Bytes;

/// Frames that coloured RAM of this size needs: its pages, and what the
/// hypervisor keeps for the VM in its colours, such as stage-2 tables.
pub fn frames_needed(size: Bytes) -> u64 {
    let pages = size.0.div_ceil(PAGE.0);
    pages + 64 + pages / 256
}

/// The cache that a VM with `vllc` sees: these colours of the last-level cache.
///
/// # Errors
///
/// Why it cannot be made of them, and what to do.
pub(crate) fn virtual_cache(llc: Geometry, colors: ColorSet) -> Result<Cache, (String, String)> {
    let vllc = VirtualLlc::new(llc, colors).map_err(|error| {
        let below = 1 << colors.len().checked_ilog2().unwrap_or(0);
        let help = match below * 2 {
            above if above <= llc.colors() => format!("give the VM {below} or {above} colours"),
            _ => format!("give the VM {below} colours"),
        };
        (error.to_string(), help)
    })?;
    if llc.color_bytes() != PAGE.0 {
        let message = format!(
            "a virtual cache needs colours that change with each page, but here {} are of one",
            Bytes(llc.color_bytes())
        );
        let help = "use `color_bits = \"above-page\"` for this cache, or remove `vllc`";
        return Err((message, help.into()));
    }
    Ok(vllc.cache())
}

impl Plan {
    /// The last-level cache as a VM sees it, if the plan says which it is: its
    /// own colours with `vllc`, all of it otherwise.
    pub fn last_level_cache(&self, vm: &Vm) -> Option<Cache> {
        let llc = self.platform.llc?;
        match vm.colors() {
            Some(colors) if vm.vllc => virtual_cache(llc, colors).ok(),
            _ => Some(llc.cache()),
        }
    }

    /// Bytes of the machine that belong to a VM: its RAM, or all frames of its
    /// colours in its area.
    pub fn host_bytes(&self, vm: &Vm) -> Bytes {
        let bytes = vm.memory.iter().map(|memory| match memory.coloring.zip(self.platform.llc) {
            None => memory.size.0,
            Some((Coloring { colors, area }, llc)) => frames(llc, colors, area) * PAGE.0,
        });
        Bytes(bytes.fold(0, u64::saturating_add))
    }
}

/// Bytes after which colours repeat: areas start and end at a multiple of it.
pub(super) fn period(geometry: Geometry) -> Bytes {
    Bytes(Stripe::period_of(PAGE.0, geometry.mask()))
}

/// Frames of these colours in an area of this size.
pub(super) fn frames(geometry: Geometry, colors: ColorSet, area: Bytes) -> u64 {
    Stripe::new(PAGE.0, geometry.mask(), colors, 0).map_or(0, |stripe| stripe.count(area.0))
}

/// The size of the smallest area with this number of frames of these colours,
/// of which there is at least one; the largest of all sizes if none is enough.
pub(super) fn area(geometry: Geometry, colors: ColorSet, count: u64) -> Bytes {
    let period = period(geometry);
    match frames(geometry, colors, period) {
        0 => Bytes(u64::MAX),
        each => Bytes(count.div_ceil(each).saturating_mul(period.0)),
    }
}
