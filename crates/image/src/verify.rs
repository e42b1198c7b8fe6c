//! Reads an image back and checks it as the hypervisor does at boot.

use abi::image::{ALIGNMENT, BlobEntry, HEADER_BYTES, PAYLOAD_MAGIC, PayloadError, PayloadHeader};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::arm64;
use crate::payload::table_digest;

/// Contents of an image.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Contents {
    /// Bytes of the hypervisor: where the payload starts.
    pub hypervisor_bytes: u64,
    /// Header of the payload.
    pub header: PayloadHeader,
    /// The blobs, in the order of the table.
    pub blobs: Vec<Entry>,
}

/// A blob in an image.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Offset of the blob in the image, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Contents {
    /// Returns the bytes of the blob called `name`; `image` is what was verified.
    pub fn blob<'a>(&self, image: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let entry = self.blobs.iter().find(|entry| entry.name == name)?;
        image.get(entry.offset as usize..(entry.offset + entry.bytes) as usize)
    }
}

/// The reason why bytes are not an image, or not the image that was built.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum VerifyError {
    /// The arm64 header at the start is missing.
    #[error("the image does not start with an arm64 `Image` header")]
    NoImage,
    /// The file is longer or shorter than its header says.
    #[error("the header says that the image has {announced} bytes, but the image has {found}")]
    Size {
        /// Bytes by the header.
        announced: u64,
        /// Bytes found.
        found: u64,
    },
    /// There is no payload at any multiple of 4 KiB.
    #[error("there is no payload behind the hypervisor")]
    NoPayload,
    /// Header or blob table of the payload cannot be read.
    #[error("the payload is damaged: {0:?}")]
    Payload(PayloadError),
    /// The digest of header and blob table is wrong.
    #[error("the SHA-256 digest of the blob table is wrong: the image is damaged")]
    Table,
    /// The digest of a blob is wrong.
    #[error("the SHA-256 digest of the blob `{0}` is wrong: the image is damaged")]
    Blob(String),
    /// Two blobs have the same name.
    #[error("two blobs are called `{0}`")]
    Duplicate(String),
    /// A byte between two blobs is not zero.
    #[error("the byte at {0:#x} lies between two blobs and is not zero")]
    Padding(u64),
}

/// Checks `image` and lists what is in it.
///
/// The hypervisor's own bytes carry no digest: of them, only the header is
/// checked.
pub fn verify(image: &[u8]) -> Result<Contents, VerifyError> {
    let announced = arm64::Header::read(image).ok_or(VerifyError::NoImage)?.image_size;
    let found = image.len() as u64;
    if announced != found {
        return Err(VerifyError::Size { announced, found });
    }
    let start = find_payload(image).ok_or(VerifyError::NoPayload)?;
    let payload = &image[start..];
    let header = PayloadHeader::read(payload).map_err(VerifyError::Payload)?;
    if header.payload_bytes != payload.len() as u64 {
        return Err(VerifyError::Payload(PayloadError::Truncated));
    }
    if header.table_end() > payload.len() {
        return Err(VerifyError::Payload(PayloadError::Truncated));
    }
    if table_digest(payload, &header) != header.digest {
        return Err(VerifyError::Table);
    }
    let mut blobs: Vec<Entry> = Vec::new();
    let mut covered = header.table_end();
    for index in 0..header.blob_count as usize {
        let entry = BlobEntry::read(payload, &header, index).map_err(VerifyError::Payload)?;
        let name = str::from_utf8(entry.name)
            .map_err(|_| VerifyError::Payload(PayloadError::BlobName(index)))?;
        let range = entry.offset as usize..(entry.offset + entry.bytes) as usize;
        if blobs.iter().any(|other| other.name == name) {
            return Err(VerifyError::Duplicate(name.into()));
        }
        check_padding(payload, covered, range.start, start)?;
        covered = range.end;
        let digest: [u8; 32] = Sha256::digest(&payload[range]).into();
        if digest != entry.digest {
            return Err(VerifyError::Blob(name.into()));
        }
        blobs.push(Entry {
            name: name.into(),
            offset: start as u64 + entry.offset,
            bytes: entry.bytes,
        });
    }
    check_padding(payload, covered, payload.len(), start)?;
    Ok(Contents { hypervisor_bytes: start as u64, header, blobs })
}

/// Returns where the payload starts. The image does not say where the hypervisor ends
/// (the hypervisor itself knows by its linker script), so look for the magic number.
fn find_payload(image: &[u8]) -> Option<usize> {
    (0..image.len())
        .step_by(ALIGNMENT)
        .filter(|&at| image.len() - at >= HEADER_BYTES)
        .find(|&at| image[at..at + PAYLOAD_MAGIC.len()] == PAYLOAD_MAGIC)
}

fn check_padding(payload: &[u8], from: usize, to: usize, start: usize) -> Result<(), VerifyError> {
    // A blob before the end of the one ahead of it leaves nothing between them.
    let padding = payload.get(from..to).unwrap_or(&[]);
    match padding.iter().position(|&byte| byte != 0) {
        Some(at) => Err(VerifyError::Padding((start + from + at) as u64)),
        None => Ok(()),
    }
}
