//! The processor: registers, page tables, interrupts.
