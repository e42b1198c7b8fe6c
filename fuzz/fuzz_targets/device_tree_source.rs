//! Any text is a plan that is written and read back, or a list of mistakes that can be shown.
#![no_main]

use system::plan::Plan;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match Plan::from_dts("fuzz.dts", text) {
        Ok(plan) => assert_eq!(Plan::from_dts("again.dts", &plan.to_dts()), Ok(plan)),
        Err(errors) => assert!(errors.to_string().starts_with("error[")),
    }
});
