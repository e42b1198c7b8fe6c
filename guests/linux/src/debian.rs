//! Files that are taken out of Debian's packages: a kernel, busybox, and modules.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::apt::Apt;
use crate::file;

/// A kernel of Debian, and busybox without shared libraries.
#[derive(Debug)]
pub struct Linux {
    /// The purpose, as messages name it.
    name: &'static str,
    /// Debian's word.
    architecture: &'static str,
    /// Depends on the package of the current kernel; names of older ones leave the archive.
    meta_package: &'static str,
    /// The kernel's package begins and ends with this.
    package: (&'static str, &'static str),
    /// Modules of the kernel: their paths below its folder `kernel`.
    modules: &'static [&'static str],
    /// Name of the folder in the cache.
    folder: &'static str,
    /// Approximate size of the download, in MB.
    megabytes: u32,
}

/// The Linux of guests.
pub const GUEST: Linux = Linux {
    name: "linux guest",
    architecture: "arm64",
    meta_package: "linux-image-arm64",
    package: ("linux-image-", "-arm64"),
    // Network cards of virtio, in the order in which they are loaded.
    modules: &[
        "net/core/failover.ko",
        "drivers/net/net_failover.ko",
        "drivers/net/virtio_net.ko",
        "drivers/virtio/virtio_mmio.ko",
    ],
    folder: "linux",
    megabytes: 70,
};

/// The Linux of an x86-64 host with KVM.
pub const HOST_X86: Linux = Linux {
    name: "x86 host",
    architecture: "amd64",
    meta_package: "linux-image-cloud-amd64",
    package: ("linux-image-", "-cloud-amd64"),
    // In the order in which they are loaded.
    modules: &["virt/lib/irqbypass.ko", "arch/x86/kvm/kvm.ko", "arch/x86/kvm/kvm-amd.ko"],
    folder: "host-x86",
    megabytes: 28,
};

/// Busybox without shared libraries.
const BUSYBOX_PACKAGE: &str = "busybox-static";

/// Files from Debian's packages.
#[derive(Debug)]
pub struct Files {
    /// The kernel.
    pub kernel: PathBuf,
    /// Busybox, statically linked.
    pub busybox: PathBuf,
    /// Modules of the kernel, in the order in which they are loaded.
    pub modules: Vec<PathBuf>,
}

impl Files {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.kernel, &self.busybox].into_iter().chain(&self.modules)
    }
}

impl Linux {
    /// The files, downloaded if they are not in `cache` yet.
    pub fn files(&self, cache: &Path) -> Result<Files> {
        let folder = cache.join(self.folder);
        let files = Files {
            kernel: folder.join("vmlinuz"),
            busybox: folder.join("busybox"),
            modules: self.modules.iter().map(|path| folder.join(name_of(path))).collect(),
        };
        if !files.all().all(|file| file.exists()) {
            self.fetch(&cache.join(format!("apt-{}", self.folder)), &files)?;
        }
        Ok(files)
    }

    /// A private apt for the architecture.
    pub fn apt(&self, root: &Path) -> Result<Apt> {
        let Self { architecture, meta_package, folder, .. } = self;
        let modules: Vec<_> = self.modules.iter().map(|path| name_of(path)).collect();
        let modules = modules.join(", ");
        let otherwise = format!(
            "put vmlinuz, {modules} and busybox of Debian's {architecture} packages {meta_package} and \
             {BUSYBOX_PACKAGE} into build/cache/{folder}"
        );
        Apt::new(root, architecture, &otherwise)
    }

    fn fetch(&self, apt_root: &Path, files: &Files) -> Result<()> {
        let Self { name, architecture, megabytes, .. } = self;
        eprintln!(
            "{name}: downloading Debian's {architecture} kernel and busybox (about {megabytes} MB, once)"
        );
        let apt = self.apt(apt_root)?;
        let depends = apt.field(self.meta_package, "Depends")?;
        let kernel = self.kernel_package(&depends)?;
        eprintln!("{name}: {kernel} {}", apt.field(kernel, "Version")?);
        let version = kernel.trim_start_matches(self.package.0);

        let package = apt.download(kernel)?;
        let vmlinuz = unpack(&package, &format!("./boot/vmlinuz-{version}"))?;
        let modules = self
            .modules
            .iter()
            .map(|path| unpack(&package, &format!("./lib/modules/{version}/kernel/{path}")));
        let modules = modules.collect::<Result<Vec<_>>>()?;
        let busybox = unpack(&apt.download(BUSYBOX_PACKAGE)?, "./bin/busybox")?;
        for (file, content) in files.all().zip([vmlinuz, busybox].into_iter().chain(modules)) {
            file::write_if_changed(file, &content)?;
        }
        apt.remove()
    }

    /// The kernel's package in the `Depends` field of the meta package:
    /// `linux-image-6.1.0-56-arm64 (= 6.1.192-2)`.
    fn kernel_package<'a>(&self, depends: &'a str) -> Result<&'a str> {
        let (start, end) = self.package;
        depends
            .split([',', ' '])
            .find(|word| word.starts_with(start) && word.ends_with(end))
            .with_context(|| format!("{} names no kernel: Depends: {depends}", self.meta_package))
    }
}

/// The name of a file.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
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

/// The kernel must be a `bzImage`, which QEMU loads.
///
/// Source: the kernel's `Documentation/arch/x86/boot.rst`, "The Real-Mode Kernel Header".
pub fn check_x86_kernel(kernel: &[u8]) -> Result<()> {
    ensure!(
        kernel.get(0x202..0x206) == Some(b"HdrS"),
        "it is not a bzImage for x86 (no magic number at offset 0x202)"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_package_is_found_among_dependencies() {
        let depends = "kmod, linux-image-6.1.0-56-arm64 (= 6.1.192-2)";
        assert_eq!(GUEST.kernel_package(depends).unwrap(), "linux-image-6.1.0-56-arm64");
        let depends = "linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)";
        let package = "linux-image-6.1.0-56-cloud-amd64";
        assert_eq!(HOST_X86.kernel_package(depends).unwrap(), package);
        let error = GUEST.kernel_package("linux-base").unwrap_err().to_string();
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
