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

/// The constants of the rounds.
#[rustfmt::skip]
pub static CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// Digest of whole blocks and the bytes that follow them.
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
    for block in blocks {
        compress_block(state, block);
    }
}

/// FIPS 180-4, section 6.2.2. Of the message schedule the last 16 words are kept.
fn compress_block(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut schedule = [0; 16];
    for (to, from) in schedule.iter_mut().zip(block.as_chunks::<4>().0) {
        *to = u32::from_be_bytes(*from);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (round, constant) in CONSTANTS.iter().enumerate() {
        let word = schedule[round % 16];
        if round < 48 {
            let (near, far) = (schedule[(round + 14) % 16], schedule[(round + 1) % 16]);
            schedule[round % 16] = word
                .wrapping_add(schedule[(round + 9) % 16])
                .wrapping_add(near.rotate_right(17) ^ near.rotate_right(19) ^ near >> 10)
                .wrapping_add(far.rotate_right(7) ^ far.rotate_right(18) ^ far >> 3);
        }
        let first = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add(e & f ^ !e & g)
            .wrapping_add(*constant)
            .wrapping_add(word);
        let second = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a | b) & c | a & b);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    let result = [a, b, c, d, e, f, g, h];
    for (to, from) in state.iter_mut().zip(&result) {
        *to = to.wrapping_add(*from);
    }
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
