//! `bulkhead init`: a system to begin with.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lab::template::{TEMPLATES, Template};
use serde::Serialize;

use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Write a system to begin with: a description, and the guests that it boots
///
/// The folder then contains `system.toml` and all files that it names; you can move the folder. The command replaces
/// no existing file.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead init first                              a system and its guests, in the folder first
  bulkhead init ecus --template two-ecus

Exit status: 0 written, 2 bad input, or a file is in the way.")]
pub struct InitOptions {
    /// The folder; the command makes it if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// The system; without this option, the first of these whose guests are installed or built
    #[arg(long, value_name = "NAME", value_parser = template())]
    pub template: Option<Template>,
}

/// Reads `two-ecus`.
fn template() -> impl TypedValueParser<Value = Template> {
    let named = |word: String| TEMPLATES.into_iter().find(|template| template.name == word);
    let words = TEMPLATES.map(|it| PossibleValue::new(it.name).help(it.about));
    let words = PossibleValuesParser::new(words);
    words.try_map(move |word| named(word).ok_or("expected another template"))
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'t> {
    ok: bool,
    template: &'t str,
    files: Vec<String>,
    /// Command lines without the name of the program, to be executed in the folder.
    next: &'t [&'t str],
}

/// Runs the command.
pub fn init(options: &InitOptions, as_json: bool) -> Result<Status, Failure> {
    let template = &options.template.unwrap_or_else(Template::usable);
    let files = template.write(&options.folder)?;
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    if as_json {
        json::print(&Document { ok: true, template: template.name, files, next: template.next })?;
        return Ok(Status::Yes);
    }
    let mut text = format!("{}: {}\n", template.name, template.about);
    if options.template.is_none() && template.name != TEMPLATES[0].name {
        let (first, this) = (TEMPLATES[0].name, template.name);
        text.push_str(&format!("`{this}` was chosen: the guests of `{first}` are not here\n"));
    }
    files.iter().for_each(|file| text.push_str(&format!("wrote {file}\n")));
    text.push_str("next:\n");
    if options.folder.as_os_str() != "." {
        text.push_str(&format!("  cd {}\n", options.folder.display()));
    }
    template.next.iter().for_each(|next| text.push_str(&format!("  bulkhead {next}\n")));
    output::print(&text)?;
    Ok(Status::Yes)
}
