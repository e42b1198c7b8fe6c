//! Colours of VMs: whether they exist, and belong to one VM alone.

use super::Vm;
use crate::diagnostic::{Diagnostic, Place};
use crate::plan::virtual_cache;
use crate::platform::{NoColors, Platform, division};

/// What is wrong with the colours of these VMs.
pub(super) fn check(platform: &Platform, vms: &[&Vm]) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    let colors = platform.colors();
    for (index, vm) in vms.iter().enumerate() {
        let Some(set) = &vm.colors else { continue };
        match colors {
            Err(reason) => mistakes.push(none(platform, reason, &set.place)),
            Ok(llc) => {
                if let Err(unknown) = llc.check(set.value) {
                    let help = format!(
                        "`{}` has {} colours: {}, by its last-level cache",
                        platform.name,
                        llc.colors(),
                        division(llc)
                    );
                    let mistake = Diagnostic::new("unknown-colors", unknown.to_string());
                    mistakes.push(mistake.at(&set.place, "here").help(help));
                } else if vm.vllc
                    && let Err((message, help)) = virtual_cache(llc, set.value)
                {
                    let mistake = Diagnostic::new("wrong-value", message);
                    mistakes.push(mistake.at(&set.place, "with `vllc = true`").help(help));
                }
            }
        }
        mistakes.extend(vms[..index].iter().filter_map(|before| shared(before, vm)));
    }
    mistakes
}

/// The platform has no colours, but some are asked for.
pub(crate) fn none(platform: &Platform, reason: NoColors, place: &Place) -> Diagnostic {
    let message = format!("`{}` has no colours: {reason}", platform.name);
    Diagnostic::new("unknown-colors", message)
        .at(place, "asks for some")
        .help("remove `colors`, or name a platform whose shared cache can be divided")
}

/// Two VMs that have a colour in common, though not both of them agree to it.
fn shared(one: &Vm, other: &Vm) -> Option<Diagnostic> {
    let (first, second) = one.colors.as_ref().zip(other.colors.as_ref())?;
    let common = first.value & second.value;
    if common.is_empty() || one.share_colors && other.share_colors {
        return None;
    }
    let (one, other) = (&one.name.value, &other.name.value);
    let message = format!("`{one}` and `{other}` have colours in common: {common}");
    let mistake = Diagnostic::new("colors-taken", message)
        .at(&second.place, "again here")
        .also(&first.place, "first here")
        .help("give each its own colours, or say `share_colors = true` in both");
    Some(mistake)
}
