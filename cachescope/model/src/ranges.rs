//! The values of `vm=`, `cpu=` and `uncached=`, and numbers with units.

/// A decimal or hexadecimal (`0x`) number; `_` may separate digits.
pub fn number(value: &str) -> Option<u64> {
    let digits = value.replace('_', "");
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// A number of bytes, with KiB, MiB or GiB if so written.
pub fn size(value: &str) -> Option<u64> {
    for (unit, shift) in [("KiB", 10), ("MiB", 20), ("GiB", 30)] {
        if let Some(value) = value.strip_suffix(unit) {
            return number(value)?.checked_mul(1 << shift);
        }
    }
    number(value)
}

/// `NAME:START+SIZE`.
pub fn memory(value: &str) -> Option<(&str, u64, u64)> {
    let (name, range) = value.split_once(':')?;
    let (start, bytes) = self::range(range)?;
    is_name(name).then_some((name, start, bytes))
}

/// `START+SIZE`.
pub fn range(value: &str) -> Option<(u64, u64)> {
    let (start, bytes) = value.split_once('+')?;
    Some((number(start)?, size(bytes)?))
}

/// `CPU:NAME`.
pub fn cpu(value: &str) -> Option<(usize, &str)> {
    let (cpu, name) = value.split_once(':')?;
    is_name(name).then_some((cpu.parse().ok()?, name))
}

/// Returns true if this is a name: letters, digits, `-` and `_`.
pub fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sizes() {
        assert_eq!(number("0x4600_0000"), Some(0x4600_0000));
        assert_eq!(number("17"), Some(17));
        assert_eq!(number("x"), None);
        assert_eq!(size("512KiB"), Some(512 << 10));
        assert_eq!(size("0x1000"), Some(4096));
        assert_eq!(size("99999999999GiB"), None);
    }

    #[test]
    fn memory_and_cpus() {
        assert_eq!(memory("rt-1:0x1000+4KiB"), Some(("rt-1", 0x1000, 4096)));
        for bad in ["rt:0x1000", ":0x0+1", "a,b:0x0+1", "rt:+1", "rt:1+"] {
            assert_eq!(memory(bad), None, "{bad}");
        }
        assert_eq!(cpu("3:rt"), Some((3, "rt")));
        assert_eq!(cpu("rt"), None);
    }
}
