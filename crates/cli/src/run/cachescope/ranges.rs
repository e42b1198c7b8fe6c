//! Whose memory is whose, in the words of cachescope.

use std::fmt::Write;

use bulkhead_system::plan::{Memory, Plan, Vm};
use policy::color::{Geometry, Stripe};

use crate::failure::Failure;

/// Who owns the hypervisor's memory.
pub const HYPERVISOR: &str = "hypervisor";
/// Who owns all memory that nobody was given.
const UNOWNED: &str = "unowned";

/// A line for each contiguous piece of memory, and one for each CPU of a VM.
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
    let region = plan.platform.hypervisor;
    line(&mut text, HYPERVISOR, region.start.0, region.size.0);
    for vm in &plan.vms {
        for memory in &vm.memory {
            for (start, bytes) in pieces(memory, plan.platform.llc.map(|llc| llc.geometry))? {
                line(&mut text, &vm.name, start, bytes);
            }
        }
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

fn line(text: &mut String, name: &str, start: u64, bytes: u64) {
    writeln!(text, "vm={name}:{start:#x}+{bytes:#x}").expect("a string takes text");
}

/// Start and bytes of the contiguous pieces that RAM lies in. With colours, all
/// frames of the area are the VM's: those behind its pages hold its stage-2 tables.
fn pieces(memory: &Memory, llc: Option<Geometry>) -> Result<Vec<(u64, u64)>, Failure> {
    let Some((coloring, llc)) = memory.coloring.zip(llc) else {
        return Ok(vec![(memory.host.0, memory.size.0)]);
    };
    let page = llc.page_bytes();
    let stripe = Stripe::new(page, llc.mask(), coloring.colors, memory.host.0)
        .map_err(|error| Failure::new("colors", error))?;
    let mut pieces: Vec<(u64, u64)> = Vec::new();
    for index in 0..stripe.count(coloring.area.0) {
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

    use bulkhead_system::description::System;
    use bulkhead_system::plan;

    use super::*;

    fn text_of(vms: &[(&str, &str)]) -> Result<String, Failure> {
        let vm = |(name, more): &(&str, &str)| {
            format!(
                "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"2MiB\"\nkernel = \"k\"\n{more}\n"
            )
        };
        let vms: String = vms.iter().map(vm).collect();
        let toml = format!("name = \"test\"\nplatform = \"qemu-virt\"\n{vms}");
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
    fn other_vms_own_one_piece() {
        let text = text_of(&[("a", "memory_at = 0x5000_0000")]).expect("a text");
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            ["vm=a:0x50000000+0x200000", "cpu=0:a"]
        );
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
