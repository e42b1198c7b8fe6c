//! Writes a platform file out of the device tree with which Linux boots on a board.
//!
//! The values in the tree are taken from it; for values that it does not state the file has a comment that says what to fill
//! in, and one for values that have no place in the file.
//! [`import`] never invents a value.

#![forbid(unsafe_code)]

mod amount;
mod board;
mod caches;
mod console;
mod left;
mod text;
mod tree;

use thiserror::Error;

/// The reason why there is no platform file.
#[derive(Debug, Error)]
pub enum Error {
    /// The bytes are no device tree.
    #[error(
        "this is not a flattened device tree: {0}\nhelp: Linux has the one of a board in /sys/firmware/fdt; `dtc -O dtb` compiles a .dts"
    )]
    NotATree(String),
    /// The tree describes no machine.
    #[error(
        "the device tree has no {0}\nhelp: give the tree with which Linux boots, not an overlay"
    )]
    Lacks(&'static str),
}

/// A platform file.
#[derive(Debug)]
pub struct Imported {
    /// Its text, in TOML.
    pub text: String,
    /// Values that the tree does not state: each is a comment in the text, too.
    pub open: Vec<String>,
    /// Parts that the tree has and the file has not, with the reason: each is a comment in the text, too.
    pub left: Vec<(String, String)>,
}

/// Returns the platform file for the machine of this flattened device tree.
///
/// # Errors
///
/// See [`enum@Error`].
pub fn import(bytes: &[u8]) -> Result<Imported, Error> {
    let root = tree::read(bytes)?;
    Ok(text::write(&board::Board::of(&root)?))
}
