//! Device tree source: the writer, and a reader for what plans need of it.

mod lexer;
mod parser;
mod printer;

pub(super) use parser::parse;
pub(super) use printer::print;
