//! The text of a description.

use std::fmt::Write;
use std::sync::Arc;

use system::diagnostic::{Diagnostic, Errors, Source};

use crate::draft::{Device, Line, Vcpu, Vm, line_of};
use crate::toml::{address, comment, quoted, size};
use crate::{Imported, Left, names};

/// Writes the system of these VMs; `what` says what the sources are.
pub fn write(what: &str, from: &[Arc<Source>], mut vms: Vec<Vm>) -> Result<Imported, Errors> {
    different(&vms)?;
    shared_pcpus(&mut vms);
    let files: Vec<&str> = from.iter().map(|it| it.name()).collect();
    let mut out = Out::default();
    out.line(&format!(
        "# Out of {what}: {}.\n# What they do not say is marked with `fill in`; what has no counterpart, with `left out` and its line.\n",
        comment(&files.join(", "))
    ));
    out.open("platform", "\"qemu-virt\"", "the board: its name, or the path of its platform file");
    let mut taken = Vec::new();
    for vm in &vms {
        let name = names::unique(&vm.name, &taken);
        out.vm(vm, &name);
        taken.push(name);
    }
    Ok(Imported { text: out.text, open: out.open, left: out.left })
}

/// Names are what tells VMs apart, in the other system, too.
fn different(vms: &[Vm]) -> Result<(), Errors> {
    let mut mistakes = Vec::new();
    for (index, vm) in vms.iter().enumerate() {
        if let Some(first) = vms[..index].iter().find(|it| it.name == vm.name) {
            let message = format!("two VMs are called `{}`", vm.name.escape_debug());
            let mistake = Diagnostic::new("duplicate-name", message)
                .at(&vm.place, "the second one")
                .also(&first.place, "the first one")
                .help("give each file once, and each VM a name of its own");
            mistakes.push(mistake);
        }
    }
    Errors::unless_none(mistakes, ())
}

/// VCPUs that share a PCPU need servers.
fn shared_pcpus(vms: &mut [Vm]) {
    let pcpus: Vec<u64> =
        vms.iter().flat_map(|vm| vm.vcpus.iter().filter_map(|it| it.pcpu)).collect();
    for vcpu in vms.iter_mut().flat_map(|vm| &mut vm.vcpus).filter(|it| !it.server) {
        let Some(pcpu) = vcpu.pcpu else { continue };
        if pcpus.iter().filter(|it| **it == pcpu).count() > 1 {
            let why = format!("several VCPUs share PCPU {pcpu}, each with a budget in each period");
            vcpu.lines.extend([
                Line::open("server", "\"deferrable\"", why),
                Line::open("budget", "\"2ms\"", "or nothing, so that it is planned for the tasks"),
                Line::open("period", "\"10ms\"", "as `budget`"),
            ]);
        }
    }
}

#[derive(Default)]
struct Out {
    text: String,
    open: Vec<String>,
    left: Vec<Left>,
    /// The VM that is written.
    vm: String,
}

impl Out {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// A key that is not known.
    fn open(&mut self, key: &str, example: &str, why: &str) {
        self.line(&format!("# {key} = {example}   # fill in: {}", comment(why)));
        self.is_open(key, why);
    }

    fn is_open(&mut self, key: &str, why: &str) {
        let of = if self.vm.is_empty() { String::new() } else { format!("VM `{}`: ", self.vm) };
        self.open.push(format!("{of}{key}: {}", comment(why)));
    }

    fn lines(&mut self, lines: &[Line]) {
        for line in lines {
            match line {
                Line::Key { key, value, note: None } => self.line(&format!("{key} = {value}")),
                Line::Key { key, value, note: Some(note) } => {
                    self.line(&format!("{key} = {value}   # {}", comment(note)));
                }
                Line::Open { key, example, why } => self.open(key, example, why),
            }
        }
    }

    fn vm(&mut self, vm: &Vm, name: &str) {
        name.clone_into(&mut self.vm);
        self.line(&format!("\n# {}", comment(&line_of(&vm.place))));
        self.line("[[vm]]");
        let was = (name != vm.name).then(|| format!("was {}", quoted(&vm.name)));
        self.lines(&[Line::Key { key: "name", value: quoted(name), note: was }]);
        let told_apart = vm.vcpus.iter().any(|it| !it.lines.is_empty());
        if !told_apart && vm.vcpus.len() != 1 {
            self.line(&format!("vcpus = {}", vm.vcpus.len()));
        }
        self.lines(&vm.lines);
        for left in &vm.left {
            let Left { file, line, what, why } = left;
            self.line(&comment(&format!("# left out: {file}:{line}: {what}: {why}")));
        }
        self.left.extend(vm.left.iter().cloned());
        for Vcpu { lines, .. } in vm.vcpus.iter().filter(|_| told_apart) {
            self.line("\n[[vm.vcpu]]");
            self.lines(lines);
        }
        vm.devices.iter().for_each(|it| self.device(it, vm.interrupt()));
        let why = "its tasks, if it has deadlines: name, period and wcet of each";
        self.line(&format!("\n# [[vm.task]]   # fill in: {why}"));
        self.is_open("[[vm.task]]", why);
    }

    fn device(&mut self, device: &Device, interrupt: Option<Line>) {
        let called = device.called.as_ref().map(|it| format!(", {it}")).unwrap_or_default();
        self.line(&format!("\n# {}", comment(&(line_of(&device.place) + &called))));
        self.line("[[vm.device]]");
        self.open("compatible", "[\"arm,pl011\", \"arm,primecell\"]", device.kind);
        self.lines(&[Line::key("address", address(device.address))]);
        if device.guest_address != device.address {
            self.lines(&[Line::key("guest_address", address(device.guest_address))]);
        }
        self.lines(&[Line::key("size", size(device.size))]);
        self.lines(interrupt.as_slice());
    }
}
