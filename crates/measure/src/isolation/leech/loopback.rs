//! Takes time of the kernel by packets.

use std::net::{Ipv4Addr, UdpSocket};

use super::Take;

/// Bytes of a packet.
const PACKET: usize = 512;
/// Packets of a part.
const PACKETS: usize = 64;

/// Sends packets to itself.
pub struct Loopback {
    socket: UdpSocket,
}

impl Loopback {
    /// Makes a leech on a port that is free.
    pub fn new() -> Result<Self, String> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| {
            socket.connect(socket.local_addr()?)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let socket = socket.map_err(|error| format!("loopback: no socket: {error}"))?;
        Ok(Self { socket })
    }
}

impl Take for Loopback {
    fn take(&mut self) -> Result<bool, String> {
        let mut packet = [0; PACKET];
        for _ in 0..PACKETS {
            // A full queue is no reason to end: packets are lost then, and interrupt too.
            let _ = self.socket.send(&packet);
            let _ = self.socket.recv(&mut packet);
        }
        Ok(true)
    }
}
