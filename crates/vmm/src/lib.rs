//! Virtual machines of Linux/KVM on x86-64, and the threads and timers that run them: mechanism, and no decision.
//!
//! A [`Vm`] has RAM and VCPUs that start at CPL 3 in long mode, as [`abi::kvm`] says. [`Vcpu::run`] runs one in the calling
//! thread until it calls, until a signal comes, or until it cannot go on. A [`RealTime`] thread has an [`Alarm`] and can be
//! kicked ([`Kick`]): both end [`Vcpu::run`], also one that is about to begin, and [`RealTime::wait`]. So does a [`Counter`] of
//! memory accesses at its limit.
//!
//! A Linux ([`LinuxFiles`]) starts at CPL 0 on a PC of its own, whose devices [`Vcpu::run`] emulates.
//!
//! `unsafe` code is in the module `sys`, and nowhere else.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![deny(unsafe_code)]

mod claim;
mod clock;
mod counter;
mod error;
mod last_level_cache;
mod layout;
mod linux;
mod page_tables;
mod pagemap;
mod real_time;
mod segments;
#[allow(unsafe_code)]
mod sys;
mod system_calls;
mod vcpu;
mod vm;

pub use claim::Claim;
pub use clock::{Scale, now};
pub use counter::{Counter, Event};
pub use error::Error;
pub use last_level_cache::LastLevelCache;
pub use layout::TABLES_BYTES;
pub use linux::Files as LinuxFiles;
pub use page_tables::{Step, Tables, Walker};
pub use pagemap::Pagemap;
pub use real_time::{Alarm, Elsewhere, Kick, LockedMemory, RealTime, step_back};
pub use sys::candidates::{Candidates, PAGE};
pub use sys::memory::Memory;
pub use sys::movable::{Frame, Movable};
pub use sys::pins::Pins;
pub use sys::told::{tell_all, tell_page};
pub use system_calls::SystemCalls;
pub use vcpu::{Exit, Vcpu};
pub use vm::{Kvm, Start, Vm, VmMemory};
