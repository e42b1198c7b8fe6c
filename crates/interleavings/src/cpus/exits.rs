pub mod interrupt;

use crate::pcpu::Pcpu;

pub fn late_error(_: &'static Pcpu) {}
