//! The owners of memory, in the format of cachescope.

use std::fmt::Write;

use policy::color::{Geometry, Stripe};
use system::address::Region;
use system::plan::{Frames, Memory, Plan, Vm};

use crate::failure::Failure;

/// The owner of the hypervisor's memory.
pub const HYPERVISOR: &str = "hypervisor";
/// The owner of all memory that no VM has.
const UNOWNED: &str = "unowned";

/// Returns a line for each contiguous piece of memory, and one for each CPU of a VM.
pub fn text(plan: &Plan) -> Result<String, Failure> {
    if let Some(vm) = plan.vms.iter().find(|vm| [HYPERVISOR, UNOWNED].contains(&vm.name.as_str())) {
        return Err(Failure::new(
            "reserved-name",
            format!(
                "cachescope cannot tell the VM `{0}` from what it calls {0} itself\n\
                 help: give the VM another name",
                vm.name
            ),
        ));
    }
    let mut text = String::new();
    let llc = plan.platform.llc.map(|llc| llc.geometry);
    let region = plan.platform.hypervisor;
    let mut give = |name: &str, frames: Frames, most: u64| -> Result<(), Failure> {
        for (start, bytes) in pieces(frames, most, llc)? {
            writeln!(text, "vm={name}:{start:#x}+{bytes:#x}").expect("a string takes text");
        }
        Ok(())
    };
    give(HYPERVISOR, Frames { region, colors: None }, u64::MAX)?;
    if let Some(area) = plan.platform.hypervisor_area {
        give(HYPERVISOR, area.into(), u64::MAX)?;
    }
    for vm in &plan.vms {
        for frames in vm.memory.iter().map(Memory::frames) {
            give(&vm.name, frames, u64::MAX)?;
        }
        if let Some(pool) = vm.pool {
            give(&vm.name, pool.area.into(), pool.frames.into())?;
        }
    }
    if plan.platform.hypervisor_area.is_some() {
        // What the hypervisor uses lies in its colours then; what is left where the
        // image was loaded are the files of the guests, which it maps without cache.
        let (start, bytes) = (region.start.0, region.size.0);
        writeln!(text, "uncached={start:#x}+{bytes:#x}").expect("a string takes text");
    }
    for channel in &plan.channels {
        let Region { start, size } = channel.memory.host_region();
        writeln!(text, "uncached={:#x}+{:#x}", start.0, size.0).expect("a string takes text");
    }
    for cpu in 0..plan.platform.cpus.len() {
        let here = |vm: &&Vm| vm.vcpus.iter().any(|vcpu| vcpu.pcpu.0 as usize == cpu);
        let mut vms = plan.vms.iter().filter(here);
        // Accesses on a CPU that VMs share are told apart by their addresses.
        if let (Some(vm), None) = (vms.next(), vms.next()) {
            text.push_str(&format!("cpu={cpu}:{}\n", vm.name));
        }
    }
    Ok(text)
}

/// Start and bytes of the contiguous pieces that frames lie in, of the first `most`
/// of them. Of RAM with colours, all frames of the area are the VM's: those behind
/// its pages hold what the hypervisor keeps for it.
fn pieces(
    Frames { region, colors }: Frames,
    most: u64,
    llc: Option<Geometry>,
) -> Result<Vec<(u64, u64)>, Failure> {
    let (start, bytes) = (region.start.0, region.size.0);
    let Some((colors, llc)) = colors.zip(llc) else {
        return Ok(vec![(start, bytes)]);
    };
    let page = llc.page_bytes();
    let stripe = Stripe::new(page, llc.mask(), colors, start)
        .map_err(|error| Failure::new("colors", error))?;
    let mut pieces: Vec<(u64, u64)> = Vec::new();
    for index in 0..stripe.count(bytes).min(most) {
        let frame = stripe.frame(index);
        match pieces.last_mut() {
            Some((start, bytes)) if *start + *bytes == frame => *bytes += page,
            _ => pieces.push((frame, page)),
        }
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use system::description::System;
    use system::plan;

    use super::*;

    fn text_of(vms: &[(&str, &str)]) -> Result<String, Failure> {
        text_on("platform = \"qemu-virt\"", vms)
    }

    fn text_on(platform: &str, vms: &[(&str, &str)]) -> Result<String, Failure> {
        let vm = |(name, more): &(&str, &str)| {
            format!(
                "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"2MiB\"\nkernel = \"k\"\n{more}\n"
            )
        };
        let vms: String = vms.iter().map(vm).collect();
        let toml = format!("name = \"test\"\n{platform}\n{vms}");
        let system = System::from_toml("test.toml", &toml, Path::new(".")).expect("a description");
        text(&plan::make(&system).expect("a plan"))
    }

    /// Bytes of an owner and whether they lie in colours, of which a page has one.
    fn owned(text: &str, name: &str, colors: std::ops::Range<u64>) -> u64 {
        let lines = text.lines().filter_map(|line| line.strip_prefix(&format!("vm={name}:0x")));
        let number = |text: &str| u64::from_str_radix(text, 16).expect("a number");
        lines
            .map(|line| {
                let (start, bytes) = line.split_once("+0x").expect("a range");
                let (start, bytes) = (number(start), number(bytes));
                let first = start >> 12 & 15;
                assert!(colors.contains(&first), "{line}");
                assert!(first + (bytes >> 12) <= colors.end, "{line}");
                bytes
            })
            .sum()
    }

    #[test]
    fn coloured_vms_own_all_frames_of_their_colours() {
        let text = text_of(&[("a", "colors = \"0-7\""), ("b", "colors = \"8-11\"\nvcpus = 2")])
            .expect("a text");
        assert!(text.starts_with("vm=hypervisor:0x40000000+0x"), "{text}");
        // 512 pages and 64 + 2 frames for tables, rounded up to whole periods of 64 KiB.
        assert_eq!(owned(&text, "a", 0..8), 73 * 8 * 4096);
        assert_eq!(owned(&text, "b", 8..12), 145 * 4 * 4096);
        assert!(text.ends_with("cpu=0:a\ncpu=1:b\ncpu=2:b\n"), "{text}");
    }

    #[test]
    fn the_hypervisor_and_pools_own_frames_of_their_colours() {
        let platform = "[platform]\nboard = \"qemu-virt\"\nhypervisor_colors = \"15\"";
        let pool = "colors = \"0-3\"\nextra_colors = \"8-11\"\nextra_memory = \"1MiB\"";
        let text = text_on(platform, &[("a", pool), ("b", "colors = \"4-7\"")]).expect("a text");
        let (loaded, rest) = text.split_once('\n').expect("lines");
        let (_, loaded) = loaded.split_once("vm=hypervisor:").expect("where the image is");
        assert!(text.contains(&format!("\nuncached={loaded}\n")), "{text}");
        assert!(owned(rest, HYPERVISOR, 15..16) > 0);
        // The pool lies in other colours than the RAM, and only 256 frames of it count.
        let (extra, own): (Vec<&str>, Vec<&str>) = rest
            .lines()
            .filter(|line| line.starts_with("vm=a:"))
            .partition(|line| (line.split("+").next().expect("a start")).ends_with("8000"));
        assert_eq!(owned(&extra.join("\n"), "a", 8..12), 256 * 4096);
        assert!(owned(&own.join("\n"), "a", 0..4) >= (512 + 66) * 4096);
    }

    #[test]
    fn other_vms_own_one_piece() {
        let text = text_of(&[("a", "memory_at = 0x5000_0000")]).expect("a text");
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            ["vm=a:0x50000000+0x200000", "cpu=0:a"]
        );
    }

    /// Stage 2 makes them non-cacheable.
    #[test]
    fn channels_are_in_no_cache() {
        let channel = "[[channel]]\nname = \"c\"\nfrom = \"a\"\nto = [\"b\"]\nsize = \"8KiB\"\n\
                       memory_at = 0x7000_0000";
        let platform = format!("platform = \"qemu-virt\"\n{channel}");
        let text = text_on(&platform, &[("a", ""), ("b", "")]).expect("a text");
        assert!(text.contains("\nuncached=0x70000000+0x2000\n"), "{text}");
    }

    #[test]
    fn names_of_cachescope_are_refused() {
        for name in [HYPERVISOR, UNOWNED] {
            assert!(matches!(
                text_of(&[(name, "")]),
                Err(Failure::Message { code: "reserved-name", .. })
            ));
        }
    }
}
