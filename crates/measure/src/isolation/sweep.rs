//! Several leeches or workloads in one word.

use std::time::Duration;

use super::leech::Leech;
use super::size::Size;
use super::workload::Workload;

/// Most leeches of one sweep.
const LEECHES_MAX: usize = 256;

/// Reads the leeches of one word: sizes `64KiB..8MiB` double, sleeps `25..200ms` increase in steps
/// of the first.
///
/// # Errors
///
/// The word is wrong; the message says what was expected.
pub fn leeches(text: &str) -> Result<Vec<Leech>, String> {
    let (what, sleep) = text.split_once('@').map_or((text, None), |(it, sleep)| (it, Some(sleep)));
    let (name, size) = what.split_once(':').map_or((what, None), |(it, size)| (it, Some(size)));
    let one = |size: Option<&str>, sleep: Option<&str>| {
        let size = size.map(|size| format!(":{size}")).unwrap_or_default();
        let sleep = sleep.map(|sleep| format!("@{sleep}")).unwrap_or_default();
        format!("{name}{size}{sleep}").parse::<Leech>()
    };
    let order = |first: bool| match first {
        true => Ok(()),
        false => Err(format!("`{text}`: a range begins with its least value")),
    };
    let mut all = Vec::new();
    let (low, high) = ends(size, "");
    let (short, long) = ends(sleep, "ms");
    let first = one(low.as_deref(), short.as_deref())?;
    let last = one(high.as_deref(), long.as_deref())?;
    order(first.kind.size() <= last.kind.size() && first.sleep <= last.sleep)?;
    let mut size = first.kind.size().map(|size| size.0);
    loop {
        let mut sleep = first.sleep;
        loop {
            if all.len() == LEECHES_MAX {
                return Err(format!("`{text}`: more than {LEECHES_MAX} leeches"));
            }
            let shown = size.map(|bytes| format!("{bytes}B"));
            let mut leech = one(shown.as_deref(), None)?;
            leech.sleep = sleep;
            all.push(leech);
            sleep += first.sleep.max(Duration::from_millis(1));
            if sleep > last.sleep {
                break;
            }
        }
        size = size.and_then(|bytes| bytes.checked_mul(2));
        if size.is_none() || size > last.kind.size().map(|size| size.0) {
            return Ok(all);
        }
    }
}

/// Workloads from one word: sizes of `chase:64KiB..8MiB` and rows of `matrix:128..512`
/// double.
///
/// # Errors
///
/// The text that was expected.
pub fn workloads(text: &str) -> Result<Vec<Workload>, String> {
    // A command may have dots of its own.
    let range = text.split_once("..").filter(|_| !text.starts_with("command:"));
    let Some((first, last)) = range else { return Ok(vec![text.parse()?]) };
    let kind = first.split_once(':').map_or(first, |(kind, _)| kind);
    let (first, last) = (first.parse::<Workload>()?, format!("{kind}:{last}").parse()?);
    let mut all = vec![first];
    while let Some(next) = all.last().and_then(doubled).filter(|next| size(next) <= size(&last)) {
        all.push(next);
    }
    match size(&all[0]) <= size(&last) {
        true => Ok(all),
        false => Err(format!("`{text}`: a range begins with its least value")),
    }
}

/// Rows or bytes.
fn size(workload: &Workload) -> u64 {
    match workload {
        Workload::Matrix(rows) => (*rows).into(),
        _ => workload.bytes(),
    }
}

fn doubled(workload: &Workload) -> Option<Workload> {
    let size = |size: &Size| size.0.checked_mul(2).map(Size);
    Some(match workload {
        Workload::Matrix(rows) => Workload::Matrix(rows.checked_mul(2)?),
        Workload::Chase(bytes) => Workload::Chase(size(bytes)?),
        Workload::Read(bytes) => Workload::Read(size(bytes)?),
        Workload::Write(bytes) => Workload::Write(size(bytes)?),
        Workload::Command(_) => return None,
    })
}

/// Returns both ends of `a..b`, or one value twice. A unit may stand at the second alone.
fn ends(range: Option<&str>, unit: &str) -> (Option<String>, Option<String>) {
    let Some(range) = range else { return (None, None) };
    match range.split_once("..") {
        None => (Some(range.into()), Some(range.into())),
        Some((low, high)) => {
            let low = if low.ends_with(unit) { low.into() } else { format!("{low}{unit}") };
            (Some(low), Some(high.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        leeches(text).expect(text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranges_are_swept() {
        assert_eq!(shown("cpu@25ms"), ["cpu@25ms"]);
        assert_eq!(shown("copy:64KiB..256KiB"), ["copy:64KiB", "copy:128KiB", "copy:256KiB"]);
        assert_eq!(shown("cpu@25..100ms"), ["cpu@25ms", "cpu@50ms", "cpu@75ms", "cpu@100ms"]);
        assert_eq!(shown("copy:1m..2m@5..10ms").len(), 4);
        assert_eq!(shown("timers"), ["timers"]);
    }

    #[test]
    fn workloads_are_swept() {
        let shown = |text: &str| -> Vec<String> {
            workloads(text).expect(text).iter().map(ToString::to_string).collect()
        };
        assert_eq!(shown("matrix:512"), ["matrix:512"]);
        assert_eq!(shown("matrix:128..511"), ["matrix:128", "matrix:256"]);
        assert_eq!(shown("read:64KiB..256KiB"), ["read:64KiB", "read:128KiB", "read:256KiB"]);
        assert_eq!(shown("command:ls .."), ["command:ls .."]);
        for text in ["chase:8m..1m", "matrix:4..2", "read:1m..", "read:1..2m", "..", "a..b"] {
            assert!(workloads(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_have_an_order_and_an_end() {
        for text in ["copy:8m..1m", "cpu@50..25ms", "copy:1..2m", "cpu@1..2s", "cpu@1..60000ms"] {
            assert!(leeches(text).is_err(), "{text}");
        }
    }
}
