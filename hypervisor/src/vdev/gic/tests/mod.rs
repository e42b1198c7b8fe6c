//! The virtual interrupt controller on a model of the machine.

mod attention;
mod banked;
mod delivery;
mod lifecycle;
mod machine;
mod overflow;
mod places;
mod random;
mod reference;
mod registers;
mod vm;
mod withdrawal;
