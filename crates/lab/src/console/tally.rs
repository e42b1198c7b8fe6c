//! Reads the lines of the console: their VMs, how VMs ended, and the results of tasks.

use std::time::Duration;

use super::lines::Lines;
use super::messages::{Report, Told, ended, failed, report, task};
use abi::console::{HYPERVISOR_LABEL, SOFT_RESET};
use qemu::Chunk;

/// Maximum number of failures of a VM that are kept.
const FAILURES_MAX: usize = 10;

/// The state of a run, from its console.
#[derive(Debug)]
pub struct Tally {
    lines: Lines,
    known: Known,
}

/// The facts that the lines contain.
#[derive(Debug)]
pub struct Known {
    /// The VMs, in the order of the plan.
    pub vms: Vec<Vm>,
    /// The VM that is shown alone, without labels.
    focus: Option<usize>,
    /// There was a line on the console.
    pub spoke: bool,
    /// The hypervisor has started all VMs and listens to keys.
    pub ready: bool,
    /// The hypervisor ended in good order.
    pub power_off: bool,
    /// The reason why the hypervisor did not start the VMs, if it did not.
    pub refusal: Option<String>,
    /// The hypervisor's last message.
    last_message: String,
}

/// The facts about a VM.
#[derive(Clone, Debug)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// Lines of output that were seen.
    pub lines: u64,
    /// Time of the first of them since the start of QEMU.
    pub first_line: Option<Duration>,
    /// Time of the last of them.
    pub last_line: Option<Duration>,
    /// State and reason with which the VM ended, as the hypervisor printed them.
    pub ended: Option<(String, String)>,
    /// The hypervisor's report at the end.
    pub report: Option<Report>,
    /// The tasks that reported themselves.
    pub tasks: Vec<Told>,
    /// The failures that the guest printed.
    pub failures: Vec<String>,
    /// Another VM was shown alone for a time, in which lines of this one were not printed.
    pub hidden: bool,
}

impl Tally {
    /// Returns a tally that has seen no lines yet of VMs with these names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let vm = |name| Vm {
            name,
            lines: 0,
            first_line: None,
            last_line: None,
            ended: None,
            report: None,
            tasks: Vec::new(),
            failures: Vec::new(),
            hidden: false,
        };
        let vms = names.into_iter().map(vm).collect();
        let known = Known {
            vms,
            focus: None,
            spoke: false,
            ready: false,
            power_off: false,
            refusal: None,
            last_message: String::new(),
        };
        Self { lines: Lines::default(), known }
    }

    /// Takes a piece of output.
    pub fn feed(&mut self, chunk: &Chunk) {
        self.lines.feed(chunk, |time, line| self.known.line(time, line));
    }

    /// Returns the facts so far.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Ends the tally after the last output.
    pub fn end(mut self) -> Known {
        self.lines.end(|time, line| self.known.line(time, line));
        self.known
    }
}

impl Known {
    fn line(&mut self, time: Duration, line: &str) {
        self.spoke = true;
        if let Some(text) = line.strip_prefix(HYPERVISOR_LABEL) {
            return self.hypervisor(text);
        }
        let line = match line.strip_suffix(SOFT_RESET) {
            Some("") => return,
            Some(cut_off) => cut_off,
            None => line,
        };
        let (vm, text) = match self.focus {
            Some(vm) => (Some(vm), line),
            None => self.labelled(line),
        };
        let Some(vm) = vm.and_then(|vm| self.vms.get_mut(vm)) else { return };
        vm.lines += 1;
        vm.first_line.get_or_insert(time);
        vm.last_line = Some(time);
        if let Some(task) = task(text) {
            vm.tasks.retain(|other| other.name != task.name);
            vm.tasks.push(task);
        } else if let Some(what) = failed(text)
            && vm.failures.len() < FAILURES_MAX
        {
            vm.failures.push(what.to_owned());
        }
    }

    /// Returns the VM whose label is in front of the line, and the rest of the line.
    fn labelled<'a>(&self, line: &'a str) -> (Option<usize>, &'a str) {
        let label = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
        // The line of a VM may be empty, and its last blank cut off.
        let label = label.or_else(|| Some((line.strip_prefix('[')?.strip_suffix(']')?, "")));
        let Some((name, text)) = label else { return (None, line) };
        (self.index(name.trim_end()), text)
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.vms.iter().position(|vm| vm.name == name)
    }

    fn hypervisor(&mut self, text: &str) {
        if text == "ready" || text.starts_with("ready ") {
            self.ready = true;
        } else if text == "power off" {
            self.power_off = true;
        } else if text == "no VM was started" {
            // The message before this one says why.
            self.refusal = Some(std::mem::take(&mut self.last_message));
        } else if let Some(view) = text.strip_prefix("console: ") {
            // `console: all VMs, ...` or `console: NAME; ...`
            if view.starts_with("all VMs,") {
                self.focus = None;
            } else if let Some(vm) = view.split_once(';').and_then(|(name, _)| self.index(name)) {
                self.focus = Some(vm);
                let others = self.vms.iter_mut().enumerate().filter(|(other, _)| *other != vm);
                others.for_each(|(_, other)| other.hidden = true);
            }
        } else if let Some((name, state, reason)) = ended(text)
            && let Some(vm) = self.index(name)
        {
            self.vms[vm].ended = Some((state.into(), reason.into()));
        } else if let Some(summary) = text.strip_prefix("summary ")
            && let Some((vm, report)) = report(summary)
            && let Some(vm) = self.index(vm)
        {
            self.vms[vm].report = Some(report);
        }
        self.last_message = text.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(output: &[&str]) -> Known {
        let mut tally = Tally::new(["linux".to_owned(), "rt".to_owned()]);
        for (time, bytes) in output.iter().enumerate() {
            let time = Duration::from_secs(time as u64);
            tally.feed(&Chunk { time, bytes: bytes.as_bytes().to_vec() });
        }
        tally.end()
    }

    #[test]
    fn lines_belong_to_the_vm_in_their_label() {
        let known =
            known(&["[linux] a\r\n[rt", "   ] b\n", "[linux] \n[other] c\nd\n[rt   ]\n[rt   ] e"]);
        let seen: Vec<_> =
            known.vms.iter().map(|vm| (vm.lines, vm.first_line, vm.last_line)).collect();
        let second = |n| Some(Duration::from_secs(n));
        assert_eq!(seen, [(2, second(0), second(2)), (3, second(1), second(2))]);
    }

    #[test]
    fn lines_without_label_belong_to_the_vm_that_is_shown_alone() {
        let known = known(&[
            "[rt   ] a\n[bulkhead] console: linux; Ctrl-] a for all VMs\nlogin\n[rt] not rt\n\x18\x1b[!p\r\n",
            "[bulkhead] console: all VMs, input goes to linux\n[rt   ] b\n",
        ]);
        assert_eq!((known.vms[0].lines, known.vms[1].lines), (2, 2));
        assert_eq!((known.vms[0].hidden, known.vms[1].hidden), (false, true));
    }

    #[test]
    fn reports_and_tasks_are_read() {
        let known = known(&["[bulkhead] ready\n\
             [rt   ] rt: task control period_us=1000 jobs=9 misses=1 response_min_ns=10 response_mean_ns=20 response_max_ns=30\n\
             [rt   ] rt: task control period_us=1000 jobs=10 misses=2 response_min_ns=10 response_mean_ns=20 response_max_ns=40\n\
             [rt   ] rt: task broken period_us=x\n\
             [bulkhead] summary vm=linux state=off reason=- restarts=0 exits=123 irqs=45\n\
             [bulkhead] summary vm=rt state=stopped reason=undefined-instruction restarts=3 exits=6 irqs=7\n\
             [bulkhead] power off\n"]);
        assert!(known.ready && known.power_off);
        let task = Told {
            name: "control".into(),
            period_us: 1000,
            jobs: 10,
            misses: 2,
            response_min_ns: 10,
            response_mean_ns: 20,
            response_max_ns: 40,
        };
        assert_eq!(known.vms[1].tasks, [task]);
        let report = known.vms[1].report.as_ref().expect("a report");
        assert_eq!((report.state.as_str(), report.restarts), ("stopped", 3));
        assert_eq!(report.reason.as_deref(), Some("undefined-instruction"));
        assert_eq!(known.vms[0].report.as_ref().expect("a report").reason, None);
    }

    #[test]
    fn guests_of_any_name_tell_of_tasks_and_failures() {
        let known = known(&[
            "[rt   ] blink: task fast period_us=5 jobs=3 misses=3 response_min_ns=1 \
             response_mean_ns=1 response_max_ns=1\n[linux] linux: measure FAILED: no CPU\n\
             [linux] linux: FAILEDNESS\n[rt   ] some words: task x period_us=1\n[rt   ] irq: line FAILED\n\
             [rt   ] tasks: FAILED: no such task\n",
        ]);
        assert_eq!(known.vms[1].tasks.iter().map(|it| it.misses).collect::<Vec<_>>(), [3]);
        assert_eq!(known.vms[0].failures, ["measure FAILED: no CPU"]);
        assert_eq!(known.vms[1].failures, ["line FAILED", "FAILED: no such task"]);
        // A response above the described deadline is late, whatever deadline the guest counts by.
        let told = &known.vms[1].tasks[0];
        assert_eq!((told.missed(None), told.missed(Some(1)), told.missed(Some(0))), (3, 3, 3));
        // One that counts by its period counts jobs that the description lets be later.
        let later = Told { period_us: 5, response_max_ns: 7_000, ..told.clone() };
        let missed = [5_000, 6_000, 7_000, 8_000].map(|it| later.missed(Some(it)));
        assert_eq!(missed, [3, 1, 0, 0]);
        let none = Told { misses: 0, ..told.clone() };
        assert_eq!((none.missed(None), none.missed(Some(1)), none.missed(Some(0))), (0, 0, 1));
    }

    #[test]
    fn ends_are_known_before_the_report() {
        let known =
            known(&["[bulkhead] ready\n[bulkhead] rt: stopped (reset, restart limit reached)\n\
                             [bulkhead] linux: off (power-off)\n[bulkhead] linux: pc (1)\n"]);
        let ended = |vm: usize| {
            known.vms[vm].ended.as_ref().map(|(state, reason)| (state.as_str(), reason.as_str()))
        };
        assert_eq!(ended(0), Some(("off", "power-off")));
        assert_eq!(ended(1), Some(("stopped", "reset, restart limit reached")));
    }

    #[test]
    fn refusal_is_the_message_before_it() {
        let known =
            known(&["[bulkhead] Bulkhead\n[bulkhead] plan: bad\n[bulkhead] no VM was started\n"]);
        assert_eq!(known.refusal.as_deref(), Some("plan: bad"));
    }

    #[test]
    fn guest_cannot_speak_for_the_hypervisor_behind_its_label() {
        let known = known(&["[linux] [bulkhead] power off\n[linux] [rt   ] rt: task a\n"]);
        assert!(!known.power_off);
        assert_eq!((known.vms[0].lines, known.vms[1].lines), (2, 0));
    }
}
