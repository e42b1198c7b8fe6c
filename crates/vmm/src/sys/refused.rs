//! The end of a process of which a thread made a system call that it may not make.

use std::io;
use std::mem;
use std::ptr;

use libc::{c_int, c_void, siginfo_t};

/// Says so when Linux refuses a call of a thread with a filter, and ends the process, unless somebody else takes care of that.
pub fn catch() -> io::Result<()> {
    // SAFETY: all zeros are a value of this C structure.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: no action is given, and the old one is written into a structure that lives through the call.
    let result = unsafe { libc::sigaction(libc::SIGSYS, ptr::null(), &raw mut action) };
    if result == 0 && action.sa_sigaction == libc::SIG_DFL {
        action.sa_sigaction = end as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the handler has the type that the flag asks for, and does only what a handler may do: it makes system calls.
        let result = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, ptr::null_mut()) };
        return if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    }
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Exit status of commands that have no result.
const NO_RESULT: c_int = 2;

extern "C" fn end(_: c_int, information: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: Linux gives the handler information that lives through it. The number of the call is the word behind its address,
    // which the library does not name: `_sigsys` of `siginfo_t` (sigaction(2)) begins at byte 16.
    let call = unsafe { information.cast::<u8>().add(24).cast::<c_int>().read() };
    let mut digits = [0; 10];
    for text in [
        &b"error: a thread with VCPUs made system call "[..],
        decimal(call.unsigned_abs(), &mut digits),
        b", which no such thread may make: `bulkhead` has a mistake, or a guest has broken out of its VM\n\
          no VM runs any more, and there are no results\n",
    ] {
        // SAFETY: the call reads bytes that live through it. If it fails, nobody can be told.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
    // SAFETY: the call has a number as argument, and does not return.
    unsafe { libc::_exit(NO_RESULT) }
}

/// Returns a number as text, which needs no memory but the buffer.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 || start == 0 {
            return &digits[start..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_other_programs() {
        for number in [0, 7, 10, 59, 435, u32::MAX] {
            assert_eq!(decimal(number, &mut [0; 10]), number.to_string().as_bytes());
        }
    }
}
