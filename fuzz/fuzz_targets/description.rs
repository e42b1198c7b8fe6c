//! Any text is a description with a plan, or a list of mistakes that can be shown.
#![no_main]

use std::path::Path;

use system::description::System;
use system::plan::{self, Plan};
use system::report::Report;

libfuzzer_sys::fuzz_target!(|text: &str| {
    // No file of this machine is to be read as a platform.
    if text.contains(".toml") {
        return;
    }
    let plan = System::from_toml("fuzz.toml", text, Path::new("")).and_then(|system| {
        let plan = plan::make(&system);
        Report::new(&system, plan.as_ref().ok());
        plan
    });
    match plan {
        Ok(plan) => {
            plan::check(&plan).expect("a plan that was made holds the rules");
            assert_eq!(Plan::from_dtb(&plan.to_dtb()), Ok(plan));
        }
        Err(errors) => assert!(errors.to_string().starts_with("error[")),
    }
});
