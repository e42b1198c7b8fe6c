//! Names of VMs out of names of other systems.

use abi::limits::NAME_MAX;
use system::plan::is_vm_name;

/// Returns a name for a VM that no other has: `name` if it can be, or one like it.
pub fn unique(name: &str, taken: &[String]) -> String {
    let lower = name.to_lowercase();
    let plain = lower.chars().map(|it| match it {
        'a'..='z' | '0'..='9' | '-' | '_' => it,
        _ => '-',
    });
    let plain: String = plain.collect();
    let numbers = (2..).map(|number| format!("-{number}"));
    let mut ends = std::iter::once(String::new()).chain(numbers);
    let name = ends.find_map(|end| {
        let room = NAME_MAX - end.len();
        let name = format!("{}{end}", &plain[..plain.len().min(room)]);
        (is_vm_name(&name) && !taken.contains(&name)).then_some(name)
    });
    name.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_name_vms_and_differ() {
        let mut taken = Vec::new();
        for (name, expected) in [
            ("rt", "rt"),
            ("rt", "rt-2"),
            ("Dom U", "dom-u"),
            ("bulkhead", "bulkhead-2"),
            ("linux-inmate-demo", "linux-inmate-de"),
            ("linux-inmate-demo", "linux-inmate--2"),
            ("", "-2"),
            ("größe", "gr--e"),
        ] {
            let name = unique(name, &taken);
            assert_eq!(name, expected);
            taken.push(name);
        }
    }
}
