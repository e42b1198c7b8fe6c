//! Reads a platform file.

mod bandwidth;
mod caches;
mod overheads;

pub(crate) use bandwidth::read as bandwidth;
pub(crate) use overheads::read as overheads;

use abi::plan::words;
use units::{Bytes, Frequency};

use super::{AnalysisOnly, Architecture, BootSupport, Console, Cpu, Platform, Qemu};
use crate::address::{Address, Mpidr, PhysicalAddress, Region};
use crate::diagnostic::Diagnostic;
use crate::document::{Fields, Located};
use crate::plan::{ANALYZED_MAX, COUNT_MAX, Gic, PowerOff, SerialKind};

/// Returns the machine that the keys describe.
pub(crate) fn read(at: &Fields<'_>) -> Option<Platform> {
    let name = at.required("name", at.string("name"), "\"my-board\"");
    let about = at.required("about", at.string("about"), "\"what it is\"");
    let choices = Architecture::ALL;
    let architecture =
        at.required("architecture", at.choice("architecture", &choices), "\"aarch64\"");
    let cpus = all(&at.tables("cpu", "[[cpu]]"), cpus);
    if let Some(groups) = cpus.as_deref() {
        refuse_more(at, groups);
    }
    let cpus = cpus.map(|groups| groups.concat());
    if at.tables("cpu", "[[cpu]]").is_empty() {
        missing(at, "[[cpu]]");
    }
    let memory = all(&at.tables("memory", "[[memory]]"), |bank| {
        let region = region(bank);
        bank.finish();
        region
    });
    if at.tables("memory", "[[memory]]").is_empty() {
        missing(at, "[[memory]]");
    }
    let caches = caches::read(at);
    let counter = counter(at);
    let kvm = at.boolean("kvm").unwrap_or(false);
    let machine = cpus.as_ref().zip(caches.as_deref());
    let bandwidth = at
        .table("bandwidth")
        .zip(machine)
        .map(|(table, (cpus, caches))| bandwidth::read(&table, None, (cpus.len(), kvm), caches));
    let overheads = at.table("overheads").map(|table| overheads::read(&table, None));
    let boot = boot(at, architecture.as_ref(), memory.as_deref());
    let qemu = at.table("qemu").map(|qemu| self::qemu(&qemu));
    Some(Platform {
        name: name?.value,
        about: about?.value,
        architecture: architecture?.value,
        cpus: cpus?,
        memory: memory?,
        caches: caches?,
        counter,
        bandwidth: match bandwidth {
            Some(bandwidth) => Some(bandwidth?),
            None => None,
        },
        overheads: match overheads {
            Some(overheads) => Some(overheads?),
            None => None,
        },
        boot: boot?,
        kvm,
        qemu: match qemu {
            Some(qemu) => Some(qemu?),
            None => None,
        },
    })
}

fn missing(at: &Fields<'_>, header: &str) {
    at.add(
        Diagnostic::new("missing-key", format!("the platform has no `{header}`"))
            .at(at.place(), "")
            .help(format!("add a table under a header `{header}`")),
    );
}

/// Reads all of the tables; `None` if one of them cannot be read.
fn all<'t, T>(tables: &[Fields<'t>], read: impl Fn(&Fields<'t>) -> Option<T>) -> Option<Vec<T>> {
    let parts: Vec<_> = tables.iter().map(read).collect();
    parts.into_iter().collect()
}

/// `start` and `size`.
fn region<A: Address>(at: &Fields<'_>) -> Option<Region<A>> {
    let start = at.required("start", at.address::<A>("start"), "0x40000000");
    let size = at.required("size", at.quantity::<Bytes>("size"), "\"4KiB\"");
    let (start, size) = (start?, size?);
    let region = Region { start: start.value, size: size.value };
    if region.wraps() || size.value == Bytes(0) {
        let message = match size.value {
            Bytes(0) => "the region is empty",
            _ => "the region reaches beyond 64 bits",
        };
        at.add(Diagnostic::new("out-of-range", message).at(&size.place, "here").help("correct it"));
        return None;
    }
    Some(region)
}

/// Returns the frequency of the system counter, of which the register that shows it has 32 bits.
fn counter(at: &Fields<'_>) -> Option<Frequency> {
    let counter = at.quantity::<Frequency>("counter")?;
    if counter.value == Frequency(0) || counter.value > Frequency(u32::MAX.into()) {
        let message = format!("a system counter with {}", counter.value);
        let help = "write what CNTFRQ_EL0 shows on the machine, as in `counter = \"62.5MHz\"`";
        at.add(Diagnostic::new("out-of-range", message).at(&counter.place, "here").help(help));
    }
    Some(counter.value)
}

fn cpus(at: &Fields<'_>) -> Option<Vec<Cpu>> {
    let model = at.required("model", at.string("model"), "\"Cortex-A53\"");
    let count = at.required("count", at.integer("count", 1, ANALYZED_MAX as u64), "4");
    let first = at.integer("mpidr", 0, 0xff_00ff_ffff);
    let releases = spin_table(at, count.as_ref().map_or(0, |count| count.value));
    at.finish();
    let (model, count) = (model?.value, count?.value);
    let first = first.map_or(0, |first| first.value);
    Some(
        (0..count)
            .map(|index| Cpu {
                model: model.clone(),
                mpidr: Mpidr(first + index),
                release: releases.get(index as usize).copied().map(PhysicalAddress),
            })
            .collect(),
    )
}

/// Refuses the group of CPUs with which there are too many: for the hypervisor, or for the tools if
/// the machine is only analysed.
fn refuse_more(at: &Fields<'_>, groups: &[Vec<Cpu>]) {
    let analyzed = at.has("analysis_only");
    let most = if analyzed { ANALYZED_MAX } else { COUNT_MAX };
    let mut count = 0;
    let more = groups.iter().position(|group| {
        count += group.len();
        count > most
    });
    let tables = at.tables("cpu", "[[cpu]]");
    let Some(more) = more.and_then(|more| tables.get(more)) else { return };
    let (message, help) = match analyzed {
        true => (format!("a machine can have {most} CPUs"), "describe a machine with fewer"),
        false => (
            format!("there are {count} CPUs, and the hypervisor runs on {most}"),
            "describe a machine with fewer, or only analyse this one: `analysis_only`",
        ),
    };
    let place = more.key_place("count").unwrap_or_else(|| more.place().clone());
    at.add(Diagnostic::new("out-of-range", message).at(&place, "too many").help(help));
}

/// Reads the words of memory in which the CPUs of a group wait, if PSCI does not start them: eight
/// bytes each.
fn spin_table(at: &Fields<'_>, count: u64) -> Vec<u64> {
    let Some(Located { value, place }) = at.integers("spin_table", 0, u64::MAX >> 16) else {
        return Vec::new();
    };
    let wrong = if value.len() as u64 != count {
        Some(format!("{} addresses for {count} CPUs", value.len()))
    } else {
        let odd = value.iter().find(|address| !address.is_multiple_of(8));
        odd.map(|address| format!("{address:#x} is no multiple of 8"))
    };
    if let Some(message) = wrong {
        let help = "give the `cpu-release-addr` of each CPU in the machine's device tree";
        at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
    }
    value
}

/// The reason why the hypervisor does not run where KVM is.
const UNDER_KVM: &str = "Linux runs its VMs: `bulkhead run --on kvm`";

/// GIC and console, or the reason why the machine has none that we drive.
fn boot(
    at: &Fields<'_>,
    architecture: Option<&Located<Architecture>>,
    memory: Option<&[Region<PhysicalAddress>]>,
) -> Option<Result<BootSupport, AnalysisOnly>> {
    if at.boolean("kvm") == Some(true) {
        for key in ["analysis_only", "gic", "console", "power_off", "image_base"] {
            at.forbid(key, "Linux runs the VMs of this platform", "remove it, or `kvm`");
        }
        if let Some(other) = architecture.filter(|it| it.value != Architecture::X86_64) {
            let message = "VMs run under KVM on x86-64 only";
            let mistake = Diagnostic::new("wrong-value", message).at(&other.place, "another one");
            at.add(mistake.help("write \"x86-64\", or remove `kvm`"));
        }
        return Some(Err(AnalysisOnly(UNDER_KVM.into())));
    }
    if let Some(reason) = at.string("analysis_only") {
        for key in ["gic", "console", "power_off", "image_base"] {
            at.forbid(key, "the platform is for analysis only", "remove it, or `analysis_only`");
        }
        return Some(Err(AnalysisOnly(reason.value)));
    }
    if let Some(architecture) = architecture
        && architecture.value != Architecture::Aarch64
    {
        at.add(
            Diagnostic::new("missing-key", "the hypervisor runs on aarch64 only")
                .at(&architecture.place, "cannot boot")
                .help("add `analysis_only = \"the reason, in a few words\"`"),
        );
        return None;
    }
    let gic = at.table("gic").map(|gic| self::gic(&gic));
    if gic.is_none() {
        missing(at, "[gic]");
    }
    let console = at.table("console").map(|console| self::console(&console));
    if console.is_none() {
        missing(at, "[console]");
    }
    let power_off = at.table("power_off").map(|device| self::power_off(&device));
    let base = at.address::<PhysicalAddress>("image_base").map(|base| base.value);
    let base = base.or(memory.and_then(|banks| Some(banks.first()?.start)));
    let power_off = match power_off {
        Some(device) => Some(device?),
        None => None,
    };
    Some(Ok(BootSupport { gic: gic??, console: console??, power_off, image_base: base? }))
}

fn power_off(at: &Fields<'_>) -> Option<PowerOff> {
    let kinds = words::POWER_OFFS.map(|kind| (kind, kind));
    let kind = at.required("kind", at.choice("kind", &kinds), "\"brcm,bcm2835-pm\"");
    let registers = region(at);
    at.finish();
    kind?;
    Some(PowerOff { registers: registers? })
}

fn gic(at: &Fields<'_>) -> Option<Gic> {
    let version = at.required("version", at.integer("version", 2, 3), "3");
    let frame = |key: &'static str| {
        let table = at.table(key);
        let region = table.as_ref().and_then(|table| {
            let region = region(table);
            table.finish();
            region
        });
        at.required(key, region, "{ start = 0x08000000, size = \"64KiB\" }")
    };
    let gicd = frame("gicd");
    let gic = match version?.value {
        2 => {
            let (gicc, gich, gicv) = (frame("gicc"), frame("gich"), frame("gicv"));
            at.forbid("gicr", "only a GICv3 has redistributors", "remove it");
            Gic::V2 { gicd: gicd?, gicc: gicc?, gich: gich?, gicv: gicv? }
        }
        _ => {
            let gicr = frame("gicr");
            Gic::V3 { gicd: gicd?, gicr: gicr? }
        }
    };
    at.finish();
    Some(gic)
}

fn console(at: &Fields<'_>) -> Option<Console> {
    let kinds = SerialKind::ALL.map(|kind| (kind.compatible(), kind));
    let kind = at.required("kind", at.choice("kind", &kinds), "\"arm,pl011\"");
    let registers = region(at);
    let interrupt = at.required("interrupt", at.shared_interrupt("interrupt"), "33");
    at.finish();
    Some(Console { kind: kind?.value, registers: registers?, interrupt: interrupt?.value })
}

fn qemu(at: &Fields<'_>) -> Option<Qemu> {
    let machine = at.required("machine", at.string("machine"), "\"virt,virtualization=on\"");
    let cpu = at.string("cpu");
    let cpus = at.integer("cpus", 1, 64);
    let memory = at.quantity::<Bytes>("memory");
    at.finish();
    Some(Qemu {
        machine: machine?.value,
        cpu: cpu.map(|cpu| cpu.value),
        cpus: cpus.map(|cpus| cpus.value),
        memory: memory.map(|memory| memory.value),
    })
}
