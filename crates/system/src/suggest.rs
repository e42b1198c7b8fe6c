//! "Did you mean ...?"

/// Returns the known name that is most like `name`, if one is like it at all.
pub fn closest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let likeness = |other: &str| strsim::jaro_winkler(name, other);
    known
        .into_iter()
        .map(|other| (likeness(other), other))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, other)| other)
}

/// Returns true if `name` is so like the `known` one that it is certainly a typo of it.
pub(crate) fn is_typo(name: &str, known: &str) -> bool {
    strsim::jaro_winkler(name, known) > 0.9
}

/// Returns "did you mean `closest`?", or all `known` names if none is like `name`.
pub fn help(name: &str, known: &[&str]) -> String {
    match closest(name, known.iter().copied()) {
        Some(other) => format!("did you mean `{other}`?"),
        None => format!("known are {}", list(known, "and")),
    }
}

/// `a`, `b` and `c`.
pub(crate) fn list(names: &[&str], last: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "none".into(),
        Some((only, [])) => only.clone(),
        Some((end, others)) => format!("{} {last} {end}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_recognised_and_strangers_are_not() {
        let known = ["memory", "vcpus", "kernel", "bootargs"];
        assert_eq!(help("memry", &known), "did you mean `memory`?");
        assert_eq!(help("vcpu", &known), "did you mean `vcpus`?");
        assert_eq!(help("zzz", &["a", "b", "c"]), "known are `a`, `b` and `c`");
    }
}
