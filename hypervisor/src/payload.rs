//! The payload behind the hypervisor: plan and guest images, each verified by
//! its SHA-256 digest before anything in it is used.

use core::fmt;

use crate::digest::sha256;
use abi::image::{
    BLOBS_MAX, BlobEntry, ENTRY_BYTES, HEADER_BYTES, HEADER_DIGEST, PLAN_BLOB, PayloadError,
    PayloadHeader,
};

/// A payload whose header and blob table are intact.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    bytes: &'a [u8],
    header: PayloadHeader,
}

/// Name of a blob: of the plan, or of a file of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BlobName<'a> {
    vm: &'a str,
    part: &'a str,
}

impl<'a> BlobName<'a> {
    /// The plan.
    pub const PLAN: BlobName<'static> = BlobName { vm: "", part: PLAN_BLOB };

    /// A file of a VM: `kernel`, `initrd` or `device-tree`.
    pub fn of(vm: &'a str, part: &'a str) -> Self {
        Self { vm, part }
    }

    /// Returns true if the blob table means this blob by `name`.
    fn is(&self, name: &[u8]) -> bool {
        let mut rest = Some(name);
        for part in self.parts() {
            rest = rest.and_then(|rest| rest.strip_prefix(part.as_bytes()));
        }
        rest.is_some_and(<[u8]>::is_empty)
    }

    /// Returns the parts of the name.
    fn parts(&self) -> [&'a str; 3] {
        [self.vm, if self.vm.is_empty() { "" } else { "/" }, self.part]
    }
}

impl fmt::Display for BlobName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().iter().try_for_each(|part| f.write_str(part))
    }
}

/// The reason why a payload, or a blob of it, cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Damage<'a> {
    /// The header or the table does not make sense.
    Layout(PayloadError),
    /// Header or blob table do not match their digest.
    Table,
    /// This blob does not match its digest.
    Blob(BlobName<'a>),
    /// There is no blob of this name.
    Missing(BlobName<'a>),
}

impl fmt::Display for Damage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let again = "the image is damaged, make it again";
        match self {
            Self::Layout(PayloadError::Magic) => {
                f.write_str("image: no payload behind the hypervisor: make an image from a plan")
            }
            Self::Layout(error) => {
                let problem = match error {
                    PayloadError::Version(_) => "made for another version of the hypervisor",
                    PayloadError::Truncated => "cut off",
                    _ => "its table does not make sense",
                };
                write!(f, "image: bad payload ({problem}): {again}")
            }
            Self::Table => {
                write!(f, "image: the blob table does not match its SHA-256 digest: {again}")
            }
            Self::Blob(name) => {
                write!(f, "image: blob {name} does not match its SHA-256 digest: {again}")
            }
            Self::Missing(name) => write!(f, "image: there is no blob {name}: {again}"),
        }
    }
}

/// Most bytes of header and blob table: those that [`header`] must be given.
pub const TABLE_BYTES_MAX: usize = HEADER_BYTES + BLOBS_MAX * ENTRY_BYTES;

/// Reads the header and verifies it together with the blob table. `bytes` needs
/// to hold only those.
pub fn header(bytes: &[u8]) -> Result<PayloadHeader, Damage<'static>> {
    let truncated = Damage::Layout(PayloadError::Truncated);
    let header = PayloadHeader::read(bytes).map_err(Damage::Layout)?;
    let table = bytes.get(..header.table_end()).ok_or(truncated)?;
    let (head, entries) = table.split_first_chunk::<HEADER_BYTES>().ok_or(truncated)?;
    let mut head = *head;
    head[HEADER_DIGEST].fill(0);
    if sha256(head.as_chunks().0, entries) != header.digest {
        return Err(Damage::Table);
    }
    Ok(header)
}

impl<'a> Payload<'a> {
    /// The payload that `bytes` starts with, and whose header was verified.
    pub fn new(bytes: &'a [u8], header: PayloadHeader) -> Result<Self, Damage<'static>> {
        let truncated = Damage::Layout(PayloadError::Truncated);
        let bytes = bytes.get(..header.payload_bytes as usize).ok_or(truncated)?;
        for index in 0..header.blob_count as usize {
            BlobEntry::read(bytes, &header, index).map_err(Damage::Layout)?;
        }
        Ok(Self { bytes, header })
    }

    /// Bytes of the whole payload.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    #[inline(never)]
    fn entry(&self, name: &BlobName<'_>) -> Option<BlobEntry<'a>> {
        for index in 0..self.header.blob_count as usize {
            match BlobEntry::read(self.bytes, &self.header, index) {
                Ok(entry) if name.is(entry.name) => return Some(entry),
                _ => {}
            }
        }
        None
    }

    /// Bytes of a blob, if there is one of this name.
    pub fn blob_bytes(&self, name: &BlobName<'_>) -> Option<u64> {
        self.entry(name).map(|entry| entry.bytes)
    }

    /// A blob, verified.
    pub fn blob<'n>(&self, name: BlobName<'n>) -> Result<&'a [u8], Damage<'n>> {
        let entry = self.entry(&name).ok_or(Damage::Missing(name))?;
        let range = entry.offset as usize..(entry.offset + entry.bytes) as usize;
        let blob = self.bytes.get(range).ok_or(Damage::Missing(name))?;
        if sha256(&[], blob) != entry.digest {
            return Err(Damage::Blob(name));
        }
        Ok(blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::image::ALIGNMENT;
    use sha2::{Digest, Sha256};

    fn open(bytes: &[u8]) -> Result<Payload<'_>, Damage<'static>> {
        Payload::new(bytes, header(bytes)?)
    }

    fn sample() -> Vec<u8> {
        let blobs: [(&str, &[u8]); 2] = [("plan", b"the plan"), ("vm/kernel", &[7; 5000])];
        let mut bytes = vec![0; ALIGNMENT];
        let mut table = Vec::new();
        for (name, blob) in blobs {
            let entry = BlobEntry {
                name: name.as_bytes(),
                offset: bytes.len() as u64,
                bytes: blob.len() as u64,
                digest: Sha256::digest(blob).into(),
            };
            table.extend(entry.to_bytes().unwrap());
            bytes.extend(blob);
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        }
        let mut header = PayloadHeader {
            blob_count: 2,
            payload_bytes: bytes.len() as u64,
            console_kind: 1,
            console_address: 0x0900_0000,
            digest: [0; 32],
        };
        let mut hash = Sha256::new();
        hash.update(header.to_bytes());
        hash.update(&table);
        header.digest = hash.finalize().into();
        bytes[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        bytes[HEADER_BYTES..HEADER_BYTES + table.len()].copy_from_slice(&table);
        bytes
    }

    #[test]
    fn blobs_are_found_and_verified() {
        let bytes = sample();
        let payload = open(&bytes).unwrap();
        assert_eq!(payload.blob(BlobName::PLAN), Ok(&b"the plan"[..]));
        assert_eq!(payload.blob(BlobName::of("vm", "kernel")).map(<[u8]>::len), Ok(5000));
        let missing = BlobName::of("vm", "initrd");
        assert_eq!(payload.blob(missing), Err(Damage::Missing(missing)));
    }

    #[test]
    fn every_flipped_bit_of_content_is_found() {
        let good = sample();
        let table_end = HEADER_BYTES + 2 * ENTRY_BYTES;
        let content = (0..table_end)
            .chain(ALIGNMENT..ALIGNMENT + 8)
            .chain(2 * ALIGNMENT..2 * ALIGNMENT + 5000);
        for at in content {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            let intact = open(&bytes).is_ok_and(|payload| {
                payload.blob(BlobName::PLAN).is_ok()
                    && payload.blob(BlobName::of("vm", "kernel")).is_ok()
            });
            assert!(!intact, "byte {at}");
        }
    }

    #[test]
    fn short_payloads_are_refused() {
        let bytes = sample();
        for length in [0, 100, HEADER_BYTES, bytes.len() - 1] {
            assert!(matches!(open(&bytes[..length]), Err(Damage::Layout(_))));
        }
    }
}
