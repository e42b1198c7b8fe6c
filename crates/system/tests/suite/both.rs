//! What the tools and the hypervisor say about the same tree, and the rules that only one of the two has.

use hypervisor::plan::Tree;
use system::plan::Plan;

/// Ticks of the system counter in a second: every time in the plan is a whole number of ticks.
pub const FREQUENCY: u32 = 1_000_000_000;

/// A rule that one reader has and the other has not.
#[derive(Debug)]
pub struct Exception {
    /// Parts of what was changed, or of the message.
    parts: &'static [&'static str],
    /// Why only one reader has the rule.
    #[expect(dead_code, reason = "readers want to know")]
    why: &'static str,
}

const fn rule(parts: &'static [&'static str], why: &'static str) -> Exception {
    Exception { parts, why }
}

const FORM: &str = "the tools write plans in this form; the hypervisor does not look at it";
const FIRST: &str = "the tools write one; of several the hypervisor takes the first";
const GUEST: &str =
    "the tools put this into the guest's device tree or the image; the hypervisor does not read it";
const PEOPLE: &str = "for people: nothing depends on it";
const MACHINE: &str = "the hypervisor compares it with the registers of the CPU";

/// Rules of the tools alone.
pub static TOOLS_ONLY: [Exception; 23] = [
    rule(&[": #address-cells: "], FORM),
    rule(&[": #size-cells: "], FORM),
    rule(&[": device_type: "], FORM),
    rule(&["other unit address\n"], FORM),
    rule(&["/vms/vm: reg: "], FORM),
    rule(&["/vms/vm/vcpus/vcpu: reg: "], FORM),
    rule(&["/resources/resource: reg: "], FORM),
    rule(&[" of its kind"], FORM),
    rule(&[": has a value"], FORM),
    rule(&[": twice", ": is given twice"], FIRST),
    rule(&["a cell longer\n", ": is not a string"], FIRST),
    rule(&["/cpu: enable-method: a cell longer\n", ": cpu-release-addr: is not a property"], FIRST),
    rule(&[": model: "], PEOPLE),
    rule(&[": board: "], PEOPLE),
    rule(&[": access-bytes: "], PEOPLE),
    rule(&[": file: "], GUEST),
    rule(&[": bootargs: "], GUEST),
    rule(&["/device@", ": compatible: "], GUEST),
    rule(&["/platform/llc: "], MACHINE),
    rule(
        &["the size of the area is not a multiple of"],
        "the hypervisor counts the frames that there are",
    ),
    rule(
        &["\n/platform/", " overlaps /platform/"],
        "these are registers of the machine, of which no VM gets any",
    ),
    rule(
        &["the VM sees a virtual cache, whose colours follow from its addresses"],
        "the guest finds wrong colours and hurts only itself",
    ),
    rule(
        &[": overrun-ns: has no meaning with this protocol"],
        "the scheduler is not told of sections then, so that no VCPU overruns",
    ),
];

/// Rules of the hypervisor alone.
pub static HYPERVISOR_ONLY: [Exception; 0] = [];

/// What the two said about a tree.
#[derive(Debug)]
pub enum Verdict {
    /// Both accept the tree.
    Good,
    /// Both refuse the tree.
    Bad,
    /// Only one refuses the tree, by rules that the other has not on purpose.
    Exception(Vec<&'static Exception>),
    /// Only one refuses the tree.
    Differ(String),
}

/// What the tools say about a tree: each mistake, if there are some.
fn tools(tree: &[u8]) -> Vec<String> {
    let mistakes = Plan::from_dtb(tree).err();
    let mistakes = mistakes.iter().flat_map(|errors| errors.entries());
    mistakes.map(|it| format!("{}: {}", it.node.unwrap_or_default(), it.message)).collect()
}

/// What the hypervisor says about a tree, if it refuses the tree.
fn hypervisor(tree: &[u8]) -> Option<String> {
    let Some(tree) = Tree::new(tree) else { return Some("not a tree".into()) };
    let plan = match hypervisor::plan::read(tree, FREQUENCY) {
        Ok(plan) => plan,
        Err(error) => return Some(error.to_string()),
    };
    // The tools check the files when they make the image.
    hypervisor::plan::check(&plan, &|_| Some(1)).err().map(|error| error.to_string())
}

/// Gives the tree to both readers; `change` says what was done to the tree.
pub fn read(change: &str, tree: &[u8]) -> Verdict {
    let (tools, hypervisor) = (tools(tree), hypervisor(tree));
    let (side, rules, said) = match (tools.is_empty(), hypervisor) {
        (true, None) => return Verdict::Good,
        (false, Some(_)) => return Verdict::Bad,
        (false, None) => ("the tools", &TOOLS_ONLY[..], tools),
        (true, Some(message)) => ("the hypervisor", &HYPERVISOR_ONLY[..], vec![message]),
    };
    let mut used = Vec::new();
    for message in said {
        let text = format!("{change}\n{message}");
        match rules.iter().find(|rule| rule.parts.iter().all(|part| text.contains(part))) {
            Some(rule) => used.push(rule),
            None => return Verdict::Differ(format!("{change}: only {side} refuse: {message}")),
        }
    }
    Verdict::Exception(used)
}
