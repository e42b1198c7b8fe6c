//! Resources that VMs share, on the real hypervisor: a guest that makes every mistake, and dies with the
//! resource; another one that waits for it.

mod real;

use real::{project, succeeds};

#[test]
#[ignore = "needs the hypervisor and guests"]
fn a_guest_hurts_only_itself_and_the_dead_leave_what_they_held() {
    let kernel = project().join("build/guests/rt-locks.bin");
    let vm = |name: &str, role: &str| {
        format!(
            "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel:?}\n\
             bootargs = \"locks.role={role}\"\n"
        )
    };
    let system = format!(
        "platform = \"qemu-virt\"\n\
         [[resource]]\nname = \"bus\"\nvms = [\"a\", \"b\"]\n\
         [[resource]]\nname = \"own\"\nvms = [\"a\"]\n{}{}",
        vm("a", "holder"),
        vm("b", "waiter")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("system.toml");
    std::fs::write(&path, system).expect("the folder is writable");
    let path = path.to_str().expect("a path in UTF-8");
    let out = succeeds(&["run", path, "--deterministic", "--until-off", "--timeout", "600s"]);
    assert!(out.contains("[a] locks: 221 passed, 0 failed"), "{out}");
    assert!(out.contains("[b] locks: 9 passed, 0 failed"), "{out}");
}
