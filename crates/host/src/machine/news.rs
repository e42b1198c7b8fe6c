//! News from the thread of a PCPU, on their way to the thread that shows them.

use abi::kvm::TEXT_MAX;

use super::{Id, News, ring};

/// Texts of a VM that wait to be shown; it has to wait for more.
pub const TEXTS_MAX: usize = 1024;
/// What else a VM can tell before this is read: that it restarts, which it does when that is read, or that it may not do so any
/// more, and that it ends.
const ENDS_MAX: usize = 3;
/// Texts that VCPUs of a VM on several PCPUs may add at the same time.
const TEXTS_MORE: usize = 64;

/// A piece of news. Its place has room for the longest text from the beginning.
#[derive(Debug)]
struct Told {
    what: What,
    text: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Console { vm: u8 },
    Restarts { vm: u8, reason: &'static str, number: u32, limit: u32 },
    AtLimit { vm: u8 },
    Ended { vm: u8, fault: Option<&'static str> },
    Left { id: Id, exits: u64, lost: u64 },
}

/// The end of the thread of a PCPU, which never waits.
#[derive(Debug)]
pub struct Teller(ring::Writer<Told>);

/// The other end.
#[derive(Debug)]
pub struct Listener(ring::Reader<Told>);

/// Makes both ends, for a PCPU with VCPUs of as many VMs. Each VM has room for its texts, and besides them everything else that
/// the PCPU can tell has room: that a VM of it ends, and that a VCPU leaves.
pub fn channel(vms: usize, vcpus: usize) -> (Teller, Listener) {
    let length = vms * (TEXTS_MAX + TEXTS_MORE + ENDS_MAX) + vcpus;
    let place =
        || Told { what: What::Console { vm: 0 }, text: Vec::with_capacity(TEXT_MAX as usize) };
    let (writer, reader) = ring::ring(length, place);
    (Teller(writer), Listener(reader))
}

impl Teller {
    /// A VM shows text, which `read` puts into an empty buffer.
    pub fn console(&mut self, vm: u8, read: impl FnOnce(&mut Vec<u8>)) {
        self.0.write(|told| {
            told.what = What::Console { vm };
            told.text.clear();
            read(&mut told.text);
        });
    }

    /// A VM is to be restarted, for this reason.
    pub fn restarts(&mut self, vm: u8, reason: &'static str, number: u32, limit: u32) {
        self.0.write(|told| told.what = What::Restarts { vm, reason, number, limit });
    }

    /// A VM that ends would be restarted if it had not been restarted so often.
    pub fn at_limit(&mut self, vm: u8) {
        self.0.write(|told| told.what = What::AtLimit { vm });
    }

    /// A VM has ended.
    pub fn ended(&mut self, vm: u8, fault: Option<&'static str>) {
        self.0.write(|told| told.what = What::Ended { vm, fault });
    }

    /// A VCPU has left its PCPU.
    pub fn left(&mut self, id: Id, exits: u64, lost: u64) {
        self.0.write(|told| told.what = What::Left { id, exits, lost });
    }
}

impl Listener {
    /// Takes the oldest piece of news, if there is one.
    pub fn next(&mut self) -> Option<News> {
        self.0.read(|told| match told.what {
            What::Console { vm } => News::Console { vm, text: told.text.clone() },
            What::Restarts { vm, reason, number, limit } => {
                News::Restarts { vm, reason, number, limit }
            }
            What::AtLimit { vm } => News::AtLimit { vm },
            What::Ended { vm, fault } => News::Ended { vm, fault },
            What::Left { id, exits, lost } => News::Left { id, exits, lost },
        })
    }
}
