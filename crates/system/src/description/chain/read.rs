//! Reads `[[chain]]`; the tasks are found later.

use units::Duration;

use super::{CHAINS_MAX, STEPS_MAX};
use crate::description::Located;
use crate::description::names::refuse_twice;
use crate::diagnostic::Diagnostic;
use crate::document::Fields;

/// A chain as it was written.
pub(in crate::description) struct Written {
    pub name: Located<String>,
    pub steps: Vec<Located<String>>,
    pub max_reaction: Option<Located<Duration>>,
    pub max_age: Option<Located<Duration>>,
}

/// Returns the chains; `None` for those that cannot be read.
pub(in crate::description) fn read(root: &Fields<'_>) -> Vec<Option<Written>> {
    let tables = root.tables("chain", "[[chain]]");
    refuse_twice(root, "chains", &tables);
    if let Some(more) = tables.get(CHAINS_MAX) {
        let message = format!("a system can have {CHAINS_MAX} chains");
        let mistake = Diagnostic::new("out-of-range", message).at(more.place(), "one more");
        root.add(mistake.help("remove the chains from here on"));
    }
    tables.iter().map(chain).collect()
}

fn chain(at: &Fields<'_>) -> Option<Written> {
    let name = at.required("name", at.string("name"), "\"steer\"");
    let example = "[\"plan.route\", \"drive.control\"]";
    let steps = at.required("steps", at.located_strings("steps"), example);
    let (max_reaction, max_age) = (deadline(at, "max_reaction"), deadline(at, "max_age"));
    at.finish();
    let steps = steps?;
    if let Some(more) = steps.get(STEPS_MAX) {
        let message = format!("a chain can have {STEPS_MAX} steps");
        let mistake = Diagnostic::new("out-of-range", message).at(&more.place, "one more");
        at.add(mistake.help("divide it into chains that begin where others end"));
    }
    for (index, step) in steps.iter().enumerate() {
        let Some(first) = steps[..index].iter().find(|it| it.value == step.value) else { continue };
        let message = format!("`{}` is a step twice", step.value.escape_debug());
        at.add(
            Diagnostic::new("duplicate-name", message)
                .at(&step.place, "again here")
                .also(&first.place, "first here")
                .help("name each task once: data does not come back in a chain"),
        );
    }
    Some(Written { name: name?, steps, max_reaction, max_age })
}

/// Returns a time that must not be zero.
fn deadline(at: &Fields<'_>, key: &'static str) -> Option<Located<Duration>> {
    let time = at.quantity::<Duration>(key)?;
    if time.value == Duration(0) {
        let mistake = Diagnostic::new("out-of-range", format!("`{key}` is zero"));
        let help = "give the longest time that is allowed, or remove the key to only see the bound";
        at.add(mistake.at(&time.place, "here").help(help));
        return None;
    }
    Some(time)
}
