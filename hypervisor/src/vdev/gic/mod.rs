//! Virtual GICv3.
