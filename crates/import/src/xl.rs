//! Domains of Xen, as `xl create` reads them.

mod file;
mod rtds;
mod values;
mod vcpus;

use std::sync::Arc;

use system::diagnostic::{Diagnostic, Errors, Place, Source};

use crate::Left;
use crate::draft::{Device, Line, Vm, left};
use crate::toml::{quoted, size};
use file::{Item, Setting};
use rtds::Parameters;
use values::{Frames, frames, mistake, set};

/// Most MiB of a domain.
const MEMORY_MAX: u64 = 1 << 24;
/// Interrupts that a device of the machine can have.
const SHARED: std::ops::RangeInclusive<u64> = 32..=1019;
/// Keys that say nothing that a description has to.
const SILENT: [&str; 4] = ["type", "builder", "uuid", "vuart"];
/// The reason why a VCPU does not get more than its budget.
const EXTRA: &str = "time that others leave goes to VCPUs with `server = \"background\"`";
/// The reasons why keys without a counterpart are left out, and remedies.
const REASONS: &[(&[&str], &str)] = &[
    (&["disk"], "there are no virtual disks: use an initial RAM disk, or a device of the machine"),
    (&["vif"], "there are no virtual networks: VMs talk through `[[channel]]`"),
    (&["pci", "usbctrl", "usbdev"], "only devices with registers in memory can be given to a VM"),
    (
        &["device_tree", "dtb"],
        "the guest gets a tree of its `[[vm.device]]`; take `compatible` from this one",
    ),
    (&["dtdev"], "write a `[[vm.device]]`; nothing isolates its DMA"),
    (&["maxmem", "maxvcpus"], "a VM keeps the RAM and the VCPUs with which it starts"),
    (&["cpu_weight", "cap"], "VCPUs that share a PCPU have `server`, `budget` and `period`"),
    (&["extratime"], EXTRA),
    (&["cpus_soft"], "each VCPU has one PCPU"),
    (&["gic_version"], "the guest sees the version of the machine"),
    (&["bootloader", "firmware"], "name the kernel itself"),
    (&["static_shm"], "describe a `[[channel]]`"),
    (&["on_poweroff"], "a VM that turns itself off stays off"),
];

/// Reads domains, and the parameters of their VCPUs in RTDS.
pub fn read(domains: &[Arc<Source>], scripts: &[Arc<Source>]) -> Result<Vec<Vm>, Errors> {
    let mut mistakes = Vec::new();
    let mut take = |result: Result<Vec<Vm>, Errors>| match result {
        Ok(vms) => vms,
        Err(errors) => {
            mistakes.extend(errors.into_vec());
            Vec::new()
        }
    };
    let mut parameters = Vec::new();
    for script in scripts {
        take(rtds::read(script).map(|them| {
            parameters.extend(them);
            Vec::new()
        }));
    }
    let mut vms = Vec::new();
    for source in domains {
        vms.extend(take(domain(source, &parameters).map(|vm| vec![vm])));
    }
    // A name that is not found may be that of a domain that cannot be read.
    if mistakes.is_empty() {
        for it in &parameters {
            let has = |vm: &&Vm| vm.name == it.domain;
            let Some(vm) = vms.iter().find(has) else {
                let help = format!("give the file of `{}`, too", it.domain.escape_debug());
                mistakes.push(*mistake(&it.place, "the name of one of the domains", &help));
                continue;
            };
            if it.vcpu.is_some_and(|vcpu| vcpu >= vm.vcpus.len() as u64) {
                let help = format!("`{}` has {} VCPUs, from 0", it.domain, vm.vcpus.len());
                mistakes.push(*mistake(&it.place, "the number of one of its VCPUs", &help));
            }
        }
    }
    Errors::unless_none(mistakes, vms)
}

/// A domain that is read.
struct Domain {
    settings: Vec<Setting>,
    mistakes: Vec<Diagnostic>,
    lines: Vec<Line>,
    left: Vec<Left>,
}

fn domain(source: &Arc<Source>, parameters: &[Parameters]) -> Result<Vm, Errors> {
    let file = file::read(source)?;
    let replaced = file
        .replaced
        .iter()
        .map(|(old, new)| left(old, format!("line {} replaces it", new.line_column().0)));
    let left = replaced.collect();
    let mut domain =
        Domain { settings: file.settings, mistakes: Vec::new(), lines: Vec::new(), left };
    let (name, place) = domain.name(source);
    domain.memory();
    let vcpus = domain.vcpus(&name, parameters);
    domain.colors();
    domain.boot();
    domain.events();
    let (devices, interrupts) = domain.devices();
    domain.rest();
    let Domain { mistakes, lines, left, .. } = domain;
    let vm = Vm { name, place, vcpus, lines, devices, interrupts, left };
    Errors::unless_none(mistakes, vm)
}

impl Domain {
    fn take(&mut self, key: &str) -> Option<Setting> {
        let index = self.settings.iter().position(|it| it.key == key)?;
        Some(self.settings.remove(index))
    }

    fn ok<T>(&mut self, result: Result<T, Box<Diagnostic>>) -> Option<T> {
        result.map_err(|mistake| self.mistakes.push(*mistake)).ok()
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let setting = self.take(key)?;
        let text = setting.item.text("write one \"TEXT\"").map(str::to_owned);
        self.ok(text)
    }

    fn number(&mut self, key: &str, least: u64, most: u64) -> Option<u64> {
        let setting = self.take(key)?;
        self.ok(setting.item.number(least, most, &format!("write {key} = NUMBER")))
    }

    fn name(&mut self, source: &Arc<Source>) -> (String, Place) {
        let place = self.settings.iter().find(|it| it.key == "name").map(|it| it.place.clone());
        let Some(place) = place else {
            let place = Place::new(source, 0..0);
            let missing = Diagnostic::new("missing-key", "the domain has no `name`");
            let missing = missing.at(&place, "this file").help("add name = \"NAME\"");
            self.mistakes.push(missing);
            return (String::new(), place);
        };
        (self.text("name").unwrap_or_default(), place)
    }

    fn memory(&mut self) {
        let given = self.settings.iter().any(|it| it.key == "memory");
        let memory = self.number("memory", 1, MEMORY_MAX);
        if let Some(most) = self.settings.iter().find(|it| it.key == "maxmem") {
            // It is what the domain starts with, or can have later.
            if most.item.text("").ok().and_then(values::number) == memory {
                self.take("maxmem");
            }
        }
        self.lines.push(match memory {
            Some(mib) => Line::key("memory", size(mib << 20)),
            None if given => return,
            None => Line::open("memory", "\"256MiB\"", "the size of its RAM"),
        });
    }

    /// Xen counts a colour for each page of a way.
    fn colors(&mut self) {
        let Some(setting) = self.take("llc_colors") else { return };
        let mut runs = Vec::new();
        for item in setting.item.list() {
            let run = set(item).and_then(|_| item.text(""));
            runs.extend(run.map(str::to_owned).map_err(|it| self.mistakes.push(*it)).ok());
        }
        let note = "one for each page of a way, as Xen counts them";
        self.lines.push(Line::noted("colors", quoted(&runs.join(",")), note));
    }

    fn boot(&mut self) {
        let kernel = self.text("kernel");
        self.lines.push(match kernel {
            Some(kernel) => Line::key("kernel", quoted(&kernel)),
            None => Line::open("kernel", "\"vmlinuz\"", "the kernel, as a file"),
        });
        let initrd = self.text("ramdisk");
        let [cmdline, root, extra] = ["cmdline", "root", "extra"].map(|key| self.text(key));
        let root = root.map(|root| format!("root={root}"));
        let parts: Vec<String> = root.into_iter().chain(extra).collect();
        let bootargs = cmdline.or((!parts.is_empty()).then(|| parts.join(" ")));
        if initrd.is_none() && bootargs.is_none() {
            let why = "if the kernel is no Linux; Linux needs no such line";
            self.lines.push(Line::open("boot", "\"raw\"", why));
        }
        self.lines.extend(initrd.map(|it| Line::key("initrd", quoted(&it))));
        self.lines.extend(bootargs.map(|it| {
            let own = it.replace("console=hvc0", "console=ttyAMA0");
            match own == it {
                true => Line::key("bootargs", quoted(&it)),
                false => Line::noted("bootargs", quoted(&own), "was console=hvc0"),
            }
        }));
    }

    fn events(&mut self) {
        let words =
            "destroy, restart, rename-restart, preserve, coredump-destroy or coredump-restart";
        for (event, key) in [("on_crash", "on_crash"), ("on_reboot", "on_reset")] {
            let Some(setting) = self.take(event) else { continue };
            let word = setting.item.text("write one word");
            let Some(word) = self.ok(word.map(str::to_owned)) else { continue };
            match word.as_str() {
                "destroy" | "coredump-destroy" | "preserve" => {
                    self.lines.push(Line::key(key, quoted("stop")));
                }
                "restart" | "rename-restart" | "coredump-restart" => {
                    self.lines.push(Line::key(key, quoted("restart")));
                }
                _ => self.mistakes.push(*mistake(&setting.item.place, words, "use one of these")),
            }
        }
    }

    fn devices(&mut self) -> (Vec<Device>, Vec<u64>) {
        let listed = |setting: Option<Setting>| -> Vec<Item> {
            setting.map(|it| it.item.list().to_vec()).unwrap_or_default()
        };
        let mut devices = Vec::new();
        for item in listed(self.take("iomem")) {
            let Some(Frames { address, guest_address, size }) = self.ok(frames(&item)) else {
                continue;
            };
            let kind = "as the node with these registers says, in the tree of the board or in `device_tree`";
            let place = item.place;
            devices.push(Device { place, called: None, address, guest_address, size, kind });
        }
        let mut interrupts = Vec::new();
        for item in listed(self.take("irqs")) {
            let help = "write the number that the interrupt controller has for it";
            let Some(number) = self.ok(item.number(0, *SHARED.end(), help)) else { continue };
            if SHARED.contains(&number) && !devices.is_empty() {
                interrupts.push(number);
                continue;
            }
            let why = match devices.is_empty() {
                true => "interrupts belong to a `[[vm.device]]`, and there is no `iomem`",
                false => "only interrupts from 32 on can be given to a VM",
            };
            self.left.push(left(&item.place, why));
        }
        (devices, interrupts)
    }

    /// Lists the settings that have no counterpart.
    fn rest(&mut self) {
        for setting in self.settings.iter().filter(|it| !SILENT.contains(&it.key.as_str())) {
            let reason = REASONS.iter().find(|(keys, _)| keys.contains(&setting.key.as_str()));
            self.left.push(left(&setting.place, reason.map_or("it has no counterpart", |it| it.1)));
        }
        self.left.sort_by_key(|it| it.line);
    }
}
