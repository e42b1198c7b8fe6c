//! The platforms with the papers' caches boot in QEMU, with colours of them: the
//! hypervisor and the real-time guests must have been built (`make build`).

use std::path::Path;
use std::process::Command;

/// Boots two VMs with the lower and the upper colours to their end; the third of these
/// is the highest, the hypervisor's.
fn boots(platform: &str, [lower, upper, highest]: [&str; 3]) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it");
    let vm = |name: &str, colors: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\ncolors = \"{colors}\"\n\
             kernel = \"{}/build/guests/rt-beacon.bin\"\nbootargs = \"beacon.lines=3\"\n",
            project.display()
        )
    };
    let text = format!(
        "[platform]\nboard = \"{platform}\"\nhypervisor_colors = \"{highest}\"\n{}{}",
        vm("a", lower),
        vm("b", upper)
    );
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{platform}.toml"));
    std::fs::write(&file, text).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_bulkhead"))
        .current_dir(&project)
        .args(["run", "--deterministic", "--until-off", "--timeout", "100s", "--log"])
        .args([file.with_extension("log"), file])
        .output()
        .expect("bulkhead starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for line in ["[a] beacon: done", "[b] beacon: done"] {
        assert!(shown.contains(line), "no {line} in\n{shown}");
    }
}

/// The registers of this CPU show the cache.
#[test]
fn the_cache_of_the_exynos_5422_divides_into_32_colors() {
    boots("qemu-exynos-5422", ["0-15", "16-30", "31"]);
}

/// No register shows this cache: nobody compares it.
#[test]
fn the_cache_of_the_raspberry_pi_2_divides_into_8_colors() {
    boots("qemu-raspberry-pi-2", ["0-3", "4-6", "7"]);
}

/// A board with a GICv2 and firmware with PSCI.
#[test]
fn the_cache_of_the_zcu102_divides_into_16_colors() {
    boots("zcu102", ["0-7", "8-14", "15"]);
}

/// CPUs in a spin table start the hypervisor where it is in its colours.
#[test]
fn the_cache_of_the_raspberry_pi_4_divides_into_16_colors() {
    boots("raspberry-pi-4", ["0-7", "8-14", "15"]);
}
