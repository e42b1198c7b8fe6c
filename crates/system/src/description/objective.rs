//! The objective of a plan.

use std::fmt;
use std::str::FromStr;

/// Names of objectives, as they are written.
pub const NAMES: [&str; 4] = ["least-time", "most-slack", "fewest-pcpus", "most-bandwidth"];
/// The largest weight.
const WEIGHT_MAX: u32 = 1_000;
/// The sentence that every help contains.
const EXPECTED: &str = "expected `least-time`, `most-slack`, `fewest-pcpus`, or `most-bandwidth=` \
                        with the name of a VM; or several of them, each with a weight, as in \
                        `least-time=2,most-slack=1`";

/// One thing that a plan can be best at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Aim {
    /// Little processor time for all VCPUs together.
    LeastTime,
    /// A large factor by which all execution times can grow.
    MostSlack,
    /// Few PCPUs on which VCPUs run.
    FewestPcpus,
    /// A large limit of memory accesses for the VM of this name.
    MostBandwidth(String),
}

impl Aim {
    fn name(&self) -> &'static str {
        match self {
            Self::LeastTime => NAMES[0],
            Self::MostSlack => NAMES[1],
            Self::FewestPcpus => NAMES[2],
            Self::MostBandwidth(_) => NAMES[3],
        }
    }
}

/// `most-bandwidth=linux`.
impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MostBandwidth(vm) => write!(f, "{}={vm}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

/// The objective of a plan: one aim, or several aims with weights.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Objective {
    /// This one.
    Only(Aim),
    /// Two or more, each once, with weights from 1 to 1,000.
    Weighted(Vec<(Aim, u32)>),
}

impl Objective {
    /// Returns all that counts.
    pub fn aims(&self) -> impl Iterator<Item = &Aim> {
        let (only, weighted) = match self {
            Self::Only(aim) => (Some(aim), &[][..]),
            Self::Weighted(aims) => (None, &aims[..]),
        };
        only.into_iter().chain(weighted.iter().map(|(aim, _)| aim))
    }

    /// Returns the VM whose limit of memory accesses is to be large, if there is one.
    pub fn vm(&self) -> Option<&str> {
        self.aims().find_map(|aim| match aim {
            Aim::MostBandwidth(vm) => Some(vm.as_str()),
            _ => None,
        })
    }
}

/// `least-time=2,most-slack=1`.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only(aim) => aim.fmt(f),
            Self::Weighted(aims) => {
                let all: Vec<String> =
                    aims.iter().map(|(aim, weight)| format!("{aim}={weight}")).collect();
                f.write_str(&all.join(","))
            }
        }
    }
}

/// Reads `most-slack`, `most-bandwidth=linux`, or `least-time=2,most-bandwidth=linux=1`.
impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<(Aim, Option<u32>)> =
            text.split(',').map(|part| aim(part.trim())).collect::<Result<_, _>>()?;
        if let [(only, _)] = &parts[..] {
            return Ok(Self::Only(only.clone()));
        }
        for (index, (aim, weight)) in parts.iter().enumerate() {
            let name = aim.name();
            if parts[..index].iter().any(|(other, _)| other.name() == name) {
                return Err(match aim {
                    Aim::MostBandwidth(_) => {
                        "one VM can have `most-bandwidth`: the limits of two exclude each other"
                            .into()
                    }
                    _ => format!("`{name}` is there twice"),
                });
            }
            if weight.is_none() {
                return Err(format!(
                    "`{aim}` has no weight: several objectives exclude each other without, \
                     so write `{aim}=1`"
                ));
            }
        }
        let weighted = parts.into_iter().map(|(aim, weight)| (aim, weight.unwrap_or(1)));
        Ok(Self::Weighted(weighted.collect()))
    }
}

/// Reads one objective, with its weight if it has one.
fn aim(text: &str) -> Result<(Aim, Option<u32>), String> {
    let (name, rest) = match text.split_once('=') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let plain = match name {
        "least-time" => Aim::LeastTime,
        "most-slack" => Aim::MostSlack,
        "fewest-pcpus" => Aim::FewestPcpus,
        "most-bandwidth" => {
            let (vm, number) = match rest.unwrap_or_default().split_once('=') {
                Some((vm, number)) => (vm, Some(number)),
                None => (rest.unwrap_or_default(), None),
            };
            if vm.is_empty() {
                return Err(EXPECTED.into());
            }
            return Ok((Aim::MostBandwidth(vm.into()), number.map(weight).transpose()?));
        }
        _ => return Err(EXPECTED.into()),
    };
    Ok((plain, rest.map(weight).transpose()?))
}

fn weight(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight));
    number.ok_or_else(|| {
        format!(
            "`{}` is no weight: it is a whole number from 1 to {WEIGHT_MAX}",
            text.escape_debug()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_read_as_they_are_written() {
        for text in [
            "least-time",
            "most-slack",
            "fewest-pcpus",
            "most-bandwidth=linux",
            "least-time=2,most-slack=1",
            "most-slack=1000,most-bandwidth=linux=3,fewest-pcpus=7",
        ] {
            assert_eq!(text.parse::<Objective>().map(|it| it.to_string()), Ok(text.into()));
        }
        // A weight alone weighs nothing.
        assert_eq!("most-slack=7".parse(), Ok(Objective::Only(Aim::MostSlack)));
        assert_eq!(" least-time=1, most-slack=1 ".parse::<Objective>().unwrap().aims().count(), 2);
    }

    #[test]
    fn what_is_no_objective_is_refused() {
        for (text, part) in [
            ("", "fewest-pcpus"),
            ("fast", "most-slack"),
            ("most-bandwidth", "most-bandwidth="),
            ("most-bandwidth=", "most-bandwidth="),
            ("least-time=0", "`0` is no weight"),
            ("least-time=-1", "`-1` is no weight"),
            ("least-time=1001", "from 1 to 1000"),
            ("least-time=1.5,most-slack=1", "`1.5` is no weight"),
            ("least-time,most-slack", "`least-time` has no weight"),
            ("least-time=1,most-slack", "`most-slack` has no weight"),
            ("least-time=1,least-time=2", "`least-time` is there twice"),
            ("most-bandwidth=a=1,most-bandwidth=b=1", "exclude each other"),
            ("least-time=1,", "fewest-pcpus"),
        ] {
            let error = text.parse::<Objective>().expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
