//! SHA-256 (FIPS 180-4), by the CPU's instructions where it has them.

const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Digest of whole blocks and what follows them.
pub fn sha256(head: &[[u8; 64]], rest: &[u8]) -> [u8; 32] {
    let mut state = INITIAL;
    let (blocks, tail) = rest.as_chunks::<64>();
    compress(&mut state, head);
    compress(&mut state, blocks);

    // Padding: one bit, zeros, and the length in bits at the end of a block.
    let mut last = [0; 128];
    let length = if tail.len() < 56 { 64 } else { 128 };
    let bits = (64 * head.len() + rest.len()) as u64 * 8;
    for (to, from) in last.iter_mut().zip(tail.iter().chain(&[0x80])) {
        *to = *from;
    }
    for (to, from) in last.iter_mut().take(length).rev().zip(bits.to_le_bytes()) {
        *to = from;
    }
    let (blocks, _) = last.as_chunks::<64>();
    compress(&mut state, &blocks[..length / 64]);

    let mut digest = [0; 32];
    for (to, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *to = word.to_be_bytes();
    }
    digest
}

fn compress(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    #[cfg(target_os = "none")]
    if crate::arch::sha256::compress(state, blocks) {
        return;
    }
    sha2::block_api::compress256(state, blocks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn every_length_gives_the_digest_of_the_library() {
        let data: Vec<u8> = (0..400u32).map(|n| (n * 7 + n / 5) as u8).collect();
        for length in 0..=272 {
            let whole = &data[..128 + length];
            let expected: [u8; 32] = Sha256::digest(whole).into();
            let (head, rest) = whole.split_at(128);
            assert_eq!(sha256(head.as_chunks().0, rest), expected, "{length}");
            assert_eq!(sha256(&[], whole), expected, "{length}");
        }
        assert_eq!(sha256(&[], &[]), <[u8; 32]>::from(Sha256::digest([])));
    }
}
