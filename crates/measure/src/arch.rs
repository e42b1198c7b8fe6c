//! Instructions that the language has no word for.

#![expect(unsafe_code, reason = "non-temporal stores are instructions of the machine")]

/// Stores a value to all words, past the caches where the machine can.
pub fn store_past_caches(words: &mut [u64], value: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_sfence, _mm_stream_si64};
        for word in words {
            // SAFETY: the address is that of a word that we have alone, and SSE2 is part
            // of every x86-64.
            unsafe { _mm_stream_si64(std::ptr::from_mut(word).cast(), value.cast_signed()) };
        }
        // Later reads of other threads must not see older words.
        // SAFETY: it reads and writes nothing.
        unsafe { _mm_sfence() };
    }
    #[cfg(target_arch = "aarch64")]
    {
        let (pairs, rest) = words.as_chunks_mut::<2>();
        for pair in pairs {
            // SAFETY: it stores to the two words of the pair, which we have alone.
            unsafe {
                std::arch::asm!(
                    "stnp {value}, {value}, [{to}]",
                    value = in(reg) value,
                    to = in(reg) pair.as_mut_ptr(),
                    options(nostack, preserves_flags)
                );
            }
        }
        rest.fill(value);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    words.fill(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_have_the_value() {
        let mut words = vec![0; 1001];
        store_past_caches(&mut words, 7);
        assert!(words.iter().all(|word| *word == 7));
    }
}
