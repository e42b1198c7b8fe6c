//! Linux as a guest, as far as this machine has it: `host_x86` boots one.

use std::path::Path;

use crate::{alone, bulkhead, is_host};

/// A description of a Linux with these keys more.
fn linux(folder: &Path, keys: &str, rest: &str) -> String {
    let text = format!(
        "name = \"test\"\nplatform = \"linux-kvm\"\n[[vm]]\nname = \"linux\"\nmemory = \"64MiB\"\n\
         kernel = \"kernel\"\nbootargs = \"console=ttyS0\"\n{keys}\n{rest}\n"
    );
    let file = folder.join("system.toml");
    std::fs::write(&file, text).expect("a file");
    file.to_str().expect("a path in UTF-8").to_owned()
}

fn refused(file: &str, message: &str) {
    let output = bulkhead(&["run", "--on", "kvm", file, "--timeout", "20s"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(message), "{text}");
}

#[test]
fn what_a_linux_does_not_get_is_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |keys, rest, message: &str| {
        refused(&linux(folder.path(), keys, rest), &format!("under KVM there are no {message} yet"))
    };
    refused("vcpus = 2", "", "Linux guests with more than one VCPU");
    refused("load = 0x4040_0000", "", "addresses for the files of a Linux");
    let sections = "[[vm.task]]\nname = \"a\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n\
                    sections = [{ resource = \"r\", length = \"0.1ms\" }]\n\
                    [[resource]]\nname = \"r\"\nvm = \"linux\"";
    refused("", sections, "critical sections of a Linux");
    let raw = "boot = \"raw\"\ninitrd = \"kernel\"";
    refused(raw, "", "initial RAM disks of real-time guests");
}

/// Where KVM emulates privileged code, a message says so at once, in place of a boot of hours.
#[test]
fn a_file_that_is_no_kernel_is_refused_as_is_a_kvm_that_emulates_kernels() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("kernel"), "\x7fELF").expect("a file");
    let emulates = Path::new("/sys/module/kvm_pvm").exists();
    let message =
        if emulates { "executes privileged code" } else { "no Linux that can start here" };
    refused(&linux(folder.path(), "", ""), message);
}
