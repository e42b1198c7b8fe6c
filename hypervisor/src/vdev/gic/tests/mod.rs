//! The virtual interrupt controller on a model of the machine.

mod attention;
mod banked;
mod delivery;
mod devices;
mod lifecycle;
mod looked_at;
mod machine;
mod overflow;
mod places;
mod random;
mod reference;
mod registers;
mod vm;
mod withdrawal;
