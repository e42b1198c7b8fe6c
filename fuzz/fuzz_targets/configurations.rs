//! Any text is a configuration of Xen or Jailhouse that becomes a description, or a list of mistakes that can be
//! shown.
#![no_main]

use std::path::Path;

use import::Imported;
use system::description::System;
use system::diagnostic::{Errors, Source};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let source = [Source::new("fuzz", text)];
    is_a_description(import::jailhouse(&source));
    is_a_description(import::xl(&source, &[]));
    is_a_description(import::xl(&source, &source));
});

/// What is open is missing in it, and values can be too large; but it has no other mistakes.
fn is_a_description(imported: Result<Imported, Errors>) {
    let Ok(imported) = imported.map_err(|errors| assert!(errors.to_string().starts_with("error[")))
    else {
        return;
    };
    if let Err(errors) = System::from_toml("imported.toml", &imported.text, Path::new("")) {
        for mistake in errors.iter() {
            let form = [
                "toml-syntax",
                "duplicate-key",
                "unknown-key",
                "wrong-type",
                "missing-unit",
                "wrong-unit",
            ];
            assert!(!form.contains(&mistake.code), "{errors}\n{}", imported.text);
        }
    }
}
