//! Kernels of a few instructions in the machine of a Linux, under the KVM of this machine. Even a KVM that emulates all
//! privileged code executes them. Where there is none, the tests say so and pass.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use vmm::{Exit, Kvm, LinuxFiles, Scale, Start, Vcpu, VmMemory, now};

const MIB: u64 = 1 << 20;
/// The first instruction of a kernel.
const ENTRY: u64 = MIB + 0x200;
const TABLE: u64 = 0x3_0000;
const STACK_END: u32 = 0x4_0000;

/// A kernel with this code, which begins as Linux does (the kernel's `Documentation/arch/x86/boot.rst`).
fn kernel(code: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 2048];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x1f1, &[1]);
    put(0x202, b"HdrS");
    put(0x206, &0x020f_u16.to_le_bytes());
    put(0x211, &[1]);
    put(0x22c, &0x7fff_ffff_u32.to_le_bytes());
    put(0x236, &1_u16.to_le_bytes());
    put(0x238, &2047_u32.to_le_bytes());
    put(0x260, &(MIB as u32).to_le_bytes());
    put(1024 + 0x200, code);
    file
}

fn vcpu(code: &[u8]) -> Option<Vcpu> {
    let kvm = match Kvm::open() {
        Ok(kvm) => kvm,
        Err(error) => {
            eprintln!("skipped: {error}");
            return None;
        }
    };
    let kernel = kernel(code);
    let files = LinuxFiles { kernel: &kernel, initrd: None, arguments: "" };
    let vm = kvm.linux_in(VmMemory::new(4 * MIB).expect("memory"), files).expect("a VM");
    Some(vm.vcpu(Start { vcpu: 0, entry: 0, arguments: "" }).expect("a VCPU"))
}

/// `mov dx, port; mov al, value; out dx, al`
fn out(port: u16, value: u8) -> Vec<u8> {
    let [low, high] = port.to_le_bytes();
    vec![0x66, 0xba, low, high, 0xb0, value, 0xee]
}

fn print(text: &str) -> Vec<u8> {
    text.bytes().flat_map(|byte| out(0x3f8, byte)).collect()
}

/// `mov rax, value; mov [address], rax`
fn set_word(address: u64, value: u64) -> Vec<u8> {
    [&[0x48, 0xb8][..], &value.to_le_bytes(), &[0x48, 0xa3], &address.to_le_bytes()].concat()
}

fn text(vcpu: &mut Vcpu) -> String {
    let mut text = Vec::new();
    vcpu.take_text(&mut text);
    String::from_utf8(text).expect("ASCII")
}

/// Runs until something else happens than that the timer was set.
fn run(vcpu: &mut Vcpu) -> Exit {
    static SCALE: OnceLock<Scale> = OnceLock::new();
    // To measure it takes a while.
    let scale = *SCALE.get_or_init(Scale::measure);
    loop {
        let exit = vcpu.run(scale);
        if exit != Exit::Timer {
            return exit;
        }
        assert!(vcpu.next_interrupt().is_some(), "it was set");
    }
}

#[test]
fn a_kernel_that_waits_is_interrupted_by_its_timer() {
    const VECTOR: u64 = 0x30;
    // A handler, and before it a jump over it: mov al, 0x20; out 0x20, al; iretq
    let handler = [0xb0, 0x20, 0xe6, 0x20, 0x48, 0xcf];
    let mut code = [&[0xeb, handler.len() as u8][..], &handler].concat();
    let address = ENTRY + 2;
    let gate = address & 0xffff | 0x10 << 16 | 0x8e00 << 32 | (address >> 16 & 0xffff) << 48;
    code.extend(set_word(TABLE + VECTOR * 16, gate));
    code.extend(set_word(TABLE + VECTOR * 16 + 8, 0));
    code.extend(set_word(TABLE - 16, 0xfff | TABLE << 16));
    code.extend(set_word(TABLE - 8, 0));
    // lidt [TABLE - 16]; mov rsp, STACK_END
    code.extend([&[0x0f, 0x01, 0x1c, 0x25][..], &(TABLE as u32 - 16).to_le_bytes()].concat());
    code.extend([&[0x48, 0xc7, 0xc4][..], &STACK_END.to_le_bytes()].concat());
    for (port, value) in [(0x20, 0x11), (0x21, VECTOR as u8), (0x21, 4), (0x21, 1), (0x21, 0xfe)] {
        code.extend(out(port, value));
    }
    code.extend(print("it runs\n"));
    // 59,659 ticks are 50 ms.
    for (port, value) in [(0x43, 0x38), (0x40, 0x0b), (0x40, 0xe9)] {
        code.extend(out(port, value));
    }
    // sti; hlt
    code.extend([0xfb, 0xf4]);
    code.extend(print("interrupted"));
    // cli; hlt
    code.extend([0xfa, 0xf4]);

    let before = now();
    let Some(mut vcpu) = vcpu(&code) else { return };
    assert_eq!((run(&mut vcpu), text(&mut vcpu).as_str()), (Exit::Text, "it runs\n"));
    let Exit::Idle(until) = run(&mut vcpu) else { panic!("it does not wait") };
    assert!((before + 50_000_000..now() + 50_000_000).contains(&until));
    // It goes on waiting, whoever wakes it.
    if now() < until {
        assert_eq!(run(&mut vcpu), Exit::Idle(until));
    }
    thread::sleep(Duration::from_nanos(until.saturating_sub(now())));
    // Its last text comes before its end, though its line has no end.
    assert_eq!((run(&mut vcpu), text(&mut vcpu).as_str()), (Exit::Text, "interrupted"));
    assert_eq!([run(&mut vcpu), run(&mut vcpu)], [Exit::Off; 2]);
}

#[test]
fn text_that_is_not_taken_stops_the_kernel() {
    let Some(mut vcpu) = vcpu(&print("one\ntwo\n")) else { return };
    assert_eq!([run(&mut vcpu), run(&mut vcpu)], [Exit::Text; 2]);
    assert_eq!(text(&mut vcpu), "one\n");
    assert_eq!((run(&mut vcpu), text(&mut vcpu).as_str()), (Exit::Text, "two\n"));
}

#[test]
fn a_kernel_that_resets_the_machine_or_fails_ends() {
    for (code, end) in [
        (out(0x64, 0xfe), Exit::Reset),
        // An exception without a handler.
        (vec![0x0f, 0x0b], Exit::Reset),
        (vec![0xf4], Exit::Off),
    ] {
        let Some(mut vcpu) = vcpu(&code) else { return };
        assert_eq!([run(&mut vcpu), run(&mut vcpu)], [end; 2], "{code:x?}");
    }
}
