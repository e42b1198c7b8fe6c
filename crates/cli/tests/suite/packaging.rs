//! The recipes for Buildroot and Yocto: they name what a release has, and their commands pack an image.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::{Sandbox, files, sandbox};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const BOARD: &str = "packaging/buildroot/board/qemu-aarch64-virt";
const LAYER: &str = "packaging/yocto/meta-bulkhead";
/// A bare-metal guest of the release.
const GUEST: &str = "rt-demo.bin";

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap_or_else(|it| panic!("{path}: {it}"))
}

/// The names of the files in a folder.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(ROOT).join(folder)).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().into_string().expect("text")).collect()
}

#[test]
fn recipes_have_the_version_of_the_workspace() {
    let package = read("packaging/buildroot/package/bulkhead/bulkhead.mk");
    assert!(package.contains(&format!("\nBULKHEAD_VERSION = {VERSION}\n")), "{package}");
    for (folder, name) in [("bulkhead", "bulkhead-native"), ("images", "bulkhead-image-demo")] {
        let found = names(&format!("{LAYER}/recipes-bulkhead/{folder}"));
        let expected = format!("{name}_{VERSION}.bb");
        assert!(found.contains(&expected), "{expected} is not among {found:?}");
    }
    let page = read("docs/how-to/buildroot-and-yocto.md");
    let archives = page.split("bulkhead-").skip(1).filter(|it| it.contains("-x86_64"));
    let versions: Vec<_> = archives.filter_map(|it| it.split_once("-x86_64")).collect();
    assert!(!versions.is_empty(), "no archive is named");
    for (version, _) in versions {
        assert!(version == VERSION || version == "VERSION", "{version}");
    }
}

#[test]
fn licences_have_the_digests_that_the_recipe_says() {
    let recipe = read(&format!("{LAYER}/recipes-bulkhead/bulkhead/bulkhead-native_{VERSION}.bb"));
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let sum = Command::new("md5sum").arg(Path::new(ROOT).join(file)).output();
        let sum = String::from_utf8(sum.expect("md5sum starts").stdout).expect("text");
        let sum = sum.split_whitespace().next().expect("a digest");
        assert!(recipe.contains(&format!("file://{file};md5={sum} ")), "{file}: {sum}");
    }
}

#[test]
fn recipes_take_from_a_release_what_it_has() {
    let contents = read("xtask/src/release/contents.rs");
    let xtask = read("xtask/src/release.rs");
    assert!(contents.contains("\"bulkhead\".into()") && contents.contains("build/hypervisor.elf"));
    assert!(contents.contains("build/guests/{guest}.bin"));
    assert!(xtask.contains("format!(\"bulkhead-{VERSION}-{}\", toolchain::host()?)"));
    let guest = GUEST.trim_end_matches(".bin");
    let guests = read("guests/programs/Cargo.toml");
    assert!(guests.contains(&format!("name = \"{guest}\"")), "{guests}");
    let recipe = read(&format!("{LAYER}/recipes-bulkhead/bulkhead/bulkhead-native_{VERSION}.bb"));
    assert!(recipe.contains("\nBULKHEAD_NAME = \"bulkhead-${PV}-x86_64-unknown-linux-gnu\"\n"));
}

/// A folder with what is installed from a release, and the images of a Linux.
fn images() -> (Sandbox, PathBuf) {
    let sandbox = sandbox!();
    let folder = |name: &str| {
        fs::create_dir_all(sandbox.path(name)).expect("a folder");
        sandbox.path(name)
    };
    let guests = folder("host/lib/bulkhead/build/guests");
    fs::write(guests.join(GUEST), [0x33; 100]).expect("a file");
    let program = folder("host/bin").join("bulkhead");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bulkhead"), program).expect("a link");
    let images = folder("images");
    files::write(&images, "Image", &files::kernel(1 << 20));
    (sandbox, images)
}

/// Runs a script of a recipe with these variables.
fn runs(sandbox: &Sandbox, script: &mut Command, variables: &[(&str, &Path)]) {
    let hypervisor = sandbox.path("hypervisor.elf");
    script.envs(variables.iter().copied()).env("BULKHEAD_HYPERVISOR", hypervisor);
    let output = script.output().expect("a shell starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The commands of a task of the class.
fn task(name: &str) -> String {
    let class = read(&format!("{LAYER}/classes-recipe/bulkhead_image.bbclass"));
    let (_, body) = class.split_once(&format!("\n{name}() {{\n")).expect("a task");
    body.split_once("\n}").expect("its end").0.to_owned()
}

#[test]
fn both_pack_the_same_image() {
    let (sandbox, built) = images();
    files::write(&built, "rootfs.cpio.gz", &[0x22; 5001]);
    let description = Path::new(ROOT).join(BOARD).join("system.toml");
    let mut script = Command::new(Path::new(ROOT).join(BOARD).join("post-image.sh"));
    script.args([&built, &description]);
    runs(&sandbox, &mut script, &[("HOST_DIR", &sandbox.path("host"))]);
    let image = fs::read(built.join("bulkhead.img")).expect("an image");
    assert!(image.len() > 4096 + 5001 + 100, "{} bytes", image.len());

    let (sandbox, deployed) = images();
    let ram_disk = "bulkhead-image-linux-qemuarm64.rootfs.cpio.gz";
    files::write(&deployed, ram_disk, &[0x22; 5001]);
    let images = format!("{LAYER}/recipes-bulkhead/images");
    assert!(names(&images).contains(&"bulkhead-image-linux.bb".into()));
    let sources = Path::new(ROOT).join(&images).join("files");
    let (work, out) = (sandbox.path("work"), sandbox.path("out"));
    for folder in [&work, &out] {
        fs::create_dir(folder).expect("a folder");
    }
    let class = read(&format!("{LAYER}/classes-recipe/bulkhead_image.bbclass"));
    let default = |name: &str| {
        let (_, rest) = class.split_once(&format!("\n{name} ?= \"")).expect("a variable");
        PathBuf::from(rest.split('"').next().expect("its value"))
    };
    let mut script = Command::new("sh");
    let body = format!("{}\n{}", task("do_compile"), task("do_deploy"));
    script.current_dir(&work).args(["-euc", &body]);
    let search = std::env::var("PATH").expect("a path");
    let search = format!("{}:{search}", sandbox.path("host/bin").display());
    let (linux, guests) = (default("BULKHEAD_LINUX"), default("BULKHEAD_GUESTS"));
    let variables: [(&str, &Path); 12] = [
        ("PATH", search.as_ref()),
        ("S", &sources),
        ("B", &work),
        ("PN", "demo".as_ref()),
        ("MACHINE", "qemuarm64".as_ref()),
        ("DEPLOYDIR", &out),
        ("DEPLOY_DIR_IMAGE", &deployed),
        ("BULKHEAD_LINUX", &linux),
        ("BULKHEAD_GUESTS", &guests),
        ("IMAGE_MACHINE_SUFFIX", "-qemuarm64".as_ref()),
        ("IMAGE_NAME_SUFFIX", ".rootfs".as_ref()),
        ("STAGING_LIBDIR_NATIVE", &sandbox.path("host/lib")),
    ];
    runs(&sandbox, &mut script, &variables);
    let other = fs::read(out.join("demo-qemuarm64.img")).expect("an image");
    assert!(image == other, "the images differ");
    assert!(out.join("demo-qemuarm64.plan.dts").is_file());
}
