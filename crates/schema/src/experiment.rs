//! The schema of experiments: keys and types are those of the parameters that hold where nothing is said.

use serde::Serialize;
use serde_json::{Map, Value, json};
use sweep::{allocation, locks, servers};

const PAGE: &str = include_str!("../../../docs/how-to/sweep.md");

/// Returns the schema.
pub fn schema() -> Value {
    let mut grid = Map::new();
    let parameters = [
        allocation::Settings::PARAMETERS,
        locks::Settings::PARAMETERS,
        servers::Settings::PARAMETERS,
    ];
    for parameter in parameters.concat() {
        let number = json!({ "type": "number" });
        let value = json!({ "type": ["number", "string"] });
        grid.insert(
            parameter.into(),
            json!({ "anyOf": [
                { "type": "array", "minItems": 1, "items": value },
                table(&[("from", number.clone()), ("to", number.clone()), ("step", number)], true),
            ] }),
        );
    }
    let count = json!({ "type": "integer", "minimum": 1 });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["title", "seed", "systems"],
        "properties": {
            "title": { "type": "string" },
            "seed": { "type": "integer", "minimum": 0, "description": "seed of all random numbers" },
            "systems": { "allOf": [count.clone()], "description": "systems at each point of the grid" },
            "systems_per_shard": { "allOf": [count], "description": "systems that are computed at a time; default: 50" },
            "grid": {
                "type": "object",
                "additionalProperties": false,
                "properties": grid,
                "description": "parameters that differ: all combinations; the last one changes fastest",
            },
            "allocation": settings("allocation", &allocation::Settings::default()),
            "locks": settings("locks", &locks::Settings::default()),
            "servers": settings("servers", &servers::Settings::default()),
        },
    })
}

/// Returns the schema of a table with these parameters.
fn settings(name: &str, defaults: &impl Serialize) -> Value {
    let defaults = serde_json::to_value(defaults).unwrap_or_default();
    let mut properties = Vec::new();
    for (key, default) in defaults.as_object().into_iter().flatten() {
        let row = row(name, key);
        let mut schema = match default {
            Value::String(_) => json!({ "enum": SERVERS }),
            Value::Array(list) if list.is_empty() => schemes(name, row),
            Value::Array(_) => json!({
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": { "type": "integer", "minimum": 0 },
            }),
            Value::Number(number) if number.is_f64() => json!({ "type": "number", "minimum": 0 }),
            _ => json!({ "type": "integer", "minimum": 0 }),
        };
        if let Some(text) = row.and_then(|row| row.rsplit(" | ").next()) {
            schema["description"] = json!(text.trim_end_matches([' ', '|']));
        }
        if !default.is_null() && default.as_array().is_none_or(|list| !list.is_empty()) {
            schema["default"] = default.clone();
        }
        properties.push((key.as_str(), schema));
    }
    table(&properties, false)
}

/// Kinds of servers.
const SERVERS: [&str; 3] = ["periodic", "deferrable", "sporadic"];

/// Returns the schema of the list of what is compared.
fn schemes(name: &str, row: Option<&str>) -> Value {
    let scheme = match name {
        "locks" => {
            let server = json!({ "enum": SERVERS[..2] });
            let mut scheme = table(
                &[
                    ("server", server.clone()),
                    ("overrun", json!({ "type": "boolean" })),
                    ("analysis", json!({ "enum": ["published", "sound"] })),
                ],
                true,
            );
            scheme["properties"]["budgets"] = server;
            scheme
        }
        _ => {
            let words: Vec<&str> = row.unwrap_or_default().split('"').skip(1).step_by(2).collect();
            json!({ "enum": words })
        }
    };
    json!({ "type": "array", "minItems": 1, "items": scheme })
}

fn table(properties: &[(&str, Value)], are_required: bool) -> Value {
    let all: Map<String, Value> =
        properties.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let required: Vec<&String> = if are_required { all.keys().collect() } else { Vec::new() };
    json!({ "type": "object", "additionalProperties": false, "required": required, "properties": all })
}

/// Returns the row of a parameter in the table of the page.
fn row(table: &str, key: &str) -> Option<&'static str> {
    let (_, rest) = PAGE.split_once(&format!("### `[{table}]`"))?;
    let rest = rest.split("\n### ").next()?;
    let quoted = format!("`{key}`");
    rest.lines().find(|line| {
        let first = line.strip_prefix("| ").and_then(|line| line.split(" | ").next());
        first.is_some_and(|first| first.contains(&quoted))
    })
}
