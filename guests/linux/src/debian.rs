//! The two files that are taken out of Debian's packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::apt::Apt;
use crate::file;

/// Depends on the package of the current kernel; names of older ones leave the archive.
const KERNEL_META_PACKAGE: &str = "linux-image-arm64";
/// Busybox without shared libraries.
const BUSYBOX_PACKAGE: &str = "busybox-static";

/// Files from Debian's packages.
pub struct Files {
    /// The kernel.
    pub kernel: PathBuf,
    /// Busybox, statically linked.
    pub busybox: PathBuf,
}

/// The files, downloaded if they are not in `cache` yet.
pub fn files(cache: &Path) -> Result<Files> {
    let folder = cache.join("linux");
    let files = Files { kernel: folder.join("vmlinuz"), busybox: folder.join("busybox") };
    if !(files.kernel.exists() && files.busybox.exists()) {
        fetch(&cache.join("apt"), &files)?;
    }
    Ok(files)
}

fn fetch(apt_root: &Path, files: &Files) -> Result<()> {
    eprintln!("linux guest: downloading Debian's arm64 kernel and busybox (about 70 MB, once)");
    let apt = Apt::new(apt_root)?;
    let depends = apt.field(KERNEL_META_PACKAGE, "Depends")?;
    let kernel = kernel_package(&depends)?;
    eprintln!("linux guest: {kernel} {}", apt.field(kernel, "Version")?);
    let version = kernel.trim_start_matches("linux-image-");

    let vmlinuz = unpack(&apt.download(kernel)?, &format!("./boot/vmlinuz-{version}"))?;
    let busybox = unpack(&apt.download(BUSYBOX_PACKAGE)?, "./bin/busybox")?;
    file::write_if_changed(&files.kernel, &vmlinuz)?;
    file::write_if_changed(&files.busybox, &busybox)?;
    apt.remove()
}

/// The kernel's package in the `Depends` field of the meta package:
/// `linux-image-6.1.0-56-arm64 (= 6.1.192-2)`.
fn kernel_package(depends: &str) -> Result<&str> {
    depends
        .split([',', ' '])
        .find(|word| word.starts_with("linux-image-") && word.ends_with("-arm64"))
        .with_context(|| format!("{KERNEL_META_PACKAGE} names no kernel: Depends: {depends}"))
}

/// One file of a package.
fn unpack(package: &Path, member: &str) -> Result<Vec<u8>> {
    let mut archive = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start dpkg-deb")?;
    let stream = archive.stdout.take().context("dpkg-deb has no output")?;
    let content = Command::new("tar")
        .args(["--extract", "--to-stdout", "--file=-", member])
        .stdin(stream)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start tar")?;
    let archive = archive.wait()?;
    ensure!(
        archive.success() && content.status.success() && !content.stdout.is_empty(),
        "cannot take {member} out of {}",
        package.display()
    );
    Ok(content.stdout)
}

/// The kernel must be a plain arm64 `Image`: nothing unpacks it on the way into a guest.
///
/// Source: the kernel's `Documentation/arch/arm64/booting.rst`, "Call the kernel image".
pub fn check_kernel(kernel: &[u8]) -> Result<()> {
    ensure!(
        kernel.get(56..60) == Some(b"ARM\x64"),
        "it is not an arm64 Image (no magic number at offset 56)"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_package_is_found_among_dependencies() {
        let depends = "kmod, linux-image-6.1.0-56-arm64 (= 6.1.192-2)";
        assert_eq!(kernel_package(depends).unwrap(), "linux-image-6.1.0-56-arm64");
        let error = kernel_package("linux-base").unwrap_err().to_string();
        assert!(error.contains("Depends: linux-base"), "{error}");
    }

    #[test]
    fn a_compressed_kernel_is_refused() {
        let mut image = vec![0; 64];
        image[56..60].copy_from_slice(b"ARM\x64");
        check_kernel(&image).unwrap();
        image[0..2].copy_from_slice(&[0x1f, 0x8b]);
        image[56] = 0;
        assert!(check_kernel(&image).is_err());
        assert!(check_kernel(b"short").is_err());
    }
}
