//! The rules of a plan, as in `docs/reference/plan.md`, but those about the contents of files.

mod bandwidth;
mod channels;
mod colors;
mod links;
mod locks;
mod platform;
mod regions;
mod serial_lines;
mod servers;
mod vms;

use abi::limits::PAGE_BYTES;
pub(crate) use vms::NAME_HELP as VM_NAME_HELP;
pub use vms::is_name as is_vm_name;

use units::Bytes;

use super::{COUNT_MAX, Plan, RESOURCES_MAX};
use crate::diagnostic::{Diagnostic, Errors};

/// Alignment of every region.
pub const PAGE: Bytes = Bytes(PAGE_BYTES);

/// Checks all rules.
///
/// # Errors
///
/// Every rule that is broken, naming node and property.
pub fn check(plan: &Plan) -> Result<(), Errors> {
    let mut mistakes = Mistakes::default();
    beside(plan, &mut mistakes);
    servers::check(plan, &mut mistakes);
    locks::check(plan, &mut mistakes);
    bandwidth::check(plan, &mut mistakes);
    places(plan, &mut mistakes);
    Errors::unless_none(mistakes.0, ())
}

/// Checks the rules that are neither about VCPUs and what they may use, nor about the places of
/// RAM.
///
/// # Errors
///
/// As [`check`].
pub(super) fn beside_ram(plan: &Plan) -> Result<(), Errors> {
    let mut mistakes = Mistakes::default();
    beside(plan, &mut mistakes);
    Errors::unless_none(mistakes.0, ())
}

/// Checks the rules about the places of RAM.
///
/// # Errors
///
/// As [`check`].
pub(super) fn ram(plan: &Plan) -> Result<(), Errors> {
    let mut mistakes = Mistakes::default();
    places(plan, &mut mistakes);
    Errors::unless_none(mistakes.0, ())
}

fn beside(plan: &Plan, mistakes: &mut Mistakes) {
    mistakes.text("/", "model", &plan.name);
    platform::check(plan, mistakes);
    mistakes.count("/vms", "VMs", plan.vms.len());
    vms::check(plan, mistakes);
    channels::check(plan, mistakes);
    serial_lines::check(plan, mistakes);
    links::check(plan, mistakes);
    regions::check(plan, mistakes);
}

fn places(plan: &Plan, mistakes: &mut Mistakes) {
    regions::ram(plan, mistakes);
    colors::check(plan, mistakes);
}

/// The mistakes found so far.
#[derive(Default)]
struct Mistakes(Vec<Diagnostic>);

impl Mistakes {
    fn add(&mut self, node: &str, property: &str, message: impl Into<String>, help: &str) {
        let node = match property {
            "" => node.to_owned(),
            _ => format!("{node}: {property}"),
        };
        self.0.push(Diagnostic::new("plan-rule", message).node(node).help(help));
    }

    /// 1..=8 of something.
    fn count(&mut self, node: &str, what: &str, count: usize) {
        if count == 0 || count > COUNT_MAX {
            let help = format!("1 to {COUNT_MAX} are possible");
            self.add(node, "", format!("there are {count} {what}"), &help);
        }
    }

    /// A string that a device tree can carry.
    fn text(&mut self, node: &str, property: &str, text: &str) {
        if text.contains('\0') {
            let message = "contains a zero byte, which ends strings in a device tree";
            self.add(node, property, message, "remove it");
        }
    }
}
