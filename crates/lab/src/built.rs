//! What builds the files that systems name.

use std::path::Path;

/// Says what makes a file that is missing.
pub fn by(path: &Path) -> &'static str {
    let mut folders = path.iter().zip(path.iter().skip(1));
    match folders.any(|it| it == ("guests".as_ref(), "x86-64".as_ref())) {
        true => "`cargo xtask build guests-x86` makes the files below build/guests/x86-64",
        false => "`make build` makes the files below build/",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_for_kvm_have_a_command_of_their_own() {
        let x86 = |path| by(Path::new(path)).contains("guests-x86");
        assert!(x86("../build/guests/x86-64/rt-tasks.bin") && x86("guests/x86-64/rt-tasks.bin"));
        assert!(!x86("../build/guests/rt-tasks.bin") && !x86("x86-64/guests"));
    }
}
