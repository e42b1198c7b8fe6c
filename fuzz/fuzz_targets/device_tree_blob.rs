//! Any bytes are a plan that is written and read back, or a list of mistakes that can be shown.
#![no_main]

use system::plan::Plan;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match Plan::from_dtb(bytes) {
        Ok(plan) => assert_eq!(Plan::from_dtb(&plan.to_dtb()), Ok(plan)),
        Err(errors) => assert!(errors.to_string().starts_with("error[")),
    }
});
