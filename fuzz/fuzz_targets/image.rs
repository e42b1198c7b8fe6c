//! Any bytes are an image that holds together, or one mistake; the same for the hypervisor's ELF file and the payload as
//! the hypervisor reads it.
#![no_main]

use image::{Hypervisor, verify};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(contents) = verify(bytes) {
        for entry in &contents.blobs {
            assert!(contents.blob(bytes, &entry.name).is_some(), "{} lies outside", entry.name);
        }
    }
    if let Err(problem) = Hypervisor::from_elf(bytes) {
        assert!(!problem.is_empty());
    }
});
