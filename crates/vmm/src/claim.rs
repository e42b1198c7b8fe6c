//! CPUs of the host that a process has to itself, among all processes that run VMs.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::net::{connect, socket_with};

use crate::error::Error;
use crate::sys;

/// A CPU of the host. Nobody else gets a claim to it until this value is dropped or the process has ended, however it ends.
///
/// It is a socket whose name only one process at a time can have. Linux keeps such names for each network namespace, in no
/// file: so nothing is left behind, and all users see them.
#[derive(Debug)]
pub struct Claim {
    _socket: UnixListener,
}

impl Claim {
    /// Claims the CPU with this number.
    pub fn new(cpu: usize) -> Result<Self, Error> {
        let name = format!("bulkhead-cpu{cpu}");
        let bound = SocketAddr::from_abstract_name(&name)
            .and_then(|address| UnixListener::bind_addr(&address));
        match bound {
            Ok(socket) => Ok(Self { _socket: socket }),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                Err(Error::Claimed { cpu, by: holder(&name) })
            }
            Err(error) => Err(Error::Io { what: "a CPU cannot be claimed", error }),
        }
    }
}

/// Returns the process that has a socket with this name, if it can be told.
fn holder(name: &str) -> Option<i32> {
    // Nobody answers: the socket must not wait until there is room for one more that waits.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?).ok()?;
    sys::peer(&socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that no CPU of this machine has.
    const CPU: usize = 9000;

    #[test]
    fn a_cpu_has_one_user_at_a_time() {
        let first = Claim::new(CPU).expect("nobody has it");
        let _other = Claim::new(CPU + 1).expect("nobody has it");
        for _ in 0..5_000 {
            // However many ask, nobody waits for an answer.
            let refused = Claim::new(CPU);
            assert!(matches!(refused, Err(Error::Claimed { cpu: CPU, .. })), "{refused:?}");
        }
        drop(first);
        let again = Claim::new(CPU).expect("nobody has it any more");
        let refused = Claim::new(CPU).expect_err("it is taken").to_string();
        let this = format!("(process {})", std::process::id());
        assert!(refused.contains(&this) && refused.contains("help: "), "{refused}");
        drop(again);
    }
}
