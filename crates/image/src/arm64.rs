//! The header of an arm64 `Image`
//! (Linux, `Documentation/arch/arm64/booting.rst`, section 4).

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 64;
const TEXT_OFFSET: usize = 8;
const IMAGE_SIZE: usize = 16;
const MAGIC: usize = 56;

/// The fields of the header that say where the image goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    /// Distance from an address that is a multiple of 2 MiB, in bytes.
    pub(crate) text_offset: u64,
    /// Memory that the image needs from where it is loaded, in bytes.
    pub(crate) image_size: u64,
}

impl Header {
    /// Reads the header at the start of `image`; `None` if there is none.
    pub(crate) fn read(image: &[u8]) -> Option<Self> {
        let header = image.get(..HEADER_BYTES)?;
        if &header[MAGIC..MAGIC + 4] != b"ARM\x64" {
            return None;
        }
        let long = |at| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&header[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        Some(Self { text_offset: long(TEXT_OFFSET), image_size: long(IMAGE_SIZE) })
    }
}

/// Writes the field `image_size` of the header at the start of `image`, which
/// must have [`HEADER_BYTES`] or more.
pub(crate) fn set_image_size(image: &mut [u8], bytes: u64) {
    image[IMAGE_SIZE..IMAGE_SIZE + 8].copy_from_slice(&bytes.to_le_bytes());
}
