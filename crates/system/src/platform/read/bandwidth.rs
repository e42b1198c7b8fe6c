//! Reads `[bandwidth]`.

use abi::limits::{PRIVATE_INTERRUPTS, SHARED_INTERRUPTS};
use abi::plan::{events, words};

use units::{Bytes, Duration};

use crate::address::IntId;
use crate::diagnostic::Diagnostic;
use crate::document::{Fields, Located};
use crate::plan::CounterSource;
use crate::platform::{Bandwidth, Cache};

/// The interrupts that Arm recommends for the PMU (Base System Architecture), and that of the
/// counter of the cache model.
const PMU_INTERRUPT: IntId = IntId(23);
const CACHESCOPE_INTERRUPT: IntId = IntId(22);
/// Bytes of an access where no shared cache says how long lines are.
const LINE: Bytes = Bytes(64);

/// Reads the counter of a machine with this number of CPUs, which may run VMs under KVM, and these caches. Keys that are not
/// given are as in `base`, if that is a counter of the same kind, or else have their defaults.
pub(crate) fn read(
    at: &Fields<'_>,
    base: Option<&Bandwidth>,
    (cpus, kvm): (usize, bool),
    caches: &[Cache],
) -> Option<Bandwidth> {
    let words = if kvm { CounterSource::UNDER_KVM } else { words::COUNTERS };
    let word = at.choice("counter", &words.map(|word| (word, word)));
    if base.is_none() {
        at.required::<()>("counter", None, "\"pmu\"");
    }
    let event = event(at, kvm);
    if kvm {
        refuse_registers(at);
    }
    let bits = bits(at);
    let interrupts = interrupts(at, cpus);
    let access = at.quantity::<Bytes>("access_bytes");
    let latency = at.quantity::<Duration>("access_latency");
    if at.has("counter") && word.is_none() {
        at.finish();
        return None;
    }
    let word = word.map_or_else(|| base.map(|base| base.source.as_str()), |word| Some(word.value));
    let same = base.filter(|base| Some(base.source.as_str()) == word);
    let source = match word {
        Some("pmu") => {
            let before = match same.map(|base| base.source) {
                Some(CounterSource::Pmu { event }) => Some(event),
                _ => at.required("event", None, "\"llc-refill\""),
            };
            event.or(before).map(|event| CounterSource::Pmu { event })
        }
        Some(word) => {
            let help = "remove it, or say `counter = \"pmu\"`";
            at.forbid("event", "only the PMU counts one of several events", help);
            let others = [CounterSource::Cycles, CounterSource::Cachescope, CounterSource::Clock];
            others.into_iter().find(|source| source.as_str() == word)
        }
        None => None,
    };
    let memory = source.is_none_or(CounterSource::counts_memory);
    if !memory {
        let help = "remove it, or count an event of the memory";
        at.forbid("access_bytes", "no accesses to memory are counted", help);
    }
    at.finish();
    if let Some(access) = &access {
        size(at, access);
    }
    if let Some(zero) = latency.as_ref().filter(|latency| latency.value == Duration(0)) {
        let help =
            "write for how long one access of another PCPU can delay one access, or remove it";
        let mistake = Diagnostic::new("out-of-range", "an access takes no time");
        at.add(mistake.at(&zero.place, "here").help(help));
    }
    let source = source?;
    let is_scope = source == CounterSource::Cachescope;
    // The cycle counter is one of the PMU.
    let pmu = base.filter(|base| (base.source == CounterSource::Cachescope) == is_scope);
    let usual = if is_scope { CACHESCOPE_INTERRUPT } else { PMU_INTERRUPT };
    // Linux makes a counter of 64 bits of any.
    let width = if matches!(source, CounterSource::Pmu { .. }) && !kvm { 32 } else { 64 };
    let line = caches.iter().filter(|cache| cache.shared_by > 1).max_by_key(|cache| cache.level);
    let line = line.map_or(LINE, |cache| Bytes(cache.shape.line_bytes().into()));
    let access = access.map(|access| access.value).or(base.and_then(|base| base.access));
    Some(Bandwidth {
        source,
        bits: bits.or(same.map(|base| base.bits)).unwrap_or(width),
        interrupts: interrupts
            .or(pmu.map(|base| base.interrupts.clone()))
            .unwrap_or_else(|| vec![usual]),
        access: memory.then(|| access.unwrap_or(line)),
        latency: latency.map(|it| it.value).or(base.and_then(|base| base.latency)),
    })
}

/// Numbers of events of CPUs of Intel and AMD that count no accesses, though `check` would take them for accesses.
const NO_ACCESSES: [(u16, &str); 3] =
    [(0x003c, "cycles"), (0x0076, "cycles"), (0x00c0, "instructions")];

/// Returns the name or the number of an event.
fn event(at: &Fields<'_>, kvm: bool) -> Option<u16> {
    if at.has("event") && !at.is_string("event") {
        let number = at.integer("event", 0, u16::MAX.into())?;
        let event = number.value as u16;
        if kvm && (event == events::CYCLES || CounterSource::EVENTS.iter().any(|it| it.1 == event))
        {
            let message = format!("{event:#x} is the number of an event of Arm's CPUs");
            let help = "write event select and unit mask of an x86 CPU, as in `event = 0x412e`; or a name, as in \
                        `event = \"llc-refill\"`";
            at.add(Diagnostic::new("wrong-value", message).at(&number.place, "here").help(help));
        } else if kvm && let Some((_, what)) = NO_ACCESSES.iter().find(|it| it.0 == event) {
            let message =
                format!("{event:#x} counts {what} of an x86 CPU, and no accesses to memory");
            let help = "write the number of an event that counts misses of the last-level cache; or a name, as in `event = \"llc-refill\"`";
            at.add(Diagnostic::new("wrong-value", message).at(&number.place, "here").help(help));
        }
        return Some(event);
    }
    if !kvm {
        return at.choice("event", &CounterSource::EVENTS).map(|event| event.value);
    }
    // What x86 CPUs and Linux have in common.
    let [_, _, refills, instructions] = CounterSource::EVENTS;
    at.choice("event", &[refills, instructions]).map(|event| event.value)
}

/// Refuses what describes registers of a counter, which only Linux knows under KVM.
fn refuse_registers(at: &Fields<'_>) {
    for key in ["counter_bits", "counter_interrupt", "counter_interrupts"] {
        at.forbid(key, "Linux drives the counter", "remove it");
    }
}

fn bits(at: &Fields<'_>) -> Option<u32> {
    let bits = at.integer("counter_bits", 0, u64::MAX)?;
    if !matches!(bits.value, 32 | 64) {
        let message = format!("a counter of {} bits", bits.value);
        let help = "counters have 32 or 64 bits: write the width after which it overflows";
        at.add(Diagnostic::new("wrong-value", message).at(&bits.place, "here").help(help));
        return None;
    }
    Some(bits.value as u32)
}

/// `counter_interrupt`, or `counter_interrupts` of the CPUs in their order.
fn interrupts(at: &Fields<'_>, cpus: usize) -> Option<Vec<IntId>> {
    let private = at.integer(
        "counter_interrupt",
        PRIVATE_INTERRUPTS.start.into(),
        u64::from(PRIVATE_INTERRUPTS.end) - 1,
    );
    let shared = at.integers(
        "counter_interrupts",
        SHARED_INTERRUPTS.start.into(),
        u64::from(SHARED_INTERRUPTS.end) - 1,
    );
    if at.has("counter_interrupt") {
        let why = "`counter_interrupt` is one for all CPUs";
        at.forbid("counter_interrupts", why, "remove one of the two");
    }
    let Some(Located { value, place }) = shared else {
        return private.map(|it| vec![IntId(it.value as u32)]);
    };
    if value.len() != cpus {
        let message = format!("there are {} interrupts for {cpus} CPUs", value.len());
        let help = "give one for each CPU, or `counter_interrupt` if it is a private one";
        at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
    }
    if let Some(twice) = (1..value.len()).find(|&index| value[..index].contains(&value[index])) {
        let message = format!("the interrupt {} is given twice", value[twice]);
        let help = "each CPU has its own: correct one";
        at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
    }
    Some(value.into_iter().map(|it| IntId(it as u32)).collect())
}

fn size(at: &Fields<'_>, access: &Located<Bytes>) {
    if access.value == Bytes(0) || u32::try_from(access.value.0).is_err() {
        let message = format!("an access moves {}", access.value);
        let help = "write what one access moves: usually a line of the cache, 64 B";
        at.add(Diagnostic::new("out-of-range", message).at(&access.place, "here").help(help));
    }
}
