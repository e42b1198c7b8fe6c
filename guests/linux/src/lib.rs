//! Bulkhead's Linux guest: the unmodified arm64 kernel of Debian 12 and an
//! initial RAM disk with busybox and a few jobs.
//!
//! [`build`] makes both files. The packages come from Debian's archive, are
//! verified by apt, and are downloaded once: later builds need no network.
//!
//! [`host`] makes a Linux for x86-64, in which `bulkhead run --on kvm` runs in QEMU.
//!
//! `bulkhead.job=NAME` chooses the job of the guest on its kernel command
//! line, where NAME is a file in `rootfs/jobs`; without it, it gives a shell.

#![forbid(unsafe_code)]

mod apt;
mod debian;
mod elf;
pub mod file;
pub mod host;
mod initramfs;
mod programs;
mod rootfs;
mod tools;

use std::path::Path;

use anyhow::{Context, Result};

/// Writes `victims.cpio` into the folder `out`: the initial RAM disk of [`build`] and
/// programs of Debian that experiments measure. Downloads are kept in `cache`.
pub fn build_victims(cache: &Path, out: &Path) -> Result<()> {
    build_with(&programs::VICTIMS, rootfs::with_victims, &out.join("victims.cpio"), cache, out)
}

/// Writes `cyclictest.cpio` into the folder `out`: the initial RAM disk of [`build`] and
/// Debian's cyclictest. Downloads are kept in `cache`.
pub fn build_cyclictest(cache: &Path, out: &Path) -> Result<()> {
    let file = out.join("cyclictest.cpio");
    build_with(&programs::CYCLICTEST, rootfs::with_programs, &file, cache, out)
}

/// Writes `measure.cpio` into the folder `out`: the initial RAM disk of [`build`] and a
/// `bulkhead` command for AArch64, linked statically, as `/bin/bulkhead`. Downloads are kept
/// in `cache`.
pub fn build_measure(bulkhead: Vec<u8>, cache: &Path, out: &Path) -> Result<()> {
    let files = debian::GUEST.files(cache).context("the Debian packages of the Linux guest")?;
    let tools = tools::build(out).context("bhctl")?;
    let programs = vec![("bin/bulkhead".into(), 0o755, bulkhead)];
    let entries = rootfs::with_programs(rootfs::Base::read(&files)?, &tools, programs);
    let initramfs = initramfs::archive(&entries).context("the initial RAM disk with bulkhead")?;
    file::write_if_changed(&out.join("measure.cpio"), &initramfs)
}

type Entries = fn(rootfs::Base, &tools::Tools, Vec<programs::File>) -> Vec<initramfs::Entry>;

fn build_with(
    wanted: &programs::Programs,
    entries: Entries,
    file: &Path,
    cache: &Path,
    out: &Path,
) -> Result<()> {
    let files = debian::GUEST.files(cache).context("the Debian packages of the Linux guest")?;
    let programs =
        programs::files(wanted, cache).context("the Debian packages with the programs")?;
    let tools = tools::build(out).context("bhctl")?;
    let entries = entries(rootfs::Base::read(&files)?, &tools, programs);
    let initramfs = initramfs::archive(&entries).context("the initial RAM disk with programs")?;
    file::write_if_changed(file, &initramfs)
}

/// Writes `vmlinuz` and `initrd.cpio` into the folder `out`, and what `bhctl` consists of.
///
/// Downloads are kept in `cache`; what is already there is not fetched again.
/// Files that would not change are left untouched.
pub fn build(cache: &Path, out: &Path) -> Result<()> {
    let files = debian::GUEST.files(cache).context("the Debian packages of the Linux guest")?;
    let kernel = file::read(&files.kernel)?;
    debian::check_kernel(&kernel)
        .with_context(|| format!("{} is not usable", files.kernel.display()))?;
    let tools = tools::build(out).context("bhctl")?;
    let initramfs = initramfs::archive(&rootfs::entries(rootfs::Base::read(&files)?, &tools))
        .context("the initial RAM disk of the Linux guest")?;

    file::write_if_changed(&out.join("vmlinuz"), &kernel)?;
    file::write_if_changed(&out.join("initrd.cpio"), &initramfs)
}
