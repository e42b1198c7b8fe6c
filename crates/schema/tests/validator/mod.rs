//! The part of JSON Schema that our schemas use. What it does not know, it refuses.

use regex::Regex;
use serde_json::Value;

/// Returns what is wrong with a value.
pub fn mistakes(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "", &mut found);
    found
}

fn check(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().expect("a schema") {
        let is_right = match keyword.as_str() {
            "$schema" | "title" | "description" | "default" | "properties" => true,
            "type" => match rule {
                Value::Array(types) => types.iter().any(|it| is(it, value)),
                one => is(one, value),
            },
            "enum" => rule.as_array().expect("a list").contains(value),
            "minLength" => value.as_str().is_none_or(|it| it.len() as u64 >= number(rule)),
            "pattern" => value.as_str().is_none_or(|it| matches(rule.as_str(), it)),
            "minimum" => value.as_f64().is_none_or(|it| it >= rule.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|it| it <= rule.as_f64().expect("a number")),
            "minItems" => value.as_array().is_none_or(|it| it.len() as u64 >= number(rule)),
            "maxItems" => value.as_array().is_none_or(|it| it.len() as u64 <= number(rule)),
            "minProperties" => value.as_object().is_none_or(|it| it.len() as u64 >= number(rule)),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, item, &format!("{at}[{index}]"), found);
                }
                true
            }
            "anyOf" => {
                rule.as_array().expect("a list").iter().any(|it| mistakes(it, value).is_empty())
            }
            "allOf" => {
                rule.as_array().expect("a list").iter().all(|it| mistakes(it, value).is_empty())
            }
            "required" => {
                let keys = rule.as_array().expect("a list").iter().filter_map(Value::as_str);
                value.as_object().is_none_or(|it| keys.into_iter().all(|key| it.contains_key(key)))
            }
            "additionalProperties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    let at = format!("{at}.{key}");
                    match of_key(schema, key) {
                        Some(schema) => check(schema, inner, &at, found),
                        None => found.push(format!("{at} is unknown")),
                    }
                }
                *rule == Value::Bool(false)
            }
            "patternProperties" => true,
            unknown => panic!("`{unknown}` is not known here"),
        };
        if !is_right {
            found.push(format!("{at}: {value} breaks {keyword}: {rule}"));
        }
    }
}

fn of_key<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    let mut patterns = schema["patternProperties"].as_object().into_iter().flatten();
    let named = schema["properties"].get(key);
    named.or_else(|| Some(patterns.find(|(form, _)| matches(Some(form), key))?.1))
}

fn matches(form: Option<&str>, text: &str) -> bool {
    Regex::new(form.expect("a pattern")).expect("a regular expression").is_match(text)
}

fn number(rule: &Value) -> u64 {
    rule.as_u64().expect("a number")
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("a word") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        unknown => panic!("`{unknown}` is not known here"),
    }
}
