//! Events under KVM, told as the hypervisor tells them on its console.

mod line;

use abi::console::HYPERVISOR_LABEL;
use host::machine::News;
use line::Line;

/// The console of all VMs.
#[derive(Debug)]
pub struct Console {
    vms: Vec<Vm>,
    /// Length of the longest name.
    width: usize,
}

#[derive(Debug)]
struct Vm {
    name: String,
    line: Line,
    /// The reason of its end, if it has ended.
    ended: Option<Option<&'static str>>,
    restarts: u32,
    /// It has restarted as often as it may.
    at_limit: bool,
    exits: u64,
    /// Marks that were lost.
    lost: u64,
}

impl Console {
    /// Returns the console of VMs with these names.
    pub fn new(names: impl Iterator<Item = String>) -> Self {
        let vm = |name| Vm {
            name,
            line: Line::default(),
            ended: None,
            restarts: 0,
            at_limit: false,
            exits: 0,
            lost: 0,
        };
        let vms: Vec<Vm> = names.map(vm).collect();
        let width = vms.iter().map(|vm| vm.name.len()).max().unwrap_or(0);
        Self { vms, width }
    }

    /// Says that all VMs run.
    pub fn ready(&mut self) -> String {
        format!("{HYPERVISOR_LABEL}ready ({} VMs under KVM)\n", self.vms.len())
    }

    /// Returns whole lines about the news.
    pub fn tell(&mut self, news: News) -> String {
        let width = self.width;
        match news {
            News::Console { vm, text } => {
                let Some(vm) = self.vms.get_mut(usize::from(vm)) else { return String::new() };
                let lines = text.into_iter().filter_map(|byte| vm.line.push(byte));
                lines.map(|line| labelled(&vm.name, width, &line)).collect()
            }
            News::Restarts { vm, reason, number, limit } => {
                let Some(vm) = self.vms.get_mut(usize::from(vm)) else { return String::new() };
                vm.restarts = number;
                // What it has not finished it never does.
                let open = vm.line.finish().map(|line| labelled(&vm.name, width, &line));
                let name = &vm.name;
                format!(
                    "{}{HYPERVISOR_LABEL}{name}: {reason}, restart {number} of {limit}\n",
                    open.unwrap_or_default()
                )
            }
            News::AtLimit { vm } => {
                if let Some(vm) = self.vms.get_mut(usize::from(vm)) {
                    vm.at_limit = true;
                }
                String::new()
            }
            News::NotRestarted { vm, why } => {
                let Some(vm) = self.vms.get(usize::from(vm)) else { return String::new() };
                let why = why.replace('\n', "; ");
                format!("{HYPERVISOR_LABEL}{}: cannot restart: {why}\n", vm.name)
            }
            News::Ended { vm, fault } => {
                let Some(vm) = self.vms.get_mut(usize::from(vm)) else { return String::new() };
                vm.ended = Some(fault);
                let (state, reason) = vm.state();
                let reason = if state == "off" { "power-off" } else { reason };
                let limit = if vm.at_limit { ", restart limit reached" } else { "" };
                format!("{HYPERVISOR_LABEL}{}: {state} ({reason}{limit})\n", vm.name)
            }
            News::Left { id, exits, lost } => {
                if let Some(vm) = self.vms.get_mut(usize::from(id.vm)) {
                    vm.exits += exits;
                    vm.lost = vm.lost.saturating_add(lost);
                }
                String::new()
            }
        }
    }

    /// Reports on all VMs at the end, which is a good one or not.
    pub fn end(&mut self, is_good: bool) -> String {
        let width = self.width;
        let open = self.vms.iter_mut().filter_map(|vm| Some((&vm.name, vm.line.finish()?)));
        let mut text: String = open.map(|(name, line)| labelled(name, width, &line)).collect();
        for Vm { name, lost, .. } in self.vms.iter().filter(|vm| vm.lost > 0) {
            text.push_str(&format!(
                "{HYPERVISOR_LABEL}{name}: {lost} marks were lost, because they came faster than they were read\n"
            ));
        }
        for vm in &self.vms {
            let (state, reason) = vm.state();
            let Vm { name, exits, restarts, .. } = vm;
            text.push_str(&format!(
                "{HYPERVISOR_LABEL}summary vm={name} state={state} reason={reason} restarts={restarts} exits={exits} irqs=0\n"
            ));
        }
        if is_good && self.vms.iter().all(|vm| vm.ended.is_some()) {
            text.push_str(&format!("{HYPERVISOR_LABEL}power off\n"));
        }
        text
    }
}

fn labelled(name: &str, width: usize, line: &str) -> String {
    format!("[{name:<width$}] {line}\n")
}

impl Vm {
    fn state(&self) -> (&'static str, &'static str) {
        match self.ended {
            None => ("running", "-"),
            Some(None) => ("off", "-"),
            Some(Some(fault)) => ("stopped", fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use host::machine::Id;

    use super::*;

    #[test]
    fn lines_have_labels_and_wait_until_they_are_whole() {
        let mut console = Console::new(["a", "long"].map(String::from).into_iter());
        let mut tell = |vm, text: &str| console.tell(News::Console { vm, text: text.into() });
        assert_eq!(tell(0, "one\ntw"), "[a   ] one\n");
        assert_eq!(tell(1, "three\n"), "[long] three\n");
        assert_eq!(tell(0, "o\n\n"), "[a   ] two\n[a   ] \n");
        assert_eq!(tell(7, "nobody\n"), "");
        assert_eq!(tell(0, "last"), "");
        assert!(console.end(true).starts_with("[a   ] last\n[bulkhead] summary vm=a "));
    }

    #[test]
    fn lines_of_others_cannot_be_forged() {
        let mut console = Console::new(["a", "b"].map(String::from).into_iter());
        let text = b"x\r[b] y\n\x1b[2K\x1b[1G[bulkhead] z\n".to_vec();
        let shown = console.tell(News::Console { vm: 0, text });
        assert_eq!(shown, "[a] x\n[a] [b] y\n[a] [bulkhead] z\n");
    }

    #[test]
    fn ends_are_those_of_the_hypervisor() {
        let mut console = Console::new(["a", "b"].map(String::from).into_iter());
        let ended = |vm, fault| News::Ended { vm, fault };
        assert_eq!(console.tell(ended(0, None)), "[bulkhead] a: off (power-off)\n");
        let a = "[bulkhead] summary vm=a state=off reason=- restarts=0 exits=7 irqs=0\n";
        let id = Id { vm: 0, vcpu: 0 };
        assert_eq!(console.tell(News::Left { id, exits: 7, lost: 0 }), "");
        let running = "[bulkhead] summary vm=b state=running reason=- restarts=0 exits=0 irqs=0\n";
        assert_eq!(console.end(true), [a, running].concat());
        assert_eq!(
            console.tell(ended(1, Some("exception"))),
            "[bulkhead] b: stopped (exception)\n"
        );
        assert!(console.end(true).ends_with("exits=0 irqs=0\n[bulkhead] power off\n"));
        assert!(console.end(false).ends_with("exits=0 irqs=0\n"));
    }

    #[test]
    fn restarts_are_told_as_the_hypervisor_tells_them() {
        let mut console = Console::new(["a", "b"].map(String::from).into_iter());
        let open = News::Console { vm: 0, text: b"half a li".to_vec() };
        assert_eq!(console.tell(open), "");
        let restarts = News::Restarts { vm: 0, reason: "exception", number: 1, limit: 1 };
        let told = "[a] half a li\n[bulkhead] a: exception, restart 1 of 1\n";
        assert_eq!(console.tell(restarts), told);
        assert_eq!(console.tell(News::AtLimit { vm: 0 }), "");
        let ended = console.tell(News::Ended { vm: 0, fault: Some("exception") });
        assert_eq!(ended, "[bulkhead] a: stopped (exception, restart limit reached)\n");
        let why = News::NotRestarted { vm: 1, why: "no memory\nhelp: free some".into() };
        let told = "[bulkhead] b: cannot restart: no memory; help: free some\n";
        assert_eq!(console.tell(why), told);
        let end = console.end(true);
        let a = "vm=a state=stopped reason=exception restarts=1 exits=0 irqs=0\n";
        assert!(
            end.contains(a) && end.contains("vm=b state=running reason=- restarts=0 "),
            "{end}"
        );
    }

    #[test]
    fn lost_marks_are_those_of_their_vm() {
        let mut console = Console::new(["a", "b"].map(String::from).into_iter());
        for (vm, lost) in [(1, 3), (1, 4), (0, 0)] {
            console.tell(News::Left { id: Id { vm, vcpu: 0 }, exits: 0, lost });
        }
        let end = console.end(true);
        assert!(end.starts_with("[bulkhead] b: 7 marks were lost, "), "{end}");
        assert_eq!(end.matches("lost").count(), 1, "{end}");
    }
}
