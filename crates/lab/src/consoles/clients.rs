//! The clients of all VMs, and the output that they have still to get.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::Duration;

use abi::console::{ESCAPE, SEND_FIRST};
use qemu::Input;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// Bytes of a VM's output that a new client gets.
pub const HISTORY_BYTES: usize = 8 << 10;

/// Bytes that wait for a client, besides those that the kernel keeps for it; at more, the client is dropped.
pub const BACKLOG_BYTES: usize = 256 << 10;

/// Most clients of a VM at a time; others are sent away.
pub const CLIENTS_MAX: usize = 16;

/// Bytes of a client that are taken in a turn.
const READ_BYTES: usize = 256;

/// Shortest time of a turn in which a client wrote or could not be accepted: input is for people, and nothing bounds the
/// input that waits for the machine.
const PAUSE: Duration = Duration::from_millis(5);

/// Longest time until output that waits for a client is tried again, and until the end of the run is seen.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The clients, and the last output of each VM.
#[derive(Debug)]
pub struct Clients {
    histories: Vec<VecDeque<u8>>,
    clients: Vec<Client>,
    input: Option<Input>,
}

#[derive(Debug)]
struct Client {
    vm: usize,
    socket: Arc<UnixStream>,
    waiting: VecDeque<u8>,
    /// The client may still write.
    talks: bool,
    gone: bool,
}

impl Clients {
    /// Makes the clients of `vms` VMs; nobody has come yet.
    pub fn new(vms: usize) -> Self {
        Self { histories: vec![VecDeque::new(); vms], clients: Vec::new(), input: None }
    }

    /// Shows output of a VM to its clients, and remembers the end of it.
    pub fn show(&mut self, vm: usize, text: &[u8]) {
        let history = &mut self.histories[vm];
        history.extend(text);
        history.drain(..history.len().saturating_sub(HISTORY_BYTES));
        for client in self.clients.iter_mut().filter(|client| client.vm == vm) {
            client.show(text);
        }
        self.clients.retain(|client| !client.gone);
    }

    /// Takes the input of clients from now on.
    pub fn listen(&mut self, input: impl FnOnce() -> Input) {
        if self.input.is_none() {
            self.input = Some(input());
        }
    }

    /// Takes the clients of a VM. Returns true if a client has to wait, because this process has no descriptor left.
    fn accept(&mut self, vm: usize, listener: &UnixListener) -> bool {
        loop {
            let socket = match listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            };
            let there = self.clients.iter().filter(|client| client.vm == vm).count();
            if there == CLIENTS_MAX || socket.set_nonblocking(true).is_err() {
                continue;
            }
            let (socket, waiting) = (Arc::new(socket), VecDeque::new());
            let mut client = Client { vm, socket, waiting, talks: true, gone: false };
            client.show(self.histories[vm].make_contiguous());
            self.clients.push(client);
        }
    }

    /// Sends the output that waits, and passes the input on. Returns true if there was input.
    fn attend(&mut self) -> bool {
        let mut typed = false;
        for client in &mut self.clients {
            client.flush();
            if let Some(input) = &self.input {
                typed |= client.read(input);
            }
        }
        self.clients.retain(|client| !client.gone);
        typed
    }

    /// Returns the sockets, with the events to wait for.
    fn wanted(&self) -> Vec<(Arc<UnixStream>, PollFlags)> {
        let each = self.clients.iter().map(|client| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, client.talks && self.input.is_some());
            flags.set(PollFlags::OUT, !client.waiting.is_empty());
            (Arc::clone(&client.socket), flags)
        });
        each.collect()
    }
}

impl Client {
    fn show(&mut self, text: &[u8]) {
        self.waiting.extend(text);
        self.flush();
        self.gone |= self.waiting.len() > BACKLOG_BYTES;
    }

    /// Sends as much as the socket takes at once.
    fn flush(&mut self) {
        while !self.gone && !self.waiting.is_empty() {
            let (next, _) = self.waiting.as_slices();
            match send(&self.socket, next, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => drop(self.waiting.drain(..sent)),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => self.gone = true,
            }
        }
    }

    /// Passes the input of the client on. Returns true if there was some.
    fn read(&mut self, input: &Input) -> bool {
        if !self.talks || self.gone {
            return false;
        }
        let mut buffer = [0; READ_BYTES];
        match (&*self.socket).read(&mut buffer) {
            // It may still want to see what comes.
            Ok(0) => self.talks = false,
            Ok(count) => {
                let key = SEND_FIRST + self.vm as u8;
                let keys = buffer[..count].iter().flat_map(|&byte| [ESCAPE, key, byte]);
                input.send(&keys.collect::<Vec<u8>>());
                return true;
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => {}
                _ => self.gone = true,
            },
        }
        false
    }
}

/// Waits until a client comes, writes, leaves or takes more, at most for a turn, and sees to it.
pub fn serve<'a>(listeners: &[UnixListener], clients: impl Fn() -> MutexGuard<'a, Clients>) {
    let wanted = clients().wanted();
    let listening = listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN));
    let connected = wanted.iter().map(|(socket, flags)| PollFd::new(socket, *flags));
    let mut all: Vec<PollFd<'_>> = listening.chain(connected).collect();
    if poll(&mut all, Some(&TURN)).is_err() {
        return;
    }
    let (came, saw) = all.split_at(listeners.len());
    let hung_up = saw.iter().zip(&wanted).filter(|(fd, _)| fd.revents().contains(PollFlags::HUP));
    let hung_up: Vec<_> = hung_up.map(|(_, (socket, _))| socket).collect();
    let mut clients = clients();
    let mut pauses = false;
    for (vm, listener) in listeners.iter().enumerate() {
        if !came[vm].revents().is_empty() {
            pauses |= clients.accept(vm, listener);
        }
    }
    pauses |= clients.attend();
    // Whoever has hung up may have written before.
    let has_ended = |client: &Client| {
        let is_over = !client.talks || clients.input.is_none();
        is_over && hung_up.iter().any(|socket| Arc::ptr_eq(socket, &client.socket))
    };
    let ended: Vec<bool> = clients.clients.iter().map(has_ended).collect();
    let mut ended = ended.into_iter();
    clients.clients.retain(|_| !ended.next().unwrap_or(false));
    drop(clients);
    if pauses {
        thread::sleep(PAUSE);
    }
}
