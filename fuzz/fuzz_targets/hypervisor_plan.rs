//! Any bytes are a plan that the hypervisor takes, or one message that names a node.
#![no_main]

use hypervisor::plan::{self, Tree};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(tree) = Tree::new(bytes) else { return };
    let _ = plan::hypervisor_memory(tree);
    match plan::read(tree, 62_500_000) {
        Ok(plan) => {
            if let Err(error) = plan::check(&plan, &|_| Some(4096)) {
                assert!(error.to_string().starts_with("plan: /"));
            }
        }
        Err(error) => assert!(error.to_string().starts_with("plan: /")),
    }
});
