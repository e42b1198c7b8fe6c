//! Segments of 64-bit mode, which have no base and no end.

use kvm_bindings::{kvm_segment, kvm_sregs};

/// Sets all segments to code and data with these selectors, at their level of privilege, and the task state segment to one with
/// this selector and address.
pub fn set(registers: &mut kvm_sregs, [code, data]: [u16; 2], (tss, base): (u16, u64)) {
    let code = kvm_segment {
        limit: !0,
        selector: code,
        type_: 11,
        present: 1,
        dpl: (code & 3) as u8,
        s: 1,
        l: 1,
        g: 1,
        ..kvm_segment::default()
    };
    let data = kvm_segment { selector: data, type_: 3, l: 0, db: 1, ..code };
    registers.cs = code;
    for segment in [
        &mut registers.ds,
        &mut registers.es,
        &mut registers.fs,
        &mut registers.gs,
        &mut registers.ss,
    ] {
        *segment = data;
    }
    registers.tr = kvm_segment {
        base,
        limit: 0x67,
        selector: tss,
        type_: 11,
        present: 1,
        ..kvm_segment::default()
    };
}
