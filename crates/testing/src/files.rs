//! A plan with a Linux and a bare-metal guest, and a folder with their files.

use std::path::Path;

use image::Hypervisor;
use system::address::*;
use system::plan::*;
use tempfile::TempDir;
use units::*;

use crate::elf::Elf;

/// Returns a plan whose files lie in [`folder`].
pub fn plan() -> Plan {
    let vm = |name: &str, pcpus: &[u32], host: u64| Vm {
        name: name.into(),
        lifecycle: Lifecycle {
            on_crash: OnEvent::Stop,
            on_reset: OnEvent::Restart,
            restart_limit: 3,
            aborts: false,
            warm_up: true,
        },
        vllc: false,
        memory_budget: None,
        compensation: None,
        critical: false,
        vcpus: pcpus
            .iter()
            .map(|&pcpu| Vcpu {
                pcpu: Pcpu(pcpu),
                server: None,
                memory_budget: None,
                hold: Duration(0),
                entries: Entries::default(),
            })
            .collect(),
        memory: vec![Memory {
            ipa: Ipa(0x4000_0000),
            size: Bytes::mib(128),
            host: PhysicalAddress(host),
            coloring: None,
        }],
        gic: VirtualGic::V3 {
            gicd: Region::new(0x0800_0000, 0x1_0000),
            gicr: Region::new(0x080a_0000, 0x2_0000 * pcpus.len() as u64),
        },
        serial: Some(VirtualDevice {
            registers: Region::new(0x0900_0000, 0x1000),
            interrupt: IntId(33),
        }),
        pool: None,
        color_serial: None,
        bell: None,
        devices: Vec::new(),
        boot: Boot {
            entry: Ipa(0x4020_0000),
            bootargs: None,
            kernel: File { file: format!("{name}.bin"), load: Ipa(0x4020_0000) },
            initrd: None,
            device_tree: Some(Ipa(0x47e0_0000)),
        },
    };
    let mut linux = vm("linux", &[0, 1], 0x4600_0000);
    linux.boot.bootargs = Some("console=ttyAMA0 quiet".into());
    linux.boot.initrd = Some(File { file: "initrd.cpio".into(), load: Ipa(0x4400_0000) });
    linux.devices.push(Device {
        compatible: vec!["arm,pl031".into(), "arm,primecell".into()],
        registers: Mapping {
            ipa: Ipa(0x0901_0000),
            host: PhysicalAddress(0x0901_0000),
            size: Bytes(0x1000),
        },
        interrupts: Some(DeviceInterrupts { guest: IntId(34), host: IntId(34) }),
    });
    Plan {
        name: "test".into(),
        locks: Locks::Vmpcp,
        resources: Vec::new(),
        channels: Vec::new(),
        serial_lines: Vec::new(),
        links: Vec::new(),
        platform: Platform {
            board: "qemu-virt".into(),
            memory: vec![Region::new(0x4000_0000, 1 << 30)],
            hypervisor: Region::new(0x4000_0000, 0x0600_0000),
            hypervisor_area: None,
            switch: None,
            kick: None,
            cpus: (0..4).map(Mpidr).collect(),
            gic: Gic::V3 {
                gicd: Region::new(0x0800_0000, 0x1_0000),
                gicr: Region::new(0x080a_0000, 0x00f6_0000),
            },
            serial: Serial {
                kind: SerialKind::Pl011,
                registers: Region::new(0x0900_0000, 0x1000),
                interrupt: IntId(33),
                pcpu: Pcpu(3),
            },
            llc: None,
            spin_table: Vec::new(),
            power_off: None,
            bandwidth_counter: None,
        },
        vms: vec![linux, vm("rt", &[2], 0x4e00_0000)],
    }
}

/// Bytes of the initial RAM disk in [`folder`].
pub const INITRD_BYTES: u64 = 5001;

/// Returns an arm64 `Image` of 4 KiB that says it needs `memory_bytes`.
pub fn kernel(memory_bytes: u64) -> Vec<u8> {
    let mut kernel = vec![0x11; 4096];
    kernel[8..16].fill(0);
    kernel[16..24].copy_from_slice(&memory_bytes.to_le_bytes());
    kernel[56..60].copy_from_slice(b"ARM\x64");
    kernel
}

/// Makes a folder with the files of [`plan`].
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "linux.bin", &kernel(1 << 20));
    write(folder.path(), "initrd.cpio", &[0x22; INITRD_BYTES as usize]);
    write(folder.path(), "rt.bin", &[0x33; 100]);
    folder
}

/// Writes a file of [`folder`] anew.
pub fn write(folder: &Path, name: &str, data: &[u8]) {
    std::fs::write(folder.join(name), data).expect("a file");
}

/// Returns a hypervisor of 12 KiB.
pub fn hypervisor() -> Hypervisor {
    Hypervisor::from_elf(&Elf::default().to_bytes()).expect("a hypervisor")
}
