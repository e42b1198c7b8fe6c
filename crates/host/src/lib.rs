//! A Linux host that runs the VMs of a plan under KVM.
//!
//! - [`machine`] runs them: one thread with the policy `SCHED_FIFO` for each PCPU asks the same scheduler as the hypervisor
//!   ([`policy::cpu`]) which VCPU runs, and runs it until its budget ends, it waits, or another one comes first. While VMs run,
//!   such a thread waits for no other thread and allocates nothing: what it tells and records goes through rings without locks.
//!   It makes only the system calls that it needs ([`vmm::SystemCalls`]). Another thread, without that policy, restarts VMs.
//!   It changes nothing of the host but the threads of this process and memory that is locked, so that nothing has to be
//!   restored. A CPU has the VCPUs of one run at a time ([`vmm::Claim`]).
//! - [`colors`] chooses the frames of VMs with page colours.
//! - [`partition`] gives CPUs parts of the last-level cache and of the memory bandwidth, by files of Linux: the only change of the
//!   host, which is undone.
//! - [`survey`] looks at the host, and says what it lacks for times that can be trusted.

#![forbid(unsafe_code)]

pub mod colors;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod machine;
pub mod partition;
pub mod survey;

/// Priority of the threads of PCPUs, among those with real-time policies: below the kernel's own highest ones.
const PRIORITY: u8 = 80;
