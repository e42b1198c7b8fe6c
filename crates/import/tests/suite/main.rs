//! Descriptions out of configurations of Xen and Jailhouse.

mod jailhouse;
mod support;
mod xl;
