//! A few instructions on the real QEMU.

use std::time::Duration;

use qemu::{Board, Exit, Machine, Options, Time};

/// An arm64 `Image` that prints the exception level it runs at and powers off.
fn image() -> Vec<u8> {
    const CODE: u32 = 64;
    let code: [u32; 9] = [
        0xd2a1_2001, // mov x1, #0x9000000 (PL011)
        0xd538_4240, // mrs x0, CurrentEL
        0xd342_fc00, // lsr x0, x0, #2
        0x1100_c000, // add w0, w0, #'0'
        0xb900_0020, // str w0, [x1]
        0x52b0_8000, // mov w0, #0x84000000
        0x7280_0100, // movk w0, #8 (PSCI SYSTEM_OFF)
        0xd400_0003, // smc #0
        0x1400_0000, // b .
    ];
    let mut image = Vec::new();
    image.extend((0x1400_0000 | (CODE / 4)).to_le_bytes());
    image.resize(16, 0);
    image.extend(u64::from(CODE + 4 * code.len() as u32).to_le_bytes());
    image.resize(56, 0);
    image.extend(*b"ARM\x64");
    image.resize(CODE as usize, 0);
    image.extend(code.iter().flat_map(|word| word.to_le_bytes()));
    image
}

#[test]
fn image_starts_at_el2_in_real_and_in_deterministic_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    std::fs::write(&path, image()).expect("an image");
    for time in [Time::Real, Time::Deterministic] {
        let timeout = Some(Duration::from_secs(60));
        let options = Options { time, timeout, ..Options::default() };
        let outcome = Machine::start(&Board::virt(), &path, &options)
            .expect("QEMU starts")
            .finish(Duration::from_secs(60));
        assert_eq!((outcome.exit, outcome.log.as_str()), (Exit::Code(0), "2"), "{outcome}");
    }
}

#[test]
fn unknown_machine_is_reported_in_the_words_of_qemu() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    std::fs::write(&path, image()).expect("an image");
    let board = Board { machine: "breadboard".into(), ..Board::virt() };
    let outcome = Machine::start(&board, &path, &Options::default())
        .expect("QEMU starts")
        .finish(Duration::from_secs(60));
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(outcome.to_string().contains("unsupported machine type"), "{outcome}");
}
