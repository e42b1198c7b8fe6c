//! Links each guest as a flat image at a fixed address.

fn main() {
    println!("cargo:rerun-if-changed=../rt/guest.ld");
    println!("cargo:rerun-if-changed=bench.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets the manifest's folder");
    let guests = [
        "rt-demo",
        "rt-periods",
        "rt-hostile",
        "rt-beacon",
        "rt-busy",
        "rt-psci",
        "rt-irq",
        "rt-cache",
        "rt-channel",
        "rt-chase",
        "rt-color",
        "rt-remap",
        "rt-serial",
        "rt-supply",
        "rt-leech",
        "rt-network",
        "rt-races",
        "rt-coincide",
        "rt-switch",
        "rt-locks",
        "rt-tasks",
        "rt-torture",
        "rt-storm",
    ];
    for guest in guests {
        println!("cargo:rustc-link-arg-bin={guest}=-T{folder}/../rt/guest.ld");
    }
    println!("cargo:rustc-link-arg-bin=rt-bench=-T{folder}/bench.ld");
    println!("cargo:rustc-link-arg-bins=-zmax-page-size=4096");
    // This target's programs can lie anywhere, and ask a loader to relocate them; a flat file has none.
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64") {
        println!("cargo:rustc-link-arg-bins=--no-pie");
    }
}
