//! The CPU that a Linux sees: that of the host, alone in its machine, without what the machine lacks.

use kvm_bindings::kvm_cpuid_entry2 as Entry;

/// Features of leaf 1 that need an interrupt controller in the CPU, or are for hypervisors.
const MONITOR: u32 = 1 << 3;
const VMX: u32 = 1 << 5;
const X2APIC: u32 = 1 << 21;
const DEADLINE_TIMER: u32 = 1 << 24;
const HYPERVISOR: u32 = 1 << 31;
const HYPER_THREADING: u32 = 1 << 28;
const SVM: u32 = 1 << 2;
/// What Linux may know of KVM: its clock, that it is stable, and that writes to ports need no pauses.
const KVM_FEATURES: u32 = 1 | 1 << 1 | 1 << 3 | 1 << 24;

/// Changes the leaves that KVM supports to those of the machine.
pub fn fit(leaves: &mut [Entry]) {
    for leaf in leaves {
        match leaf.function {
            1 => {
                // One thread, with the number 0.
                leaf.ebx = leaf.ebx & 0xffff | 1 << 16;
                leaf.ecx = leaf.ecx & !(MONITOR | VMX | X2APIC | DEADLINE_TIMER) | HYPERVISOR;
                leaf.edx &= !HYPER_THREADING;
            }
            // One core in the package, and one thread that shares a cache.
            4 => leaf.eax &= 0x3fff,
            0x8000_001d => leaf.eax &= 0x3fff,
            // Monitoring of performance, and places in the package.
            0x0a | 0x0b | 0x1f | 0x8000_0022 | 0x8000_0026 => {
                (leaf.eax, leaf.ebx, leaf.ecx, leaf.edx) = (0, 0, 0, 0);
            }
            0x4000_0001 => (leaf.eax, leaf.edx) = (leaf.eax & KVM_FEATURES, 0),
            0x8000_0001 => leaf.ecx &= !SVM,
            0x8000_0008 => leaf.ecx &= !0xf0ff,
            0x8000_001e => (leaf.eax, leaf.ebx, leaf.ecx) = (0, 0, 0),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_alone_and_has_no_interrupt_controller() {
        let full =
            |function| Entry { function, eax: !0, ebx: !0, ecx: !0, edx: !0, ..Entry::default() };
        let mut leaves = [1, 4, 0xb, 0x4000_0001, 0x8000_0008, 7].map(full);
        fit(&mut leaves);
        let [first, caches, places, kvm, sizes, other] = leaves;
        assert_eq!((first.ebx, first.edx), (0x0001_ffff, !HYPER_THREADING));
        assert_eq!(first.ecx, !(MONITOR | VMX | X2APIC | DEADLINE_TIMER));
        assert_eq!(caches.eax, 0x3fff);
        assert_eq!([places.eax, places.ebx, places.ecx, places.edx], [0; 4]);
        assert_eq!((kvm.eax, kvm.edx), (KVM_FEATURES, 0));
        assert_eq!(sizes.ecx, 0xffff_0f00);
        assert_eq!(other, full(7));
    }
}
