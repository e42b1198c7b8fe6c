//! Types of values, as schemas.

use serde_json::{Value, json};
use units::Quantity;

use crate::keys::Table;
use crate::page::{self, Page};

/// What a value can be.
pub enum Type {
    /// Text that is not empty.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number in a range.
    Whole(u64, u64),
    /// A text that matches this regular expression.
    Form(String),
    /// One of these words.
    Words(Vec<&'static str>),
    /// One of these, or a list of it.
    OneOrMore(Box<Type>),
    /// A list with at least one of these.
    List(Box<Type>),
    /// One of these types.
    Any(Vec<Type>),
    /// Times by number of cache colours.
    ByColors,
    /// `[table]`.
    Table(Table),
    /// `[[table]]`.
    Tables(Table),
}

impl Type {
    /// A number with a unit.
    pub fn quantity<Q: Quantity>() -> Self {
        let mut units: Vec<&str> = Q::UNITS.iter().map(|(unit, _)| *unit).collect();
        if units.contains(&"us") {
            // Both letters that look like it.
            units.extend(["µs", "μs"]);
        }
        let form =
            format!(r"^\s*[0-9_]*[0-9][0-9_]*(\.[0-9_]*[0-9_])?\s*({})\s*$", units.join("|"));
        Self::Form(form)
    }

    /// Any whole number.
    pub fn number() -> Self {
        Self::Whole(0, u64::MAX)
    }

    /// A word beside other values.
    pub fn or(self, word: &'static str) -> Self {
        Self::Any(vec![self, Self::Words(vec![word])])
    }

    /// Returns the table whose keys it has.
    #[cfg(test)]
    pub fn table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) | Self::Tables(table) => Some(table),
            Self::Any(types) => types.iter().find_map(Self::table),
            _ => None,
        }
    }

    /// Returns the schema of a value of the key `name`.
    pub fn schema(&self, page: &Page, name: &str) -> Value {
        match self {
            Self::Text => json!({ "type": "string", "minLength": 1 }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Whole(least, most) => {
                let mut schema = json!({ "type": "integer", "minimum": least });
                // TOML has no larger numbers.
                if *most <= i64::MAX as u64 {
                    schema["maximum"] = json!(most);
                }
                schema
            }
            Self::Form(form) => json!({ "type": "string", "pattern": form }),
            Self::Words(words) => json!({ "enum": words }),
            Self::OneOrMore(one) => {
                let one = one.schema(page, name);
                json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] })
            }
            Self::List(one) => {
                json!({ "type": "array", "minItems": 1, "items": one.schema(page, name) })
            }
            Self::Any(types) => {
                let types: Vec<Value> = types.iter().map(|it| it.schema(page, name)).collect();
                json!({ "anyOf": types })
            }
            Self::ByColors => {
                let time = Self::quantity::<units::Duration>().schema(page, name);
                json!({
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": false,
                    "patternProperties": { "^[0-9]*[1-9][0-9]*$": time },
                })
            }
            Self::Table(table) => table.schema(page, name),
            Self::Tables(table) => {
                json!({ "type": "array", "items": table.schema(page, name) })
            }
        }
    }
}

impl Table {
    /// Returns the schema of the table, whose keys have the texts of the page.
    pub fn schema(&self, page: &Page, place: &str) -> Value {
        let mut properties = serde_json::Map::new();
        for key in &self.keys {
            let name = page::inner(place, key.name);
            let mut schema = key.kind.schema(page, &name);
            if let Some(text) = page.text(&name) {
                schema["description"] = json!(text);
            }
            properties.insert(key.name.into(), schema);
        }
        let required: Vec<&str> =
            self.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
        let mut schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}
