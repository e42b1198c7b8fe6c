//! The description of a Bulkhead system, and the plan that is made from it.
//!
//! - [`description`]: the file that the author of a system writes, in TOML;
//! - [`platform`]: machines, and the boards that are known by name;
//! - [`plan`]: all decisions for the hypervisor; as a device tree in text and bytes;
//! - [`decided`]: the decisions of the planner, in the text of a description;
//! - [`report`]: a summary of both;
//! - [`diagnostic`]: mistakes in an input, with their places and remedies;
//! - [`suggest`]: which name was meant by one with a typo;
//! - [`address`]: addresses, ranges of them, and the numbers of PCPUs and interrupts.
//!
//! # Example
//!
//! ```
//! use std::path::Path;
//!
//! use system::description::System;
//! use system::plan::{self, Plan};
//! use system::report::Report;
//!
//! let text = r#"
//! platform = "qemu-virt"
//!
//! [[vm]]
//! name = "rt"
//! boot = "raw"
//! memory = "16MiB"
//! kernel = "rt.bin"
//!
//! [[vm.task]]
//! name = "control"
//! period = "5ms"
//! wcet = "0.5ms"
//! "#;
//! let system = System::from_toml("demo.toml", text, Path::new("."))?;
//! let plan = plan::make(&system)?;
//! assert_eq!(plan.vms[0].vcpus[0].pcpu.0, 0);
//!
//! // The plan is written for people and for the hypervisor, and read back.
//! assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts())?, plan);
//! assert_eq!(Plan::from_dtb(&plan.to_dtb())?, plan);
//!
//! let report = Report::new(&system, Some(&plan));
//! assert_eq!(report.vms[0].vcpus[0].utilization_ppm, 100_000);
//!
//! // All mistakes are found at once; each says where it is and what to do.
//! let text = text.replace("5ms", "5").replace("memory", "memry");
//! let errors = System::from_toml("demo.toml", &text, Path::new(".")).unwrap_err();
//! let shown = errors.to_string();
//! assert!(shown.contains("demo.toml:7:1"));
//! assert!(shown.contains("did you mean `memory`?"));
//! assert!(shown.contains("add a unit, `ns`, `us`, `ms` or `s`: \"5ms\""));
//! # Ok::<(), system::diagnostic::Errors>(())
//! ```

#![forbid(unsafe_code)]

pub mod address;
pub mod decided;
pub mod description;
pub mod diagnostic;
mod document;
pub mod plan;
pub mod platform;
pub mod report;
pub mod suggest;
