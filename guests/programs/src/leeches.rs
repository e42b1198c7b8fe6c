//! The resources that leeches take, as boot arguments name them: `copy:64KiB`, `cpu@25ms`, `3xcopy:8MiB`, `none`. These are the
//! words of `bulkhead measure`, with a number before them.

use core::fmt;
use core::time::Duration;

/// Leeches that take something at the same time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Leeches {
    /// The number of leeches.
    pub count: usize,
    /// The resource that each of them takes.
    pub kind: Kind,
    /// The time for which each sleeps after a round.
    pub sleep: Duration,
}

/// The resource that a leech takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Nothing: it sleeps.
    Nothing,
    /// Processor time.
    Cpu,
    /// Lines of the cache, or the bus: copies this number of bytes to another place.
    Copy(usize),
}

/// A text that names no leeches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoLeeches<'a>(pub &'a str);

impl fmt::Display for NoLeeches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected none, cpu or copy:64KiB, as in 3xcopy:8MiB or cpu@25ms", self.0)
    }
}

impl Leeches {
    /// Reads `COUNTxKIND@SLEEPms`, of which count and sleep may be missing.
    pub fn parse(text: &str) -> Result<Self, NoLeeches<'_>> {
        Self::read(text).ok_or(NoLeeches(text))
    }

    fn read(text: &str) -> Option<Self> {
        let (what, sleep) = match text.split_once('@') {
            Some((what, sleep)) => (what, sleep.strip_suffix("ms")?.parse().ok()?),
            None => (text, 0),
        };
        let (count, what) = match what.split_once('x') {
            Some((count, what)) => (count.parse().ok().filter(|count| *count > 0)?, what),
            None => (1, what),
        };
        let kind = match what.split_once(':') {
            None if what == "none" => Kind::Nothing,
            None if what == "cpu" => Kind::Cpu,
            Some(("copy", size)) => Kind::Copy(bytes(size)?),
            _ => return None,
        };
        Some(Self { count, kind, sleep: Duration::from_millis(sleep) })
    }

    /// Bytes that each of them needs.
    pub fn bytes(&self) -> usize {
        match self.kind {
            Kind::Copy(bytes) => 2 * bytes,
            Kind::Nothing | Kind::Cpu => 0,
        }
    }
}

/// `64KiB`, `8MiB`; less than 1 GiB.
fn bytes(text: &str) -> Option<usize> {
    let (number, unit) = match text.strip_suffix("KiB") {
        Some(number) => (number, 1 << 10),
        None => (text.strip_suffix("MiB")?, 1 << 20),
    };
    let bytes = number.parse::<usize>().ok()?.checked_mul(unit)?;
    (1..1 << 30).contains(&bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leeches_are_read() {
        let of = |count, kind, ms| Leeches { count, kind, sleep: Duration::from_millis(ms) };
        assert_eq!(Leeches::parse("none"), Ok(of(1, Kind::Nothing, 0)));
        assert_eq!(Leeches::parse("cpu@25ms"), Ok(of(1, Kind::Cpu, 25)));
        assert_eq!(Leeches::parse("copy:64KiB"), Ok(of(1, Kind::Copy(64 << 10), 0)));
        let three = Leeches::parse("3xcopy:8MiB").unwrap();
        assert_eq!((three, three.bytes()), (of(3, Kind::Copy(8 << 20), 0), 16 << 20));
    }

    #[test]
    fn typos_are_refused() {
        for text in
            ["", "cp", "copy", "copy:", "copy:0KiB", "copy:8", "copy:9999MiB", "0xcpu", "cpu@9"]
        {
            assert_eq!(Leeches::parse(text), Err(NoLeeches(text)));
        }
    }
}
