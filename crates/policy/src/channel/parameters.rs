//! Parameters of a bucket.

use core::{error, fmt};

use crate::time::Duration;

/// The number of tokens that a bucket gets, and the number that it holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parameters {
    /// Tokens in each period, which come evenly: `r`.
    pub tokens: u64,
    /// Length of a period: `P`.
    pub period: Duration,
    /// Maximum number of tokens in the bucket: `b`. It is full at first. A bucket for one token
    /// loses the part of a token that comes until that one is taken: the exact rate needs place for
    /// two.
    pub burst: u64,
}

impl Parameters {
    /// Returns the tokens of a period, the period in ticks, and the part of a token that a bucket
    /// adds in a tick as a fraction in lowest terms.
    pub(super) fn check(self) -> Result<Self, ParametersError> {
        let Self { tokens, period, burst } = self;
        match self {
            Self { tokens: 0, .. } => Err(ParametersError::NoTokens),
            Self { period: Duration::ZERO, .. } => Err(ParametersError::NoPeriod),
            Self { burst: 0, .. } => Err(ParametersError::NoBurst),
            _ => {
                let common = common_divisor(tokens, period.0);
                let (tokens, period) = (tokens / common, Duration(period.0 / common));
                match burst.checked_mul(period.0) {
                    Some(_) => Ok(Self { tokens, period, burst }),
                    None => Err(ParametersError::TooLarge),
                }
            }
        }
    }
}

/// Euclid's algorithm.
fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// The reason why there is no bucket with these parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParametersError {
    /// No tokens come.
    NoTokens,
    /// The period is zero.
    NoPeriod,
    /// The bucket holds no token.
    NoBurst,
    /// The product of burst and period, divided by what tokens and period have in common, does not
    /// fit into 64 bits.
    TooLarge,
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTokens => {
                "a bucket that gets no tokens lets nothing pass after the first burst"
            }
            Self::NoPeriod => "a bucket needs a period longer than 0",
            Self::NoBurst => "a bucket that holds no token lets nothing pass",
            Self::TooLarge => "burst and period are too large to be counted exactly",
        })
    }
}

impl error::Error for ParametersError {}
