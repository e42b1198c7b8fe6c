//! Device tree source: the writer, and a reader for the part that plans need.

mod lexer;
mod parser;
mod printer;

pub(super) use parser::parse;
pub(super) use printer::print;
