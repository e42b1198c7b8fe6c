//! `rt-cache` under Linux/KVM: shows the caches as CPUID describes them, on each VCPU.
//!
//! ```text
//! cache: vcpu=0 level=1 kind=data size=32768 ways=8 line=64 sets=64
//! cache: vcpu=0 level=1 kind=instruction size=32768 ways=8 line=64 sets=64
//! cache: vcpu=0 level=2 kind=unified size=262144 ways=8 line=64 sets=512
//! cache: vcpu=0 level=3 kind=unified size=4194304 ways=16 line=64 sets=4096
//! cache: vcpu=0 has shown its caches
//! ```

use core::sync::atomic::{AtomicUsize, Ordering};

use rt::arch::{cache, call, counter, cpu};
use rt::cache::Shape;
use rt::{arguments, println};

/// Nanoseconds between two looks at the number of VCPUs that have shown theirs.
const LOOK: u64 = 1_000_000;

/// VCPUs that have shown theirs.
static SHOWN: AtomicUsize = AtomicUsize::new(0);

/// Shows.
pub fn main() {
    let vcpu = cpu::index();
    for (level, kind, shape) in (0..).map_while(|number| Shape::of_cpuid(cache::subleaf(number))) {
        println!(
            "cache: vcpu={vcpu} level={level} kind={} size={} ways={} line={} sets={}",
            kind.name(),
            shape.size(),
            shape.ways,
            shape.line,
            shape.sets
        );
    }
    println!("cache: vcpu={vcpu} has shown its caches");
    SHOWN.fetch_add(1, Ordering::AcqRel);
    // The VM ends with the first VCPU.
    let vcpus = arguments::number("cache.vcpus", 1) as usize;
    while vcpu == 0 && SHOWN.load(Ordering::Acquire) < vcpus {
        call::wait_until(counter::now() + LOOK);
    }
}
