//! Kinds of servers in files, by their names.

use analysis::Kind;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const NAMES: [&str; 3] = {
    let [first, second, third] = Kind::ALL;
    [first.name(), second.name(), third.name()]
};

/// The names of servers that may overrun their budgets.
const OVERRUNNING: [&str; 2] = {
    let [first, second, _] = NAMES;
    [first, second]
};

/// Writes a kind.
pub fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    kind.name().serialize(serializer)
}

/// Reads a kind.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    named(&String::deserialize(deserializer)?, &NAMES)
}

/// Servers that may overrun their budgets: the analyses of critical sections know no others.
pub mod overrunning {
    use super::{Deserialize, Deserializer, Kind, OVERRUNNING, named};

    pub use super::serialize;

    /// Reads a kind.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        named(&String::deserialize(deserializer)?, &OVERRUNNING)
    }
}

/// Servers that may overrun their budgets, or none.
pub mod overrunning_or_none {
    use super::{Deserialize, Deserializer, Kind, OVERRUNNING, Serialize, Serializer, named};

    /// Writes a kind.
    pub fn serialize<S: Serializer>(kind: &Option<Kind>, serializer: S) -> Result<S::Ok, S::Error> {
        kind.map(Kind::name).serialize(serializer)
    }

    /// Reads a kind.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Kind>, D::Error> {
        let name = Option::<String>::deserialize(deserializer)?;
        name.map(|name| named(&name, &OVERRUNNING)).transpose()
    }
}

fn named<E: de::Error>(name: &str, known: &'static [&'static str]) -> Result<Kind, E> {
    let kind = Kind::named(name).filter(|kind| known.contains(&kind.name()));
    kind.ok_or_else(|| E::unknown_variant(name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_may_overrun_are_those_of_the_policy() {
        let may = Kind::ALL.into_iter().filter(|kind| kind.may_overrun());
        assert!(may.map(Kind::name).eq(OVERRUNNING));
    }
}
