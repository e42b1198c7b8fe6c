//! What is in a release, and from what none is built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `cargo xtask release` for the work tree that the package in this folder belongs to.
fn release(package: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .env("CARGO_MANIFEST_DIR", package)
        .arg("release")
        .args(arguments)
        .output()
        .unwrap()
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=A Test", "-c", "user.email=test@example.org"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with this changelog, which is committed.
fn repository(changelog: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("xtask")).unwrap();
    fs::write(folder.path().join("CHANGELOG.md"), changelog).unwrap();
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "--message", "all"]);
    folder
}

fn assert_refused(folder: &TempDir, reason: &str) {
    let output = release(&folder.path().join("xtask"), &[]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && errors.contains(reason), "{errors}");
    assert!(!folder.path().join("build").exists(), "nothing is written");
}

#[test]
fn files_that_are_not_committed_are_refused() {
    let folder = repository(&format!("# Changes\n\n## {}\n", env!("CARGO_PKG_VERSION")));
    fs::write(folder.path().join("new"), "").unwrap();
    assert_refused(&folder, "?? new");
}

#[test]
fn a_version_that_the_changelog_does_not_know_is_refused() {
    let folder = repository("# Changes\n\n## Unreleased\n");
    let section = format!("CHANGELOG.md has no section `## {}`", env!("CARGO_PKG_VERSION"));
    assert_refused(&folder, &section);
}

#[test]
fn a_release_has_what_its_systems_need() {
    let output = release(Path::new(env!("CARGO_MANIFEST_DIR")), &["--list"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = list.lines().filter_map(|line| line.split_once(": ")).collect();
    let files = |archive: &str| {
        let of = |&(name, file): &(&str, _)| name.starts_with(archive).then_some(file);
        lines.iter().filter_map(of).collect::<Vec<&str>>()
    };
    let version = env!("CARGO_PKG_VERSION");
    let main = files(&format!("bulkhead-{version}-"));
    let plugin = files(&format!("bulkhead-cachescope-{version}-"));
    assert_eq!(main.len() + plugin.len(), lines.len());

    for file in ["bulkhead", "build/hypervisor.elf", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(main.contains(&file), "{file}");
    }
    for file in ["systems/demo.toml", "docs/tutorial.md", "experiments/README.md", "sbom.cdx.json"]
    {
        assert!(main.contains(&file), "{file}");
    }
    for file in
        ["packaging/buildroot/external.desc", "packaging/yocto/meta-bulkhead/conf/layer.conf"]
    {
        assert!(main.contains(&file), "{file}");
    }
    for file in ["share/man/man1/bulkhead*.1", "share/zsh/site-functions/_bulkhead"] {
        assert!(main.contains(&file), "{file}");
    }
    assert!(main.iter().any(|file| file.starts_with("licences/clap-")));
    assert!(!main.iter().any(|file| file.contains("cachescope/")), "it is GPL-2.0-or-later");

    for file in ["LICENSE", "Cargo.toml", "src/lib.rs", "target/release/libbulkhead_cachescope.so"]
    {
        assert!(plugin.contains(&format!("cachescope/{file}").as_str()), "{file}");
    }
    assert!(plugin.iter().all(|file| file.starts_with("cachescope/")));

    for file in main.iter().filter(|it| it.starts_with("systems/") && it.ends_with(".toml")) {
        let text = fs::read_to_string(project().join(file)).unwrap();
        let kernels = text.lines().filter_map(|line| line.strip_prefix("kernel = \"../"));
        for kernel in kernels.filter_map(|it| it.split('"').next()) {
            let linux = ["build/linux/", "build/host-x86/"].iter().any(|it| kernel.starts_with(it));
            assert!(linux || main.contains(&kernel), "{file} boots {kernel}");
        }
    }
}

/// The registry refuses what depends on a package that it does not have, or not in this version.
#[test]
fn published_packages_need_only_published_ones_of_their_version() {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"];
    let cargo =
        Command::new(env!("CARGO")).current_dir(project()).args(arguments).output().unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let published: Vec<&Value> = packages.iter().filter(|it| it["publish"].is_null()).collect();
    let is_published = |name: &Value| published.iter().any(|it| it["name"] == *name);
    assert!(is_published(&"bulkhead-analysis".into()) && is_published(&"bulkhead-rt".into()));
    assert!(!is_published(&"bulkhead".into()), "a package of others has this name");
    let version = format!("^{}", env!("CARGO_PKG_VERSION"));
    for package in &published {
        let name = &package["name"];
        assert!(package["description"].is_string() && package["license"].is_string(), "{name}");
        let needed = package["dependencies"].as_array().unwrap().iter();
        // What only tests need, and has no version, is not in packages.
        for it in needed.filter(|it| it["path"].is_string() && it["kind"] != "dev") {
            assert!(is_published(&it["name"]), "{name} needs {}", it["name"]);
            assert_eq!(it["req"], *version, "{name} needs {}", it["name"]);
        }
    }
}

#[test]
fn all_workspaces_have_the_version_of_the_release() {
    let manifests =
        ["Cargo.toml", "cachescope/Cargo.toml", "python/Cargo.toml", "python/pyproject.toml"];
    for path in manifests {
        let manifest = fs::read_to_string(project().join(path)).unwrap();
        let version = format!("\nversion = \"{}\"\n", env!("CARGO_PKG_VERSION"));
        assert!(manifest.contains(&version), "{path}");
    }
}
