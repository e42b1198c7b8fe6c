//! Page colouring: partitions of a physically indexed cache by address.
//!
//! A [`Geometry`] has the address bits that are the colour of a page. Memory is then allocated by
//! colour: page by page ([`FrameAllocator`]), or a region at once ([`RegionMaps`]). A
//! [`VirtualLlc`] shows a VM its colours as a cache of its own, and a [`Pool`] gives colours to the
//! tasks of a VM at run time.
//!
//! ```
//! use policy::color::{Cache, Color, FrameAllocator, Geometry, IndexBits, Rotation};
//!
//! let llc = Cache::new(1 << 20, 16, 64)?; // Cortex-A53 as QEMU shows it
//! let geometry = Geometry::new(llc, 4096, IndexBits::AbovePage)?;
//! assert_eq!(geometry.to_string(), "16 colours, address bits [15:12]");
//!
//! let ram = [0x4000_0000..0x4010_0000];
//! let kernel = [0x4000_0000..0x4000_2000];
//! let mut storage = [0; 16];
//! let mut frames = FrameAllocator::new(geometry, &ram, &kernel, &mut storage)?;
//!
//! let mut mine = Rotation::new("0-1".parse()?);
//! assert_eq!(frames.allocate_next(&mut mine), Ok(0x4001_0000)); // colour 0
//! assert_eq!(frames.allocate_next(&mut mine), Ok(0x4001_1000)); // colour 1
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources, as they are cited here:
//! - *vCache*: H. Kim and R. Rajkumar, "Predictable Shared Cache Management for Multi-Core
//!   Real-Time Virtualization", ACM TECS 17(1), 2017;
//! - *XvIso*: P. Modica, A. Biondi, G. Buttazzo and A. Patel, "Supporting Temporal and Spatial
//!   Isolation in a Hypervisor for ARM Multicore Platforms", IEEE ICIT 2018.

mod area;
mod bitmap;
mod cache;
mod demand;
mod frames;
mod geometry;
mod layout;
mod pool;
mod regions;
mod registers;
mod set;
mod stripe;
mod vllc;

pub use area::Area;
pub use cache::{Cache, CacheError};
pub use demand::{Demand, Shortage};
pub use frames::{FrameAllocator, FreeError, OutOfFrames, Rotation};
pub use geometry::{Geometry, GeometryError, IndexBits, UnknownColors};
pub use layout::RamError;
pub use pool::{Choice, Place, Pool, RequestError, Return, Slot};
pub use regions::{Map, Placement, Region, RegionError, RegionMaps};
pub use registers::{Ccsidr, CcsidrFormat, Clidr, ClidrError, TooManySets};
pub use set::{COLORS_MAX, Color, ColorSet, ParseColorsError, ParseProblem, Run};
pub use stripe::{Stripe, StripeError};
pub use vllc::{VirtualLlc, VllcError};
