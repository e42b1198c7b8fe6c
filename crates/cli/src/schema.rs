//! `bulkhead schema`: schemas with which editors complete and explain files.

use ::schema::Kind;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::failure::Failure;
use crate::json;
use crate::status::Status;

/// Print a JSON Schema, with which editors complete, explain and check files
///
/// Editors that know taplo (Even Better TOML in VS Code) read it if the first line of a file is
/// `#:schema ./description.json`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead schema description > description.json
  bulkhead schema platform > platform.json
  bulkhead schema experiment > experiment.json         for `bulkhead sweep`

Exit status: 0 printed, 2 bad input.")]
pub struct SchemaOptions {
    /// What the files describe
    #[arg(value_name = "KIND", value_parser = kind())]
    pub kind: Kind,
}

/// Reads `platform`.
fn kind() -> impl TypedValueParser<Value = Kind> {
    let named = |word: String| Kind::ALL.into_iter().find(|(name, _)| *name == word);
    let words = PossibleValuesParser::new(Kind::ALL.map(|(name, _)| name));
    words.try_map(move |word| named(word).map(|(_, kind)| kind).ok_or("expected another kind"))
}

/// Runs the command.
pub fn schema(options: &SchemaOptions) -> Result<Status, Failure> {
    json::print(&::schema::schema(options.kind))?;
    Ok(Status::Yes)
}
