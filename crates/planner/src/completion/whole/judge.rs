//! The judge of the search: the verdict of `check` on a complete description, in numbers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use system::address::Pcpu;
use system::description::{Chain, System};
use system::plan::{self, Class};
use verdict::{ChainVerdict, Memo, PcpuVerdict, VcpuVerdict};

use super::super::memory;
use super::super::pcpus::At;
use super::request::Request;

/// Millionths.
pub const WHOLE: u64 = 1_000_000;
/// The lateness of a task without a bound, in millionths of its deadline: more than of any other.
const UNBOUNDED: u64 = 10 * WHOLE;
/// Effort of a judgement beside its tasks.
const OF_EACH: u64 = 4;
/// To find a known judgement takes this part of the effort, about, that the judgement took.
const KNOWN: usize = 10;

/// Judges complete descriptions, and counts the effort.
pub struct Judge<'a> {
    request: &'a Request<'a>,
    effort: Cell<u64>,
    spent: Cell<u64>,
    stopped: Cell<bool>,
    /// Verdicts on the VCPUs of a PCPU, where PCPUs do not affect each other.
    known: RefCell<HashMap<Vec<u64>, Rc<[Share]>>>,
    /// Verdicts where PCPUs affect each other.
    memo: RefCell<Memo>,
}

/// A VCPU of a judged description.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// Indices of VM and VCPU.
    pub at: At,
    /// Its PCPU.
    pub pcpu: u32,
    /// True if it gets its budget in each period, or has none.
    pub served: bool,
    /// True if all its tasks are in time, and all chains through them.
    pub in_time: bool,
    /// The number of its tasks.
    pub tasks: u64,
    /// The longest response time of its tasks and time of chains through them, in millionths of the
    /// deadline.
    pub worst: u64,
    /// The sum of the lateness of its tasks, in millionths of their deadlines; and its part of the lateness
    /// of chains.
    pub late: u64,
}

/// The judgement on a candidate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Judgement {
    /// All VCPUs, PCPU by PCPU.
    pub vcpus: Vec<Share>,
}

/// The distance of a candidate from holding: less is better.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Lateness {
    /// The lateness of all tasks, and the values that count for VCPUs without their budgets.
    pub sum: u64,
    /// The worst task.
    pub worst: u64,
}

impl Judgement {
    /// Returns true if all tasks are in time, and all VCPUs get their budgets.
    pub fn holds(&self) -> bool {
        self.vcpus.iter().all(Share::is_well)
    }

    /// Returns how far it is from that.
    pub fn lateness(&self) -> Lateness {
        let sum = self.vcpus.iter().map(|it| it.late + if it.served { 0 } else { WHOLE }).sum();
        Lateness { sum, worst: self.vcpus.iter().map(|it| it.worst).max().unwrap_or(0) }
    }
}

impl Share {
    /// Returns true if it gets its budget, and its tasks are in time.
    pub fn is_well(&self) -> bool {
        self.served && self.in_time
    }

    fn new(at: At, pcpu: u32, judged: &VcpuVerdict, served: bool) -> Self {
        let budget = judged.budget_ns.unwrap_or(1).min(judged.period_ns.unwrap_or(1));
        let supply = budget.saturating_mul(WHOLE) / judged.period_ns.unwrap_or(1).max(1);
        // Without a bound at least a direction.
        let short = judged.utilization_ppm.saturating_sub(supply).min(WHOLE);
        let ratio = |task: &verdict::TaskVerdict| match task.wcrt_ns {
            Some(wcrt) => {
                let ratio =
                    u128::from(wcrt) * u128::from(WHOLE) / u128::from(task.deadline_ns.max(1));
                u64::try_from(ratio).unwrap_or(u64::MAX).min(UNBOUNDED)
            }
            None => UNBOUNDED + short,
        };
        let late = judged.tasks.iter().filter(|task| !task.ok);
        Self {
            at,
            pcpu,
            served,
            in_time: judged.tasks.iter().all(|task| task.ok),
            tasks: judged.tasks.len() as u64,
            worst: judged.tasks.iter().map(ratio).max().unwrap_or(0),
            late: late.map(|task| ratio(task).saturating_sub(WHOLE).max(1)).sum(),
        }
    }
}

impl<'a> Judge<'a> {
    /// Returns a judge for this request, with all of its effort.
    pub fn new(request: &'a Request<'a>) -> Self {
        let (effort, spent) = (Cell::new(request.effort), Cell::new(0));
        let stopped = Cell::new(false);
        Self {
            request,
            effort,
            spent,
            stopped,
            known: RefCell::default(),
            memo: RefCell::default(),
        }
    }

    /// Returns true if the search has to end.
    pub fn is_done(&self) -> bool {
        if self.stopped.get() || (self.request.stops)() {
            self.stopped.set(true);
            return true;
        }
        let is_spent = self.spent.get() >= self.effort.get();
        if let Some(ran_out) = self.request.ran_out.filter(|_| is_spent) {
            ran_out.set(true);
        }
        is_spent
    }

    /// Begins again, with this effort.
    pub fn renew(&self, effort: u64) {
        self.effort.set(effort);
        self.spent.set(0);
    }

    /// Returns the effort that was spent.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Returns the part of the effort that was spent, in millionths.
    pub fn spent_ppm(&self) -> u64 {
        self.spent.get().saturating_mul(WHOLE) / self.effort.get().max(1)
    }

    /// Judges a complete description; `None` if it is no plan.
    pub fn judge(&self, system: &System) -> Option<Judgement> {
        self.request.candidates.set(self.request.candidates.get() + 1);
        let vcpus = plan::assign(system).ok()?;
        match is_separable(system) {
            true => Some(self.pcpu_by_pcpu(system, &vcpus)),
            false => {
                let pcpus = self.memo.borrow_mut().of_description(system, &vcpus);
                let tasks =
                    |it: &PcpuVerdict| it.vcpus.iter().map(|vcpu| vcpu.tasks.len()).sum::<usize>();
                let new = pcpus.iter().filter(|it| it.is_new);
                let new: usize = new.map(|it| tasks(&it.verdict)).sum();
                let all: usize = pcpus.iter().map(|it| tasks(&it.verdict)).sum();
                self.spend((new + all / KNOWN) as u64);
                let pcpus = || pcpus.iter().map(|it| &*it.verdict);
                let shares = pcpus().flat_map(|it| self.shares(system, it.pcpu, it));
                let mut vcpus: Vec<Share> = shares.collect();
                add_chains(system, &ChainVerdict::all(system, pcpus()), &mut vcpus);
                Some(Judgement { vcpus })
            }
        }
    }

    /// Returns true if a description holds.
    pub fn holds(&self, system: &System) -> bool {
        self.judge(system).is_some_and(|it| it.holds())
    }

    fn shares<'s>(
        &'s self,
        system: &'s System,
        pcpu: u32,
        judged: &'s PcpuVerdict,
    ) -> impl Iterator<Item = Share> + use<'s, 'a> {
        judged.vcpus.iter().filter_map(move |vcpu| {
            let vm = system.vms.iter().position(|vm| vm.name.value == vcpu.vm)?;
            Some(Share::new((vm, vcpu.vcpu), pcpu, vcpu, self.is_served(vcpu)))
        })
    }

    /// Returns true if VCPUs without tasks need not get their budgets in each period.
    pub fn is_lenient(&self) -> bool {
        self.request.lenient
    }

    /// Returns true if a VCPU gets its budget in each period, or need not.
    pub fn is_served(&self, vcpu: &VcpuVerdict) -> bool {
        vcpu.ok || self.request.lenient && vcpu.tasks.is_empty()
    }

    /// Counts effort: judged tasks.
    pub fn spend(&self, tasks: u64) {
        self.spent.set(self.spent.get().saturating_add(tasks + OF_EACH));
    }

    /// Judges PCPU by PCPU. A judgement on a PCPU that is known is not computed again.
    fn pcpu_by_pcpu(&self, system: &System, vcpus: &[Vec<plan::Vcpu>]) -> Judgement {
        let count = system.platform.value.cpus.len();
        let used = |pcpu: u32| vcpus.iter().flatten().any(|vcpu| vcpu.pcpu.0 == pcpu);
        let console = plan::console(count, used);
        let mut all = Vec::new();
        let mut new = 0;
        for pcpu in 0..count as u32 {
            let of_vm = |(vm, vcpus): (usize, &Vec<plan::Vcpu>)| {
                let here = vcpus.iter().enumerate().filter(|(_, vcpu)| vcpu.pcpu.0 == pcpu);
                // The verdict on a single PCPU calls it the first one.
                let first = |vcpu: &plan::Vcpu| plan::Vcpu { pcpu: Pcpu(0), ..*vcpu };
                here.map(move |(index, vcpu)| (vm, index, first(vcpu))).collect::<Vec<_>>()
            };
            let here: Vec<_> = vcpus.iter().enumerate().flat_map(of_vm).collect();
            if here.is_empty() {
                continue;
            }
            let key = key(system, &here, console == pcpu);
            let known = self.known.borrow().get(&key).cloned();
            let found = known.unwrap_or_else(|| {
                let judged = PcpuVerdict::of(system, &here, console == pcpu);
                let found: Rc<[Share]> = self.shares(system, pcpu, &judged).collect();
                new += found.iter().map(|it| it.tasks).sum::<u64>();
                self.known.borrow_mut().insert(key, Rc::clone(&found));
                found
            });
            all.extend(found.iter().map(|it| Share { pcpu, ..*it }));
        }
        self.spend(new);
        Judgement { vcpus: all }
    }
}

/// Counts chains as if all VCPUs of their steps were as late as they are.
fn add_chains(system: &System, chains: &[ChainVerdict], vcpus: &mut [Share]) {
    for (chain, judged) in system.chains.iter().zip(chains) {
        let Some(used) = judged.used_ppm() else { continue };
        let mut on: Vec<At> = Vec::new();
        for (index, step) in chain.steps.iter().enumerate() {
            let task = system.vms.get(step.vm).and_then(|vm| vm.tasks.get(step.task));
            let at = task.map(|task| (step.vm, task.vcpu));
            // Where a step has no bound, no other one is in the way.
            let counts = judged.unbounded_step.is_none_or(|it| it == index);
            on.extend(at.filter(|at| counts && !on.contains(at)));
        }
        let used = used.min(UNBOUNDED);
        let late = used.saturating_sub(WHOLE).div_ceil(on.len().max(1) as u64);
        for share in vcpus.iter_mut().filter(|it| on.contains(&it.at)) {
            share.in_time &= judged.ok;
            share.worst = share.worst.max(used);
            share.late = share.late.saturating_add(late);
        }
    }
}

/// Returns true if nothing on a PCPU delays others, and no chain that has to be in time can go
/// through several of them.
pub fn is_separable(system: &System) -> bool {
    let mut tasks = system.vms.iter().flat_map(|vm| &vm.tasks);
    !memory::matters(system)
        && tasks.all(|task| task.sections.is_empty())
        && !system.chains.iter().any(Chain::has_deadline)
}

/// Returns all on which the verdict on a PCPU depends and that a search changes.
fn key(system: &System, here: &[(usize, usize, plan::Vcpu)], console: bool) -> Vec<u64> {
    let mut key = vec![u64::from(console)];
    for (vm, index, vcpu) in here {
        key.extend([*vm as u64, *index as u64]);
        match vcpu.server {
            None => key.push(0),
            Some(server) => {
                key.extend([1, u64::from(server.priority)]);
                match server.class {
                    Class::Background => key.push(0),
                    Class::Reserved(kind, budget) => {
                        key.extend([1 + kind as u64, budget.budget.0, budget.period.0]);
                    }
                }
            }
        }
        let of_vm = &system.vms[*vm];
        let bits = |colors: policy::color::ColorSet| {
            colors.iter().fold(0u64, |bits, color| bits | 1u64 << (color.index() % 64))
        };
        key.push(of_vm.colors.as_ref().map_or(u64::MAX, |colors| bits(colors.value)));
        for (number, task) in of_vm.tasks.iter().enumerate() {
            if task.vcpu == *index {
                key.push(number as u64);
                key.push(task.colors.as_ref().map_or(u64::MAX, |colors| bits(colors.value)));
            }
        }
        key.push(u64::MAX - 1);
    }
    key
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use verdict::Verdict;

    use super::*;

    /// Two VMs with two VCPUs each on two PCPUs, the last of which serves the console.
    fn system(budget: u64, vcpu: u64) -> System {
        with_chain(budget, vcpu, "")
    }

    /// The same with a chain.
    fn with_chain(budget: u64, vcpu: u64, chain: &str) -> System {
        let vm = |name: &str| {
            let on = |pcpu: u64| {
                format!(
                    "[[vm.vcpu]]\npcpu = {pcpu}\nserver = \"deferrable\"\nperiod = \"5ms\"\n\
                     budget = \"{budget}us\"\n"
                )
            };
            let task = |name: &str, vcpu: u64, wcet: u64| {
                format!(
                    "[[vm.task]]\nname = \"{name}\"\nvcpu = {vcpu}\nperiod = \"20ms\"\n\
                     wcet = \"{wcet}us\"\n"
                )
            };
            format!(
                "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
                 kernel = \"rt.bin\"\n{}{}{}{}{}",
                on(2),
                on(3),
                task("one", 0, 800),
                task("two", vcpu, 1_200),
                task("three", 1, 1_000),
            )
        };
        let others: String = (0..2)
            .map(|pcpu| {
                format!(
                    "[[vm]]\nname = \"o{pcpu}\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
                     kernel = \"rt.bin\"\n[[vm.vcpu]]\npcpu = {pcpu}\n"
                )
            })
            .collect();
        let text = format!("platform = \"qemu-virt\"\n{chain}{}{}{others}", vm("a"), vm("b"));
        System::from_toml("s.toml", &text, Path::new("")).unwrap_or_else(|it| panic!("{it}"))
    }

    /// PCPU by PCPU, and from what is known, the same comes out as for all PCPUs at once.
    #[test]
    fn the_judge_says_what_check_says() {
        let count = Cell::new(0);
        let request = Request::new(u64::MAX, &count, &|| false);
        let judge = Judge::new(&request);
        let (mut yes, mut no) = (0, 0);
        for budget in (400..2_000).step_by(25) {
            for vcpu in 0..2 {
                let system = system(budget, vcpu);
                assert!(is_separable(&system));
                let vcpus = plan::assign(&system).expect("PCPUs");
                let verdict = Verdict::of_description(&system, &vcpus);
                let all = verdict.pcpus.iter().flat_map(|it| judge.shares(&system, it.pcpu, it));
                let judged = judge.judge(&system).expect("a plan");
                assert_eq!(judged.vcpus, all.collect::<Vec<_>>(), "{budget} {vcpu}");
                let made = plan::make(&system).expect("a plan");
                let schedulable = Verdict::of_plan(&made, Some(&system)).schedulable;
                assert_eq!(judged.holds(), schedulable, "{budget} {vcpu}");
                if schedulable { yes += 1 } else { no += 1 }
            }
        }
        assert!(yes > 10 && no > 10, "{yes} {no}");
    }

    /// Chains count at the VCPUs of their steps, and only there.
    #[test]
    fn the_judge_says_what_check_says_of_chains() {
        let count = Cell::new(0);
        let request = Request::new(u64::MAX, &count, &|| false);
        let judge = Judge::new(&request);
        let (mut yes, mut no, mut before) = (0, 0, Lateness { sum: 0, worst: 0 });
        for limit in (44..80).rev().step_by(4) {
            for budget in (900..2_000).step_by(100) {
                let chain = format!(
                    "[[chain]]\nname = \"c\"\nsteps = [\"a.one\", \"b.three\"]\nmax_age = \"{limit}ms\"\n"
                );
                let system = with_chain(budget, 1, &chain);
                assert!(!is_separable(&system));
                let judged = judge.judge(&system).expect("a plan");
                let made = plan::make(&system).expect("a plan");
                let verdict = Verdict::of_plan(&made, Some(&system));
                assert_eq!(judged.holds(), verdict.schedulable, "{limit} {budget}");
                if verdict.tasks().any(|(_, task)| !task.ok) {
                    continue;
                }
                let late = judged.vcpus.iter().filter(|it| !it.in_time);
                let late: Vec<At> = late.map(|it| it.at).collect();
                match verdict.schedulable {
                    true => yes += 1,
                    false => {
                        no += 1;
                        assert_eq!(late.len(), 2, "{late:?}");
                        assert!(late.contains(&(0, 0)) && late.contains(&(1, 1)), "{late:?}");
                    }
                }
                if budget == 1_500 {
                    assert!(judged.lateness() >= before, "{limit}: less time is later");
                    before = judged.lateness();
                }
            }
        }
        assert!(yes > 10 && no > 10, "{yes} {no}");
    }

    #[test]
    fn what_is_later_counts_more() {
        let count = Cell::new(0);
        let request = Request::new(u64::MAX, &count, &|| false);
        let judge = Judge::new(&request);
        let lateness = |budget| judge.judge(&system(budget, 0)).expect("a plan").lateness();
        assert!(lateness(420) > lateness(500), "more budget is less late");
        assert_eq!(count.get(), 2);
    }
}
