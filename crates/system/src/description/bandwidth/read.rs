//! Reads `bandwidth` and the keys that belong to it.

use units::{Duration, Rate};

use super::{Amount, Bandwidth, Credits};
use crate::description::{Located, PLANNED};
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::plan::Compensation;

/// The period if none is given (XenThrottle and XvIso use 1 and 10 ms).
const PERIOD: Duration = Duration(1_000_000);

/// `bandwidth` of a VM or VCPU: `Some(None)` if there is none, `None` if it cannot be read.
pub(in crate::description) fn read(at: &Fields<'_>) -> Option<Option<Bandwidth>> {
    if !at.has("bandwidth") {
        return Some(None);
    }
    if let Some(planned) = at.peek("bandwidth").filter(|text| text.value == PLANNED) {
        let amount = planned.map(|_| Amount::Planned);
        let period = Located::new(PERIOD, &amount.place);
        return Some(Some(Bandwidth { amount, period }));
    }
    if !at.is_table("bandwidth") {
        let rate = at.quantity::<Rate>("bandwidth")?;
        let period = Located::new(PERIOD, &rate.place);
        return Some(Some(Bandwidth { amount: rate.map(Amount::Rate), period }));
    }
    let table = at.table("bandwidth")?;
    let rate = table.quantity::<Rate>("rate");
    let accesses = table.integer("accesses", 0, u64::MAX);
    let period = table.quantity::<Duration>("period");
    if table.has("accesses") {
        table.forbid("rate", "there is a number of `accesses`", "remove one of the two");
    }
    table.finish();
    let amount = accesses.map(|it| it.map(Amount::Accesses));
    let amount = amount.or(rate.map(|it| it.map(Amount::Rate)));
    // Without one it is planned.
    let open = !table.has("accesses") && !table.has("rate");
    let amount = amount.or(open.then(|| Located::new(Amount::Planned, table.place())))?;
    if table.has("period") && period.is_none() {
        return None;
    }
    let period = period.unwrap_or_else(|| Located::new(PERIOD, &amount.place));
    Some(Some(Bandwidth { amount, period }))
}

/// `compensation` and `flush` of a VM with or without a budget: as for [`read`].
pub(in crate::description) fn compensation(at: &Fields<'_>) -> Option<Option<Credits>> {
    let (low, high) = (Compensation::FEWEST_PERIODS.into(), u32::MAX.into());
    let periods = at.integer("compensation", low, high);
    let flush = at.strings("flush");
    let help = "add `compensation`, or remove this";
    at.forbid_without("compensation", "flush", "the VM gets no credits", help);
    if !at.has("compensation") {
        return Some(None);
    }
    let help = match at.has("flush") {
        true => {
            "remove `compensation` and `flush` too, or give the VM a limit, as in `bandwidth = \"planned\"`"
        }
        false => {
            "remove `compensation` too, or give the VM a limit, as in `bandwidth = \"planned\"`"
        }
    };
    let why = "the VM has no `bandwidth`: without a limit there is nothing to be raised";
    at.forbid_without("bandwidth", "compensation", why, help);
    let flush_task_switch = match flush {
        None if at.has("flush") => return None,
        None => false,
        Some(words) => self::flush(at, &words),
    };
    let periods = periods?;
    Some(Some(periods.map(|periods| Compensation { periods: periods as u32, flush_task_switch })))
}

/// Returns true if credits are given up at switches of tasks, too. At switches of VCPUs they always
/// are.
fn flush(at: &Fields<'_>, words: &[String]) -> bool {
    const VCPU: &str = "vcpu-switch";
    const TASK: &str = "task-switch";
    let Some(place) = at.key_place("flush") else { return false };
    let wrong = |message: String| {
        let help = format!("write `flush = [\"{VCPU}\", \"{TASK}\"]`, or `flush = [\"{VCPU}\"]`");
        at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
    };
    if let Some(unknown) = words.iter().find(|word| ![VCPU, TASK].contains(&word.as_str())) {
        wrong(format!("`{}` is not known here", unknown.escape_debug()));
    } else if !words.iter().any(|word| word == VCPU) {
        wrong(format!("credits are always given up at a `{VCPU}`"));
    }
    words.iter().any(|word| word == TASK)
}
