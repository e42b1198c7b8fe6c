//! Drivers of board devices.
