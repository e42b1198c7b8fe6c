//! The tables that cachescope writes.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Reads all rows of a table; columns that `T` does not have are left out.
///
/// # Errors
///
/// The file cannot be read, or a row is not as expected.
pub fn rows<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, Failure> {
    let rows = csv::Reader::from_path(file).and_then(|mut file| file.deserialize().collect());
    rows.map_err(|error: csv::Error| {
        Failure::file("cannot-read", format!("cannot read {}: {error}", file.display()))
    })
}
