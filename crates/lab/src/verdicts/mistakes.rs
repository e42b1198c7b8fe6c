//! The reason why a command has no verdict: mistakes in its input, or no plan.

use report::verdicts::{Row, Rule, Verdicts};
use system::diagnostic::Diagnostic;

use super::{places, verdicts};
use crate::failure::Failure;

/// Returns the reasons of a failure of a command on a file.
pub fn of_failure(command: &'static str, file: &str, failure: &Failure) -> Verdicts {
    let (answer, rows) = match failure {
        Failure::Mistakes(errors) => {
            ("bad input", errors.iter().map(|it| mistake(file, Rule::Input(it.code), it)).collect())
        }
        Failure::NoPlan(errors) => {
            ("no plan", errors.iter().map(|it| mistake(file, Rule::Plan, it)).collect())
        }
        Failure::File { code, text } | Failure::Message { code, text } => {
            let row = Row::new(Rule::Input(code), file);
            ("bad input", vec![row.fails_if(text.lines())])
        }
    };
    verdicts((command, file, answer), None, rows, Vec::new())
}

/// A mistake is about its place, or a node of a plan.
fn mistake(file: &str, rule: Rule, mistake: &Diagnostic) -> Row {
    let subject = match (&mistake.place, &mistake.node) {
        (Some(place), _) => place.to_string(),
        (None, Some(node)) => format!("{file} {node}"),
        (None, None) => file.into(),
    };
    let help = mistake.help.iter().map(|help| format!("help: {help}"));
    let reasons = std::iter::once(mistake.message.clone()).chain(help);
    let place = mistake.place.as_ref().map(places::place);
    Row::new(rule, subject).fails_if(reasons).at(place)
}
