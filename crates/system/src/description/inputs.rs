//! The files that a description names.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Value};

/// Returns the files that the text of a description names, as far as they are there: of guests, of the platform, and
/// any other; `folder` is where its paths start. None if the text is not TOML.
pub fn inputs(text: &str, folder: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    if let Ok(document) = text.parse::<DocumentMut>() {
        of_item(document.as_item(), &mut names);
    }
    names.into_iter().map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}

fn of_item(item: &Item, names: &mut Vec<String>) {
    match item {
        Item::None => {}
        Item::Value(value) => of_value(value, names),
        Item::Table(table) => table.iter().for_each(|(_, item)| of_item(item, names)),
        Item::ArrayOfTables(tables) => {
            tables.iter().flatten().for_each(|(_, item)| of_item(item, names));
        }
    }
}

fn of_value(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::String(name) => names.push(name.value().clone()),
        Value::Array(values) => values.iter().for_each(|value| of_value(value, names)),
        Value::InlineTable(table) => table.iter().for_each(|(_, value)| of_value(value, names)),
        _ => {}
    }
}
