//! The format of tables.

/// The format in which tables are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// Comma-separated values, one line of names.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Both.
    Both,
}

impl Format {
    /// The format with this name: `csv`, `parquet` or `both`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "both" => Some(Self::Both),
            _ => None,
        }
    }

    /// Returns true if this build can write it.
    pub const fn is_built_in(self) -> bool {
        matches!(self, Self::Csv) || cfg!(feature = "parquet")
    }
}
