//! The console, and the UARTs that are not.

use crate::left::{Left, described};
use crate::tree::{Node, Region};

/// UARTs that the hypervisor drives, and their names in platform files.
const UARTS: [(&str, &str); 3] = [
    ("arm,pl011", "arm,pl011"),
    ("xlnx,zynqmp-uart", "xlnx,zynqmp-uart"),
    ("cdns,uart-r1p12", "xlnx,zynqmp-uart"),
];
/// The first number of shared interrupts.
const SHARED: u32 = 32;

/// A UART that the hypervisor drives.
pub struct Console {
    /// Its name in platform files.
    pub kind: &'static str,
    pub registers: Region,
    pub interrupt: Option<u32>,
}

/// Returns the UART that Linux' console is on, or the first one if the tree does not say, and all other UARTs; `Err`: why
/// the console is to be chosen by hand.
pub fn find(root: &Node, all: &[&Node]) -> (Result<Console, String>, Vec<Left>) {
    let chosen = stdout(root);
    let of_chosen = chosen.map(|node| {
        driven(node).ok_or_else(|| {
            let name = described(node);
            format!("Linux' console is {name}, which is off or which the hypervisor does not drive")
        })
    });
    let first = || all.iter().find(|it| driven(it).is_some()).copied();
    let taken = chosen.or_else(first);
    let none = || "the tree has no UART that the hypervisor drives (PL011, or that of the ZynqMP)";
    let console = of_chosen.unwrap_or_else(|| taken.and_then(driven).ok_or_else(|| none().into()));
    let is_other = |node: &&&Node| {
        console.is_err() || taken.is_none_or(|it| !std::ptr::eq::<Node>(it, **node))
    };
    let others = all.iter().filter(|it| is_uart(it)).filter(is_other);
    let left = others.map(|node| left(node)).collect();
    (console, left)
}

/// The node of `stdout-path`, which may name an alias.
fn stdout(root: &Node) -> Option<&Node> {
    let path = *root.child("chosen")?.texts("stdout-path").first()?;
    let path = path.split(':').next()?;
    let alias = root.child("aliases").and_then(|it| it.texts(path).first().copied());
    let mut names = alias.unwrap_or(path).split('/').filter(|it| !it.is_empty());
    let node = names.try_fold(root, |node, name| node.child(name));
    node.filter(|it| !std::ptr::eq(*it, root))
}

fn driven(node: &Node) -> Option<Console> {
    let kind = UARTS.iter().find(|(name, _)| node.is_any(&[name]))?.1;
    let interrupt = match node.words("interrupts")[..] {
        [0, number, _, ..] => number.checked_add(SHARED).filter(|it| *it < 1020),
        _ => None,
    };
    Some(Console { kind, registers: *node.regions.first()?, interrupt })
}

fn is_uart(node: &Node) -> bool {
    let is_named = ["serial@", "uart@"].iter().any(|it| node.name.starts_with(it));
    node.is_on() && (is_named || driven(node).is_some())
}

fn left(node: &Node) -> Left {
    let kind = driven(node);
    let interrupt = kind.as_ref().and_then(|it| it.interrupt);
    let interrupt = interrupt.map_or(String::new(), |it| format!(", interrupt = {it}"));
    let drives = if kind.is_some() { "" } else { ", and which the hypervisor does not drive" };
    let what = format!("{}{interrupt}", Left::of(node));
    Left { what, why: format!("a UART that was not taken as the console{drives}") }
}
