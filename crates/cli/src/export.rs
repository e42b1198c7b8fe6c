//! `bulkhead export`: the configuration of other systems out of a plan.

use std::fs;
use std::path::{Path, PathBuf};

use export::{Export, File, Refusal, Target};
use lab::load;
use serde::Serialize;
use system::plan::Plan;

use crate::arguments::ExportOptions;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Runs the command.
pub fn export(options: &ExportOptions, as_json: bool) -> Result<Status, Failure> {
    let mut system = match options.to.takes_outlines() {
        true => load::outlined(&options.file)?,
        false => load::plan(&options.file)?,
    };
    let folder = match options.output.as_deref() {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.to_owned()),
        None => Some(beside(&options.file, options.to)),
    };
    let platform = system.platform.clone();
    let write = |plan: &Plan| {
        let impossible = |refusal: Refusal| Failure::Impossible(refusal.to_string());
        export::export(plan, platform.as_ref(), options.to).map_err(impossible)
    };
    let mut export = write(&system.plan)?;
    if let Some(folder) = &folder {
        // Paths of kernels are read from where the configuration lies, which has to be there.
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        system.plan.move_files(&system.folder, folder)?;
        export = write(&system.plan)?;
        for file in &export.files {
            image::write(&folder.join(&file.name), file.text.as_bytes())?;
        }
    }
    if as_json {
        json::print(&Document {
            ok: true,
            name: &system.plan.name,
            folder: folder.map(|folder| folder.display().to_string()),
            export: &export,
        })?;
    } else {
        output::print(&match folder {
            Some(folder) => summary(&export, &folder),
            None => export.files.iter().map(shown).collect(),
        })?;
    }
    Ok(Status::Yes)
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    name: &'a str,
    folder: Option<String>,
    #[serde(flatten)]
    export: &'a Export,
}

/// The folder if none is named: `demo.xen` beside `demo.toml` or `demo.plan.dts`.
fn beside(file: &Path, target: Target) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let endings = [".toml", ".plan.dts", ".dts", ".plan.dtb", ".dtb"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    file.with_file_name(format!("{stem}.{target}"))
}

fn failed(folder: &Path, error: &std::io::Error) -> Failure {
    let folder = folder.display();
    Failure::file(
        "output",
        format!("cannot create the folder {folder}: {error}\nhelp: name another with `-o DIR`"),
    )
}

/// A file as it is shown when it is not written.
fn shown(file: &File) -> String {
    format!("==> {} <==\n{}\n", file.name, file.text)
}

fn summary(export: &Export, folder: &Path) -> String {
    let name = |file: &File| format!("  {}\n", file.name);
    let files: String = export.files.iter().map(name).collect();
    let mut text = format!("wrote into {}\n{files}", folder.display());
    let mut list = |heading: String, sentences: &[String]| {
        if !sentences.is_empty() {
            text += &format!("\n{heading}:\n");
            text.extend(sentences.iter().map(|sentence| format!("- {sentence}\n")));
        }
    };
    let target = export.target.name();
    list(format!("Parts of the plan that {target} does not enforce"), &export.missing);
    list("What is left to do".into(), &export.left);
    text
}
