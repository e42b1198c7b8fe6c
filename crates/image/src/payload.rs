//! Packs blobs behind the hypervisor, as [`abi::image`] says.

use abi::image::{
    ALIGNMENT, BLOBS_MAX, BlobEntry, ConsoleKind, ENTRY_BYTES, HEADER_BYTES, HEADER_DIGEST,
    PayloadHeader,
};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// Bytes with a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Blob {
    /// Name of the blob in the plan, at most 39 bytes.
    pub name: String,
    /// The bytes.
    pub data: Vec<u8>,
}

/// The UART on which the hypervisor reports before it has read the plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EarlyConsole {
    /// Type of the UART.
    pub kind: ConsoleKind,
    /// Physical address of its registers.
    pub address: u64,
}

/// Returns the payload with these blobs, in this order.
///
/// Fails if there are more than [`BLOBS_MAX`] blobs, or if a name is empty or
/// too long.
pub fn pack(console: EarlyConsole, blobs: &[Blob]) -> Result<Vec<u8>, Error> {
    if blobs.len() > BLOBS_MAX {
        return Err(Error::TooManyBlobs { count: blobs.len(), most: BLOBS_MAX });
    }
    let table_end = HEADER_BYTES + blobs.len() * ENTRY_BYTES;
    let total = blobs
        .iter()
        .fold(table_end.next_multiple_of(ALIGNMENT), |at, blob| next_blob(at, blob.data.len()));
    let mut payload = Vec::with_capacity(total);
    payload.resize(HEADER_BYTES, 0);
    let mut offset = table_end.next_multiple_of(ALIGNMENT);
    for blob in blobs {
        let entry = BlobEntry {
            name: blob.name.as_bytes(),
            offset: offset as u64,
            bytes: blob.data.len() as u64,
            digest: Sha256::digest(&blob.data).into(),
        };
        let entry = entry.to_bytes().ok_or_else(|| Error::BlobName(blob.name.clone()))?;
        payload.extend(entry);
        offset = next_blob(offset, blob.data.len());
    }
    for blob in blobs {
        payload.resize(payload.len().next_multiple_of(ALIGNMENT), 0);
        payload.extend(&blob.data);
    }
    payload.resize(total, 0);

    let mut header = PayloadHeader {
        blob_count: blobs.len() as u32,
        payload_bytes: total as u64,
        console_kind: console.kind as u32,
        console_address: console.address,
        digest: [0; 32],
    };
    payload[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
    header.digest = table_digest(&payload, &header);
    payload[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
    Ok(payload)
}

/// Returns the offset of the blob behind one of `bytes` at `offset`.
fn next_blob(offset: usize, bytes: usize) -> usize {
    (offset + bytes).next_multiple_of(ALIGNMENT)
}

/// Returns the digest over header and blob table of `payload`, which has both.
pub(crate) fn table_digest(payload: &[u8], header: &PayloadHeader) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(&payload[..HEADER_DIGEST.start]);
    digest.update([0; 32]);
    digest.update(&payload[HEADER_DIGEST.end..header.table_end()]);
    digest.finalize().into()
}
