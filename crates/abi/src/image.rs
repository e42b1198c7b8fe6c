//! The one bootable image: hypervisor, plan and guest files in one file.
//!
//! ```text
//!  offset 0          the hypervisor: an arm64 `Image` (header, code, data, zeroed memory)
//!  payload           PayloadHeader, 128 bytes, 4 KiB aligned
//!  payload + 128     BlobEntry x blob_count, 96 bytes each
//!  payload + plan    the plan as a flattened device tree
//!  payload + blob i  kernels, initial RAM disks, guest device trees; 4 KiB aligned
//! ```
//!
//! The hypervisor finds the payload at the end of its own memory (the linker symbol `__image_end`).
//! All numbers are little endian; offsets count from the start of the payload. The SHA-256 of the
//! header covers the header (with the digest itself taken as zero) and the blob table; the table
//! contains the digest of each blob, so that one flipped bit anywhere in the payload is found.

/// First bytes of the payload.
pub const PAYLOAD_MAGIC: [u8; 8] = *b"BULKHEAD";
/// Layout version that this crate describes.
pub const PAYLOAD_VERSION: u32 = 1;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 128;
/// Bytes of one entry of the blob table.
pub const ENTRY_BYTES: usize = 96;
/// Alignment of the payload and of every blob in it.
pub const ALIGNMENT: usize = 4096;
/// Most blobs in one image.
pub const BLOBS_MAX: usize = 64;
/// Longest name of a blob.
pub const NAME_BYTES: usize = 40;
/// Name of the blob that contains the plan.
pub const PLAN_BLOB: &str = "plan";

/// The reasons for which bytes are not a payload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PayloadError {
    /// There are fewer bytes than the header or the blob table needs.
    Truncated,
    /// The magic number is missing: there is no payload behind the hypervisor.
    Magic,
    /// The payload has a version that this code does not know.
    Version(u32),
    /// There are more than [`BLOBS_MAX`] blobs.
    TooManyBlobs(u32),
    /// The blob with this index does not lie inside the payload, or is not aligned.
    BlobRange(usize),
    /// The blob with this index has a name that is not UTF-8 or not terminated.
    BlobName(usize),
}

/// Kinds of UART that the hypervisor can use before it has read anything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum ConsoleKind {
    /// No early console.
    None = 0,
    /// Arm PL011.
    Pl011 = 1,
    /// Cadence UART (Zynq UltraScale+).
    Cadence = 2,
}

impl ConsoleKind {
    /// Returns the kind with this number, or `None` if there is none.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1 => Self::Pl011,
            2 => Self::Cadence,
            _ => return None,
        })
    }
}

/// Start of the payload.
///
/// Byte layout: magic 0..8, version 8..12, blob count 12..16, payload bytes
/// 16..24, early console kind 24..28, reserved 28..32, early console address
/// 32..40, digest 40..72, zero up to 128.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PayloadHeader {
    /// Number of entries in the blob table.
    pub blob_count: u32,
    /// Bytes of the whole payload, header included.
    pub payload_bytes: u64,
    /// UART of the board, usable before the plan has been read.
    pub console_kind: u32,
    /// Physical address of that UART.
    pub console_address: u64,
    /// SHA-256 over header and blob table, this field taken as zero.
    pub digest: [u8; 32],
}

/// The place of the digest in the header.
pub const HEADER_DIGEST: core::ops::Range<usize> = 40..72;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl PayloadHeader {
    /// Reads the header at the start of `bytes`.
    pub fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
        let header = bytes.get(..HEADER_BYTES).ok_or(PayloadError::Truncated)?;
        if header[..8] != PAYLOAD_MAGIC {
            return Err(PayloadError::Magic);
        }
        let word = |at| u32_at(header, at).ok_or(PayloadError::Truncated);
        let long = |at| u64_at(header, at).ok_or(PayloadError::Truncated);
        let version = word(8)?;
        if version != PAYLOAD_VERSION {
            return Err(PayloadError::Version(version));
        }
        let blob_count = word(12)?;
        if blob_count as usize > BLOBS_MAX {
            return Err(PayloadError::TooManyBlobs(blob_count));
        }
        let digest = *header[HEADER_DIGEST].first_chunk().ok_or(PayloadError::Truncated)?;
        Ok(Self {
            blob_count,
            payload_bytes: long(16)?,
            console_kind: word(24)?,
            console_address: long(32)?,
            digest,
        })
    }

    /// Returns the bytes of the header in the image.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&PAYLOAD_MAGIC);
        bytes[8..12].copy_from_slice(&PAYLOAD_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.blob_count.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.console_kind.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.console_address.to_le_bytes());
        bytes[HEADER_DIGEST].copy_from_slice(&self.digest);
        bytes
    }

    /// Returns the number of bytes of header and blob table, which the digest covers.
    pub fn table_end(&self) -> usize {
        HEADER_BYTES + self.blob_count as usize * ENTRY_BYTES
    }
}

/// One entry of the blob table.
///
/// Byte layout: name 0..40 (zero terminated), offset 40..48, bytes 48..56,
/// reserved 56..64, digest 64..96.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BlobEntry<'a> {
    /// Name of the blob in the plan: `plan`, or `<vm>/kernel`, `<vm>/initrd`, `<vm>/device-tree`,
    /// in UTF-8.
    pub name: &'a [u8],
    /// The start of the blob, from the start of the payload.
    pub offset: u64,
    /// Bytes of the blob.
    pub bytes: u64,
    /// SHA-256 of the blob.
    pub digest: [u8; 32],
}

impl<'a> BlobEntry<'a> {
    /// Reads entry `index` of the blob table of a payload.
    pub fn read(
        payload: &'a [u8],
        header: &PayloadHeader,
        index: usize,
    ) -> Result<Self, PayloadError> {
        let at = HEADER_BYTES + index * ENTRY_BYTES;
        let entry = payload.get(at..at + ENTRY_BYTES).ok_or(PayloadError::Truncated)?;
        let name = entry[..NAME_BYTES]
            .split(|&byte| byte == 0)
            .next()
            .filter(|name| name.len() < NAME_BYTES && !name.is_empty())
            .ok_or(PayloadError::BlobName(index))?;
        let offset = u64_at(entry, 40).ok_or(PayloadError::Truncated)?;
        let bytes = u64_at(entry, 48).ok_or(PayloadError::Truncated)?;
        let end = offset.checked_add(bytes);
        if offset % ALIGNMENT as u64 != 0
            || offset < header.table_end() as u64
            || end.is_none_or(|end| end > header.payload_bytes)
        {
            return Err(PayloadError::BlobRange(index));
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(&entry[64..96]);
        Ok(Self { name, offset, bytes, digest })
    }

    /// Returns the bytes of the entry in the image, or `None` if the name is empty or longer than
    /// [`NAME_BYTES`] - 1.
    pub fn to_bytes(&self) -> Option<[u8; ENTRY_BYTES]> {
        if self.name.is_empty() || self.name.len() >= NAME_BYTES {
            return None;
        }
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..self.name.len()].copy_from_slice(self.name);
        bytes[40..48].copy_from_slice(&self.offset.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[64..96].copy_from_slice(&self.digest);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> PayloadHeader {
        PayloadHeader {
            blob_count: 1,
            payload_bytes: 3 * ALIGNMENT as u64,
            console_kind: ConsoleKind::Pl011 as u32,
            console_address: 0x0900_0000,
            digest: [7; 32],
        }
    }

    #[test]
    fn header_round_trips() {
        assert_eq!(PayloadHeader::read(&header().to_bytes()), Ok(header()));
    }

    #[test]
    fn bad_headers_are_refused() {
        let good = header().to_bytes();
        assert_eq!(PayloadHeader::read(&good[..100]), Err(PayloadError::Truncated));
        let mut magic = good;
        magic[0] ^= 1;
        assert_eq!(PayloadHeader::read(&magic), Err(PayloadError::Magic));
        let mut version = good;
        version[8] = 9;
        assert_eq!(PayloadHeader::read(&version), Err(PayloadError::Version(9)));
        let mut count = good;
        count[12] = 200;
        assert_eq!(PayloadHeader::read(&count), Err(PayloadError::TooManyBlobs(200)));
    }

    #[test]
    fn entry_round_trips_and_bad_ranges_are_refused() {
        let entry = BlobEntry { name: b"linux/kernel", offset: 4096, bytes: 5000, digest: [3; 32] };
        let mut payload = header().to_bytes().to_vec();
        payload.extend(entry.to_bytes().unwrap());
        assert_eq!(BlobEntry::read(&payload, &header(), 0), Ok(entry));
        for (offset, bytes) in [(4096, 8193), (4097, 1), (0, 1), (!4095, 4096)] {
            let bad = BlobEntry { offset, bytes, ..entry };
            payload.truncate(HEADER_BYTES);
            payload.extend(bad.to_bytes().unwrap());
            assert_eq!(
                BlobEntry::read(&payload, &header(), 0),
                Err(PayloadError::BlobRange(0)),
                "offset {offset:#x}, {bytes} bytes"
            );
        }
    }

    #[test]
    fn names_that_do_not_fit_are_refused() {
        let name = "x".repeat(NAME_BYTES);
        let entry = BlobEntry { name: name.as_bytes(), offset: 0, bytes: 0, digest: [0; 32] };
        assert_eq!(entry.to_bytes(), None);
    }
}
