//! Images as they are built and read back.

use abi::image::{ALIGNMENT, BlobEntry, ConsoleKind, HEADER_BYTES, PayloadHeader};
use image::{Blob, EarlyConsole, Hypervisor, VerifyError, build, pack, verify, write};
use system::plan::Plan;
use testing::{Elf, files};

#[test]
fn image_holds_hypervisor_plan_files_and_device_trees() {
    let (plan, folder) = (files::plan(), files::folder());
    let image = build(&plan, folder.path(), &files::hypervisor(), None).expect("an image");
    let contents = verify(&image.bytes).expect("it is good");
    assert_eq!(contents.hypervisor_bytes, 0x3000);
    assert_eq!(image.hypervisor_bytes, 0x3000);
    assert_eq!(contents.header.console_kind, ConsoleKind::Pl011 as u32);
    assert_eq!(contents.header.console_address, 0x0900_0000);
    let names: Vec<&str> = contents.blobs.iter().map(|blob| blob.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "plan",
            "linux/kernel",
            "linux/initrd",
            "linux/device-tree",
            "rt/kernel",
            "rt/device-tree"
        ]
    );
    assert_eq!(contents.blob(&image.bytes, "rt/kernel"), Some(&[0x33; 100][..]));
    let found = contents.blob(&image.bytes, "plan").expect("a plan");
    assert_eq!(Plan::from_dtb(found).expect("a good plan"), plan);
}

#[test]
fn hypervisor_is_flattened_and_only_its_image_size_is_changed() {
    let elf = Elf { base: 0x4020_0000, symbol: ("__image_end", 0x4020_3000), ..Elf::default() };
    let hypervisor = Hypervisor::from_elf(&elf.to_bytes()).expect("a hypervisor");
    let mut expected = elf.code.clone();
    expected.resize(0x3000, 0);
    assert_eq!(hypervisor.memory(), expected);

    let folder = files::folder();
    let image = build(&files::plan(), folder.path(), &hypervisor, None).expect("an image");
    expected[16..24].copy_from_slice(&(image.bytes.len() as u64).to_le_bytes());
    assert_eq!(image.bytes[..0x3000], expected);
}

#[test]
fn files_that_are_no_hypervisor_are_refused() {
    let good = Elf::default().to_bytes();
    for (elf, part) in [
        (Elf { machine: 62, ..Elf::default() }, "not for AArch64"),
        (Elf { symbol: ("_end", 0x3000), ..Elf::default() }, "no symbol `__image_end`"),
        (Elf { symbol: ("__image_end", 0x3010), ..Elf::default() }, "not a multiple of 4 KiB"),
        (Elf { symbol: ("__image_end", 0x2000), ..Elf::default() }, "ends behind `__image_end`"),
        (Elf { symbol: ("__image_end", 1 << 60), ..Elf::default() }, "not a multiple of 4 KiB"),
        (Elf { code: vec![0; 0x1200], ..Elf::default() }, "header of an arm64 `Image`"),
        (Elf { memory_bytes: u64::MAX, ..Elf::default() }, "ends behind `__image_end`"),
        (Elf { memory_bytes: 0, ..Elf::default() }, "no loadable segment"),
    ] {
        let error = Hypervisor::from_elf(&elf.to_bytes()).expect_err(part);
        assert!(error.contains(part), "{error}");
    }
    for length in 0..good.len() {
        let _ = Hypervisor::from_elf(&good[..length]);
    }
    assert!(Hypervisor::from_elf(b"#!/bin/sh\n").expect_err("a script").contains("ELF"));
}

/// A small image: one page of hypervisor and two blobs.
fn small() -> (Vec<u8>, usize) {
    let console = EarlyConsole { kind: ConsoleKind::Pl011, address: 0x0900_0000 };
    let blob = |name: &str, bytes| Blob { name: name.into(), data: vec![7; bytes] };
    let payload = pack(console, &[blob("plan", 300), blob("a/kernel", 5000)]).expect("a payload");
    let mut image = files::kernel((ALIGNMENT + payload.len()) as u64);
    image.extend(payload);
    (image, ALIGNMENT)
}

#[test]
fn every_flipped_bit_of_the_payload_is_found() {
    let (image, start) = small();
    verify(&image).expect("it is good");
    for at in start..image.len() {
        let mut bad = image.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(verify(&bad).is_err(), "byte {at:#x}");
    }
}

#[test]
fn damage_is_named() {
    let (image, start) = small();
    let damaged = |at: usize| {
        let mut bad = image.clone();
        bad[at] ^= 1;
        verify(&bad).expect_err("damaged")
    };
    let header = PayloadHeader::read(&image[start..]).expect("a header");
    let blob = BlobEntry::read(&image[start..], &header, 1).expect("an entry");
    let end = (blob.offset + blob.bytes) as usize;
    assert_eq!(damaged(56), VerifyError::NoImage);
    assert_eq!(damaged(start), VerifyError::NoPayload);
    assert_eq!(damaged(start + HEADER_BYTES - 1), VerifyError::Table);
    assert_eq!(damaged(start + HEADER_BYTES + 70), VerifyError::Table);
    assert_eq!(damaged(start + end - 1), VerifyError::Blob("a/kernel".into()));
    assert_eq!(damaged(start + end), VerifyError::Padding((start + end) as u64));
    for length in 0..image.len() {
        assert!(verify(&image[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn writing_is_all_or_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new/folder/image");
    write(&path, b"first").expect("written");
    write(&path, b"second").expect("replaced");
    assert_eq!(std::fs::read(&path).expect("readable"), b"second");
    let entries = std::fs::read_dir(path.parent().expect("a parent")).expect("a folder").count();
    assert_eq!(entries, 1, "no temporary file stays");

    let error = write(folder.path(), b"x").expect_err("a folder is no file").to_string();
    assert!(error.starts_with("cannot write ") && error.contains("this is a folder"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
