//! Names: those that tables have, and those of VMs in tables beside `[[vm]]`.

use std::collections::HashMap;

use super::Located;
use crate::diagnostic::{Diagnostic, Place};
use crate::document::Fields;
use crate::suggest;

/// Reports tables that have the `name` of one before them.
pub(super) fn refuse_twice(at: &Fields<'_>, what: &str, tables: &[Fields<'_>]) {
    let mut before: HashMap<String, Place> = HashMap::new();
    for name in tables.iter().filter_map(|table| table.peek("name")) {
        match before.get(&name.value) {
            Some(first) => at.add(
                Diagnostic::new(
                    "duplicate-name",
                    format!("two {what} are called `{}`", name.value),
                )
                .at(&name.place, "again here")
                .also(first, "first here")
                .help("give each its own name"),
            ),
            None => drop(before.insert(name.value, name.place)),
        }
    }
}

/// Returns the VM of this name.
pub(super) fn vm_named(
    at: &Fields<'_>,
    name: &Located<String>,
    vms: &[Option<String>],
) -> Option<usize> {
    let found = vms.iter().position(|vm| vm.as_ref() == Some(&name.value));
    // A VM whose name cannot be read may be the one that is meant.
    if found.is_none() && vms.iter().all(Option::is_some) {
        let known: Vec<&str> = vms.iter().flatten().map(String::as_str).collect();
        let message = format!("there is no VM `{}`", name.value.escape_debug());
        let help = suggest::help(&name.value, &known);
        at.add(Diagnostic::new("unknown-name", message).at(&name.place, "here").help(help));
    }
    found
}

/// Returns the VMs of these names, each of them once.
pub(super) fn vms_named(
    at: &Fields<'_>,
    names: &[Located<String>],
    vms: &[Option<String>],
) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if let Some(first) = names[..index].iter().find(|other| other.value == name.value) {
            let message = format!("`{}` is named twice", name.value.escape_debug());
            at.add(
                Diagnostic::new("duplicate-name", message)
                    .at(&name.place, "again here")
                    .also(&first.place, "first here")
                    .help("name each VM once"),
            );
            continue;
        }
        found.push(vm_named(at, name, vms));
    }
    let mut found: Vec<usize> = found.into_iter().collect::<Option<_>>()?;
    found.sort_unstable();
    Some(found)
}
