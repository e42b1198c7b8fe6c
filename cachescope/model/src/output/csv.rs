//! Tables as comma-separated values.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::table::{Table, Values};

/// Writes a line of names and a line for each row. No value needs quotes.
pub fn write(table: &Table, file: File) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in 0..table.rows() {
        for (index, column) in table.columns.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            match &column.values {
                Values::Numbers(values) => write!(out, "{}", values[row])?,
                Values::MaybeNumbers(values) => {
                    if let Some(value) = values[row] {
                        write!(out, "{value}")?;
                    }
                }
                Values::Names(values) => out.write_all(values[row].as_bytes())?,
            }
        }
        writeln!(out)?;
    }
    out.flush()
}
