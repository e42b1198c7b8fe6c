//! The size of coloured RAM in the machine.

use policy::color::{self, Cache, ColorSet, Geometry, Stripe, VirtualLlc};
use units::Bytes;

use super::{Frames, Llc, Memory, PAGE, Plan, Vm};

/// Frames that coloured RAM of this size needs: its pages, and what the
/// hypervisor keeps for the VM in its colours, such as stage-2 tables and the
/// state of each of the frames of its pool.
pub fn frames_needed(size: Bytes, pool_frames: u32) -> u64 {
    color::Area::new(size.0.div_ceil(PAGE.0), pool_frames.into()).frames()
}

/// Returns the cache that a VM with `vllc` sees: these colours of the last-level cache.
///
/// # Errors
///
/// The reason why the cache cannot be made of these colours, and help.
pub(crate) fn virtual_cache(
    llc: Geometry,
    in_registers: bool,
    colors: ColorSet,
) -> Result<Cache, (String, String)> {
    if !in_registers {
        let message = "a virtual cache is shown by the cache registers of the CPUs, but those do \
                       not describe the last-level cache here";
        let help = "remove `vllc`, or `in_registers = false` if the registers do describe it";
        return Err((message.into(), help.into()));
    }
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
    /// Returns the last-level cache that the cache registers show to a VM, if the plan says which
    /// it is: its own colours with `vllc`, all of it otherwise.
    pub fn last_level_cache(&self, vm: &Vm) -> Option<Cache> {
        let Llc { geometry, in_registers } = self.platform.llc?;
        match vm.colors() {
            Some(colors) if vm.vllc => virtual_cache(geometry, in_registers, colors).ok(),
            _ => in_registers.then(|| geometry.cache()),
        }
    }

    /// Bytes of the machine that belong to a VM: its RAM, or all frames of its
    /// colours in its area, and those of its pool.
    pub fn host_bytes(&self, vm: &Vm) -> Bytes {
        let pool = vm.pool.iter().map(|pool| pool.area.into());
        let bytes = vm.memory.iter().map(Memory::frames).chain(pool).map(|it| self.bytes_of(it).0);
        Bytes(bytes.fold(0, u64::saturating_add))
    }

    /// Bytes of the machine that belong to the hypervisor.
    pub fn hypervisor_bytes(&self) -> Bytes {
        let area = self.platform.hypervisor_area;
        let colored = area.map_or(Bytes(0), |area| self.bytes_of(area.into()));
        Bytes(self.platform.hypervisor.size.0.saturating_add(colored.0))
    }

    /// Bytes of the frames.
    fn bytes_of(&self, Frames { region, colors }: Frames) -> Bytes {
        match colors.zip(self.platform.llc) {
            None => region.size,
            Some((colors, llc)) => Bytes(frames(llc.geometry, colors, region.size) * PAGE.0),
        }
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

/// Returns the size of the smallest area with this number of frames of these colours, of which
/// there is at least one; the largest of all sizes if none is enough.
pub(super) fn area(geometry: Geometry, colors: ColorSet, count: u64) -> Bytes {
    let period = period(geometry);
    match frames(geometry, colors, period) {
        0 => Bytes(u64::MAX),
        each => Bytes(count.div_ceil(each).saturating_mul(period.0)),
    }
}
