//! Reads the budgets of memory accesses of VMs and VCPUs, and the counter of accesses.

use alloc::vec::Vec;

use abi::limits::{
    COMPENSATION_MIN, MEMORY_PERIOD_MIN_NS, PERIOD_MAX_NS, PRIVATE_INTERRUPTS, RESERVED_INTERRUPTS,
};
use abi::plan::{events, names, words};
use policy::bandwidth::{self, Account, Parameters, Pool};
use policy::time::{Duration, Instant};

use super::server::refuse;
use super::{Clock, Node, Problem, Refusal, binding, tree};
use crate::arch::counter::width::Width;

/// The counter of the memory accesses of each PCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Counter {
    /// The things that are counted, and the place of the counter.
    pub source: Source,
    /// Width of the counter.
    pub width: Width,
    /// INTIDs of the interrupt at a limit: a private one, or a shared one for each PCPU.
    pub interrupts: Vec<u32>,
}

/// The things that a counter counts, and its place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// This event, by the performance monitors of the PCPU.
    Event(u16),
    /// Its cycles.
    Cycles,
    /// The accesses that an observer of the machine sees.
    Observer,
}

impl Counter {
    /// INTID of the interrupt of a PCPU.
    pub fn interrupt(&self, pcpu: usize) -> u32 {
        self.interrupts.get(pcpu).or(self.interrupts.first()).copied().unwrap_or_default()
    }

    /// Returns true if accesses to memory are counted.
    pub fn counts_memory(&self) -> bool {
        !matches!(
            self.source,
            Source::Cycles | Source::Event(events::INSTRUCTIONS | events::CYCLES)
        )
    }

    /// Most accesses for which it can wait.
    fn most(&self) -> u64 {
        self.width.most()
    }
}

/// Accesses in each period (XvIso, section IV).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MemoryBudget {
    /// Most accesses in a period; at least 1.
    pub accesses: u64,
    /// The period, in ticks of the system counter.
    pub period: Duration,
}

impl VmBudget {
    /// The budget of a VM on `cpus` PCPUs; `sides`: the PCPUs of critical VCPUs, one bit each.
    pub fn pool(&self, start: Instant, cpus: u32, sides: u64) -> Option<Pool> {
        let MemoryBudget { accesses: budget, period } = self.budget;
        let pool = Pool::new(Parameters { budget, period, start }, cpus.into()).ok()?;
        Some(match self.compensation {
            Some(Compensation { periods, .. }) => {
                pool.with_compensation(bandwidth::Compensation::new(periods, sides).ok()?)
            }
            None => pool,
        })
    }
}

impl MemoryBudget {
    /// The account of a VCPU; periods are counted from `start`.
    pub fn account(self, start: Instant) -> Option<Account> {
        let Self { accesses: budget, period } = self;
        Account::own(Parameters { budget, period, start }).ok()
    }
}

/// The budget of accesses of all VCPUs of a VM together (XenThrottle, section 4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VmBudget {
    /// The budget.
    pub budget: MemoryBudget,
    /// Its credits for accesses that critical VMs did not make.
    pub compensation: Option<Compensation>,
}

/// Credits for accesses that critical VMs did not make (XenThrottle, section 3.4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Compensation {
    /// The credits are given up every `periods` periods.
    pub periods: u32,
    /// True if they are also given up when a guest of the critical side switches tasks.
    pub flush_task_switch: bool,
}

/// Reads `/platform/bandwidth-counter`, for `cpus` PCPUs; `console` is the interrupt of the UART.
#[inline(never)]
pub fn counter(node: Node<'_>, cpus: usize, console: u32) -> Result<Counter, Refusal<'_>> {
    node.only(
        &[names::SOURCE, names::EVENT, names::BITS, names::INTERRUPTS, names::ACCESS_BYTES],
        &[],
    )?;
    let source = match node.expect_text(names::SOURCE, &words::COUNTERS)? {
        0 => match u16::try_from(node.number(names::EVENT)?) {
            Ok(event) => Source::Event(event),
            Err(_) => {
                return Err(node.error(names::EVENT, Problem::Text("must be <0> to <0xffff>")));
            }
        },
        class => {
            refuse(node, &[names::EVENT], "has a meaning with source = \"pmu\" only")?;
            if class == 1 { Source::Cycles } else { Source::Observer }
        }
    };
    let width = match node.number(names::BITS)? {
        32 => Width::BITS_32,
        64 => Width::BITS_64,
        _ => return Err(node.error(names::BITS, Problem::Text("must be <32> or <64>"))),
    };
    let mut interrupts = Vec::new();
    let cells = node.cells(names::INTERRUPTS, 1)?;
    while let Some(intid) = tree::word(cells, 4 * interrupts.len()) {
        interrupts.push(intid);
    }
    if let [private] = *interrupts.as_slice()
        && PRIVATE_INTERRUPTS.contains(&private)
        && !RESERVED_INTERRUPTS.contains(&private)
    {
        return Ok(Counter { source, width, interrupts });
    }
    if interrupts.len() != cpus {
        let text = "must be a free private interrupt (not 25 to 27), or a shared one for each CPU";
        return Err(node.error(names::INTERRUPTS, Problem::Text(text)));
    }
    for (index, &intid) in interrupts.iter().enumerate() {
        binding::shared_interrupt(node, names::INTERRUPTS, intid)?;
        if intid == console || interrupts.iter().take(index).any(|&other| other == intid) {
            return Err(node.error(names::INTERRUPTS, Problem::InterruptTwice(intid.into())));
        }
    }
    Ok(Counter { source, width, interrupts })
}

const NO_COUNTER: &str = "needs the node /platform/bandwidth-counter";

/// The budget of a VCPU or VM, if it has one.
#[inline(never)]
pub fn budget<'a>(
    node: Node<'a>,
    counter: Option<&Counter>,
    clock: Clock,
) -> Result<Option<MemoryBudget>, Refusal<'a>> {
    if node.value(names::MEMORY_BUDGET).is_none() {
        refuse(node, &[names::MEMORY_PERIOD_NS], "needs memory-budget")?;
        return Ok(None);
    }
    let Some(counter) = counter else {
        return Err(node.error(names::MEMORY_BUDGET, Problem::Text(NO_COUNTER)));
    };
    let (accesses, period) =
        (node.long(names::MEMORY_BUDGET)?, node.long(names::MEMORY_PERIOD_NS)?);
    if accesses == 0 || accesses > counter.most() {
        let problem = Problem::Accesses(accesses, counter.most());
        return Err(node.error(names::MEMORY_BUDGET, problem));
    }
    if !(MEMORY_PERIOD_MIN_NS..=PERIOD_MAX_NS).contains(&period) {
        let problem = Problem::Period(period, MEMORY_PERIOD_MIN_NS, PERIOD_MAX_NS);
        return Err(node.error(names::MEMORY_PERIOD_NS, problem));
    }
    let period = Duration(clock.whole(node, names::MEMORY_PERIOD_NS, period)?);
    Ok(Some(MemoryBudget { accesses, period }))
}

/// The budget of a VM, if it has one.
#[inline(never)]
pub fn of_vm<'a>(
    node: Node<'a>,
    counter: Option<&Counter>,
    clock: Clock,
) -> Result<Option<VmBudget>, Refusal<'a>> {
    let Some(budget) = budget(node, counter, clock)? else {
        refuse(node, &[names::COMPENSATION, names::FLUSH_TASK_SWITCH], "needs memory-budget")?;
        return Ok(None);
    };
    if node.value(names::COMPENSATION).is_none() {
        refuse(node, &[names::FLUSH_TASK_SWITCH], "needs compensation")?;
        return Ok(Some(VmBudget { budget, compensation: None }));
    }
    let periods = node.number(names::COMPENSATION)?;
    if periods < COMPENSATION_MIN {
        return Err(node.error(names::COMPENSATION, Problem::Text("must be <2> or more")));
    }
    let most = counter.map_or(0, Counter::most);
    if budget.accesses.saturating_mul(u64::from(periods)) > most {
        return Err(node.error(names::COMPENSATION, Problem::Accesses(budget.accesses, most)));
    }
    let flush_task_switch = node.value(names::FLUSH_TASK_SWITCH).is_some();
    let compensation = Some(Compensation { periods, flush_task_switch });
    Ok(Some(VmBudget { budget, compensation }))
}

/// Returns true if the accesses of a VM are counted for the compensation of others.
pub fn critical<'a>(node: Node<'a>, counter: Option<&Counter>) -> Result<bool, Refusal<'a>> {
    let critical = node.value(names::CRITICAL).is_some();
    if critical && counter.is_none() {
        return Err(node.error(names::CRITICAL, Problem::Text(NO_COUNTER)));
    }
    Ok(critical)
}
