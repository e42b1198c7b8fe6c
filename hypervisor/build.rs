//! Links the EL2 image as a position-independent file with our section layout.

fn main() {
    println!("cargo:rerun-if-changed=image.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets the manifest's folder");
    for argument in [
        &format!("-T{folder}/image.ld"),
        "-pie",
        "--no-dynamic-linker",
        "-znotext",
        // Linkers that cannot do this leave all relocations in the long form.
        "-zpack-relative-relocs",
        "-zmax-page-size=4096",
        // Cortex-A53 computes wrong addresses after some ADRP at the end of a page.
        "--fix-cortex-a53-843419",
    ] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
