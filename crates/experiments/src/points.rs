//! The places at which values are measured.

use serde::Deserialize;

/// Places in the order of the figure: numbers as `"1,2,8-512/8"` (from, to,
/// step), or a list of names.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "Written")]
pub struct Points(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Numbers(String),
    Names(Vec<String>),
}

/// More places than this are a mistake.
const MANY: u64 = 10_000;

impl TryFrom<Written> for Points {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Names(names) => Ok(Self(names)),
            Written::Numbers(text) => {
                let items: Result<Vec<_>, _> = text.split(',').map(item).collect();
                Ok(Self(items?.concat()))
            }
        }
    }
}

/// Reads `7`, `1-4` or `8-512/8`.
fn item(text: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{text}` is no number and no range such as 1-4 or 8-512/8");
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, number(step)?),
        None => (text, 1),
    };
    let (from, to) = match range.split_once('-') {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(range)?, number(range)?),
    };
    if step == 0 || to < from || (to - from) / step > MANY {
        return Err(wrong());
    }
    Ok((from..=to).step_by(step as usize).map(|number| number.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(toml: &str) -> Result<Vec<String>, String> {
        #[derive(Deserialize)]
        struct Document {
            x: Points,
        }
        toml::from_str::<Document>(toml).map(|it| it.x.0).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_ranges_and_names_are_read() {
        let expected: Vec<String> = ["1", "8", "16", "24"].map(String::from).into();
        assert_eq!(points("x = \"1,8-24/8\""), Ok(expected));
        assert_eq!(points("x = [\"a, b\"]"), Ok(vec!["a, b".into()]));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["x", "1-", "4-1", "1-9/0", "0-18446744073709551615"] {
            let error = points(&format!("x = {text:?}")).expect_err(text);
            assert!(error.contains("such as 1-4"), "{error}");
        }
        assert!(points("x = ''").is_err());
    }
}
