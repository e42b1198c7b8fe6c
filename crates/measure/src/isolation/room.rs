//! Checks if a process can have the memory that it needs.

use super::size::Size;

/// Allocates this number of bytes and frees them, so that later allocations do not end the process.
///
/// # Errors
///
/// The memory is not available; the error is a message for the user.
pub(crate) fn for_bytes(bytes: u64) -> Result<(), String> {
    let refused = || {
        format!(
            "there is no memory for {}: this process has a limit (`ulimit -v`), or the machine has \
             no more",
            Size(bytes)
        )
    };
    let wanted = usize::try_from(bytes).map_err(|_| refused())?;
    Vec::<u8>::new().try_reserve_exact(wanted).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused() {
        assert_eq!(for_bytes(1 << 20), Ok(()));
        let why = for_bytes(1 << 62).expect_err("more than addresses");
        assert!(why.contains("no memory for") && why.contains("ulimit"), "{why}");
    }
}
