//! A virtual machine: its RAM and its VCPUs.

use std::io;

use abi::guest::RAM;
use abi::kvm::{
    ARGUMENTS_MAX, ARGUMENTS_OFFSET, ARGUMENTS_WORD, BLOCK_BYTES, RAM_MAX, RESERVED_BYTES,
    VCPU_WORD, VERSION, VERSION_WORD, block,
};
use kvm_bindings::{
    CpuId, KVM_CAP_PMU_CAPABILITY, KVM_MAX_CPUID_ENTRIES, KVM_PMU_CAP_DISABLE, kvm_enable_cap,
};
use kvm_ioctls::VmFd;

use crate::error::Error;
use crate::last_level_cache::LastLevelCache;
use crate::layout;
use crate::linux;
use crate::sys::{self, memory::Memory};
use crate::vcpu::Vcpu;

/// Linux/KVM.
#[derive(Debug)]
pub struct Kvm {
    kvm: kvm_ioctls::Kvm,
    cpuid: CpuId,
}

impl Kvm {
    /// Opens `/dev/kvm`.
    pub fn open() -> Result<Self, Error> {
        let kvm = kvm_ioctls::Kvm::new().map_err(|error| {
            let error = io::Error::from_raw_os_error(error.errno());
            match error.kind() {
                io::ErrorKind::NotFound => Error::NoKvm,
                io::ErrorKind::PermissionDenied => Error::Denied(error),
                // The device file is there, and no driver behind it.
                _ if error.raw_os_error() == Some(libc::ENXIO) => Error::NoKvm,
                _ => Error::Io { what: "cannot open /dev/kvm", error },
            }
        })?;
        let cpuid = kvm
            .get_supported_cpuid(KVM_MAX_CPUID_ENTRIES)
            .map_err(Error::kvm("KVM does not tell what its CPUs can do"))?;
        Ok(Self { kvm, cpuid })
    }

    /// Makes a VM with RAM of this size.
    pub fn vm(&self, ram_bytes: u64) -> Result<Vm, Error> {
        self.vm_in(VmMemory::new(ram_bytes)?)
    }

    /// Makes a VM with this memory.
    pub fn vm_in(&self, VmMemory { tables, ram }: VmMemory) -> Result<Vm, Error> {
        check_ram(ram.bytes())?;
        let fd = self.kvm.create_vm().map_err(Error::kvm("KVM makes no VM"))?;
        // Intel's CPUs need three pages that the guest does not use.
        fd.set_tss_address(0xfffb_d000).map_err(Error::kvm("KVM makes no VM"))?;
        for (address, word) in layout::tables(ram.bytes()) {
            tables.set_word(address, word);
        }
        for (slot, address, memory) in [(0, 0, &tables), (1, RAM, &ram)] {
            sys::give(&fd, slot, address, memory)
                .map_err(Error::kvm("KVM refuses the RAM of a VM"))?;
        }
        Ok(Vm { fd, cpuid: self.cpuid.clone(), tables, ram, is_linux: false })
    }

    /// Refuses Linux guests if this KVM emulates privileged code.
    pub fn check_linux(&self) -> Result<(), Error> {
        linux::check(&self.kvm)
    }

    /// Makes a VM with a Linux in this memory, for one VCPU.
    pub fn linux_in(
        &self,
        VmMemory { tables, ram }: VmMemory,
        files: linux::Files<'_>,
    ) -> Result<Vm, Error> {
        check_ram(ram.bytes())?;
        let fd = self.kvm.create_vm().map_err(Error::kvm("KVM makes no VM"))?;
        fd.set_tss_address(0xfffb_d000).map_err(Error::kvm("KVM makes no VM"))?;
        sys::give(&fd, 0, 0, &ram).map_err(Error::kvm("KVM refuses the RAM of a VM"))?;
        // The guest does not see the counters of events, and cannot use them against others either. Where KVM cannot refuse
        // them, there are none, or they count for the guest.
        let _ = fd.enable_cap(&kvm_enable_cap {
            cap: KVM_CAP_PMU_CAPABILITY,
            args: [KVM_PMU_CAP_DISABLE.into(), 0, 0, 0],
            ..kvm_enable_cap::default()
        });
        linux::load(&ram, files)?;
        let mut cpuid = self.cpuid.clone();
        linux::fit(cpuid.as_mut_slice());
        Ok(Vm { fd, cpuid, tables, ram, is_linux: true })
    }
}

/// Refuses RAM that a VM cannot have.
fn check_ram(bytes: u64) -> Result<(), Error> {
    match (RESERVED_BYTES..=RAM_MAX).contains(&bytes) {
        true => Ok(()),
        false => Err(Error::Ram { bytes }),
    }
}

/// All memory that a VM reaches.
#[derive(Clone, Debug)]
pub struct VmMemory {
    /// The tables that let its VCPUs execute: [`layout::TABLES_BYTES`](crate::TABLES_BYTES).
    pub tables: Memory,
    /// Its RAM.
    pub ram: Memory,
}

impl VmMemory {
    /// Makes memory in any frames, with RAM of this size.
    pub fn new(ram_bytes: u64) -> Result<Self, Error> {
        check_ram(ram_bytes)?;
        let memory = |name, bytes| {
            Memory::new(name, bytes).map_err(Error::io("there is no memory for a VM"))
        };
        let (tables, ram) = (memory("tables", layout::TABLES_BYTES)?, memory("ram", ram_bytes)?);
        Ok(Self { tables, ram })
    }
}

/// A virtual machine.
#[derive(Debug)]
pub struct Vm {
    // Closed before the memory goes.
    fd: VmFd,
    cpuid: CpuId,
    tables: Memory,
    ram: Memory,
    is_linux: bool,
}

/// The start of a VCPU.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The index of the VCPU.
    pub vcpu: usize,
    /// The address of its first instruction.
    pub entry: u64,
    /// The boot arguments.
    pub arguments: &'a str,
}

impl Vm {
    /// Puts bytes into the RAM.
    pub fn load(&self, what: &'static str, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let outside = Error::Outside { what, address };
        match address.checked_sub(RAM) {
            Some(offset) if offset >= RESERVED_BYTES && self.ram.contains(offset, bytes.len()) => {
                self.ram.write(offset, bytes);
                Ok(())
            }
            _ => Err(outside),
        }
    }

    /// Lets VCPUs that are made from now on see this cache in place of the last level that their CPU has.
    pub fn show(&mut self, cache: LastLevelCache) -> Result<(), Error> {
        match cache.show(self.cpuid.as_mut_slice()) {
            true => Ok(()),
            false => Err(Error::NoCaches),
        }
    }

    /// Makes a VCPU.
    pub fn vcpu(&self, start: Start<'_>) -> Result<Vcpu, Error> {
        let fd = self.fd.create_vcpu(start.vcpu as u64).map_err(Error::kvm("KVM makes no VCPU"))?;
        fd.set_cpuid2(&self.cpuid).map_err(Error::kvm("KVM refuses its own CPU features"))?;
        let mut special = fd.get_sregs().map_err(Error::kvm("KVM tells no registers"))?;
        let registers = match self.is_linux {
            true => linux::registers(&mut special),
            false => {
                layout::special_registers(&mut special);
                layout::registers(start.entry, start.vcpu)
            }
        };
        fd.set_sregs(&special).map_err(Error::kvm("KVM refuses registers"))?;
        fd.set_regs(&registers).map_err(Error::kvm("KVM refuses registers"))?;
        sys::show_host_time_stamp(&fd).map_err(Error::io(
            "KVM does not show the time-stamp counter of the host to a VM (Linux 5.16 and newer do)",
        ))?;
        if self.is_linux {
            return Ok(Vcpu::linux(fd, self.tables.clone(), self.ram.clone()));
        }
        let offset = block(start.vcpu) - RAM;
        let arguments = start.arguments.as_bytes();
        if arguments.len() as u64 > ARGUMENTS_MAX {
            return Err(Error::Outside { what: "the command line", address: block(start.vcpu) });
        }
        self.ram.write(offset, &[0; BLOCK_BYTES as usize]);
        self.ram.write(offset + ARGUMENTS_OFFSET, arguments);
        for (word, value) in [
            (VERSION_WORD, VERSION),
            (VCPU_WORD, start.vcpu as u64),
            (ARGUMENTS_WORD, arguments.len() as u64),
        ] {
            self.ram.set_word(offset + word as u64 * 8, value);
        }
        Ok(Vcpu::new(fd, self.tables.clone(), self.ram.clone(), offset))
    }
}
