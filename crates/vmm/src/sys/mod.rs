//! All `unsafe` code: memory that guests change, and calls of the system that no crate offers.

pub mod candidates;
pub mod counter;
pub mod guest_memory;
pub mod memory;
pub mod movable;
pub mod pins;
pub mod refused;
pub mod thread;
pub mod told;

use std::mem;
use std::os::fd::AsRawFd;

use kvm_bindings::{
    KVM_VCPU_TSC_CTRL, KVM_VCPU_TSC_OFFSET, kvm_device_attr, kvm_interrupt,
    kvm_userspace_memory_region,
};
use kvm_ioctls::{VcpuFd, VmFd};
use memory::Memory;

/// `_IOW(KVMIO, 0xe1, struct kvm_device_attr)`; kvm-ioctls has it for VCPUs of other architectures only.
const SET_DEVICE_ATTR: libc::Ioctl = 0x4018_aee1;
/// `_IOW(KVMIO, 0x86, struct kvm_interrupt)`, which kvm-ioctls does not have.
pub const INTERRUPT: libc::Ioctl = 0x4004_ae86;

/// Returns the time-stamp counter.
pub fn time_stamp() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction, and Linux lets programs use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Gives memory to a VM. The memory must live as long as the VM: callers keep it with the VM and its VCPUs.
pub fn give(vm: &VmFd, slot: u32, address: u64, memory: &Memory) -> Result<(), kvm_ioctls::Error> {
    let region = kvm_userspace_memory_region {
        slot,
        flags: 0,
        guest_phys_addr: address,
        memory_size: memory.bytes(),
        userspace_addr: memory.address(),
    };
    // SAFETY: the region is a whole mapping, which nothing but guests and `Memory` accesses, both without references to it.
    // If it were unmapped too early, KVM would end the VCPU with an error and touch nothing else, because it looks the
    // pages up in the address space of this process; nobody maps other memory there, because `Vm` and `Vcpu` keep it.
    unsafe { vm.set_user_memory_region(region) }
}

/// Lets the guest see the time-stamp counter of the host.
pub fn show_host_time_stamp(vcpu: &VcpuFd) -> std::io::Result<()> {
    let offset = 0u64;
    let attribute = kvm_device_attr {
        flags: 0,
        group: KVM_VCPU_TSC_CTRL,
        attr: u64::from(KVM_VCPU_TSC_OFFSET),
        addr: &raw const offset as u64,
    };
    // SAFETY: the argument is of the type that the number of the call asks for, and points to a number that lives through
    // the call, which reads both and keeps neither.
    let result = unsafe { libc::ioctl(vcpu.as_raw_fd(), SET_DEVICE_ATTR, &raw const attribute) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Lets a VCPU of a VM without interrupt controller take an interrupt when it executes next.
pub fn interrupt(vcpu: &VcpuFd, vector: u8) -> std::io::Result<()> {
    let interrupt = kvm_interrupt { irq: vector.into() };
    // SAFETY: the argument is of the type that the number of the call asks for, and lives through the call, which reads it.
    let result = unsafe { libc::ioctl(vcpu.as_raw_fd(), INTERRUPT, &raw const interrupt) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Returns the process that listens at the other end of a local socket, if this process can see it.
pub fn peer(socket: &impl AsRawFd) -> Option<i32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut bytes = mem::size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the call writes up to as many bytes as it is told into a structure of numbers, which lives through it.
    let result = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut peer).cast(), &raw mut bytes)
    };
    // It is 0 for a process of another namespace.
    (result == 0 && peer.pid > 0).then_some(peer.pid)
}
