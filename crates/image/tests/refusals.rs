//! Plans and files from which no image can be made, and what is said then.

use std::path::Path;

use image::build;
use system::address::Ipa;
use system::plan::Plan;
use testing::files;
use units::Bytes;

/// The message after `change` to the plan or its folder.
fn refusal(change: impl FnOnce(&mut Plan, &Path)) -> String {
    let (mut plan, folder) = (files::plan(), files::folder());
    change(&mut plan, folder.path());
    build(&plan, folder.path(), &files::hypervisor(), None).expect_err("refused").to_string()
}

fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn missing_file_names_vm_and_key_and_says_what_to_run() {
    let message = refusal(|_, folder| {
        std::fs::remove_file(folder.join("initrd.cpio")).expect("removed");
    });
    assert_says(
        &message,
        &["VM `linux`", "initrd", "initrd.cpio: there is no such file", "help: paths are relative"],
    );
    assert!(!message.contains("make build"), "{message}");
}

#[test]
fn files_of_the_wrong_kind_are_recognised() {
    let replace = |name: &'static str, data: Vec<u8>| {
        refusal(move |_, folder| files::write(folder, name, &data))
    };
    assert_says(&replace("rt.bin", b"\x7fELF\x02".to_vec()), &["VM `rt`", "kernel", "objcopy"]);
    assert_says(&replace("rt.bin", Vec::new()), &["VM `rt`", "the file is empty"]);
    assert_says(&replace("linux.bin", vec![0; 5000]), &["not an arm64 `Image`", "VM `linux`"]);
    assert_says(&replace("linux.bin", b"\x1f\x8b\x08".to_vec()), &["compressed (gzip)"]);
    assert_says(&replace("linux.bin", b"MZ\0\0zimg".to_vec()), &["compressed (EFI zboot)"]);
}

#[test]
fn folders_and_devices_are_no_guest_files() {
    for file in [".", "/dev/zero"] {
        let message = refusal(|plan, _| plan.vms[1].boot.kernel.file = file.into());
        assert_says(&message, &["VM `rt`", "kernel", "no regular file"]);
    }
}

#[test]
fn linux_must_lie_where_its_header_says() {
    let message = refusal(|plan, _| plan.vms[0].boot.kernel.load = Ipa(0x4028_0000));
    assert_says(&message, &["VM `linux`", "multiple of 2 MiB", "0x40280000"]);
}

#[test]
fn files_must_fit_into_the_ram_of_their_vm() {
    let message = refusal(|plan, _| {
        plan.vms[0].boot.initrd.as_mut().expect("an initrd").load = Ipa(0x47ff_f000);
    });
    assert_says(&message, &["VM `linux`", "initrd (5001 B)", "0x40000000..=0x47ffffff"]);
    let message = refusal(|plan, _| plan.vms[1].boot.device_tree = Some(Ipa(0x3000_0000)));
    assert_says(&message, &["VM `rt`", "device tree", "0x30000000"]);
}

#[test]
fn memory_that_the_kernel_clears_counts_too() {
    // 4 KiB in the file, but 64 MiB in memory: up to the initrd at 0x44000000 and beyond.
    let message = refusal(|_, folder| files::write(folder, "linux.bin", &files::kernel(64 << 20)));
    assert_says(
        &message,
        &["VM `linux`", "kernel at 0x40200000", "initrd at 0x44000000", "overlap"],
    );
}

#[test]
fn device_tree_must_be_aligned() {
    let message = refusal(|plan, _| plan.vms[1].boot.device_tree = Some(Ipa(0x4100_0004)));
    assert_says(&message, &["VM `rt`", "0x41000004", "multiple of 8"]);
}

#[test]
fn image_must_fit_into_the_region_of_the_hypervisor() {
    let message = refusal(|plan, _| plan.platform.hypervisor.size = Bytes::mib(2));
    assert_says(&message, &["hypervisor region", "gives it 2 MiB", "help: "]);
}
