//! One load or store of a guest to a device, decoded from the syndrome.

const SIGN_EXTEND: u64 = 1 << 21;
const SIXTY_FOUR: u64 = 1 << 15;

/// One access, decoded from the syndrome.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// General-purpose register of the guest.
    pub register: u64,
    /// Bytes: 1, 2, 4 or 8.
    pub bytes: u64,
    sign_extend: bool,
    sixty_four: bool,
}

impl Access {
    /// Decodes ESR_EL2 of a data abort with a valid syndrome.
    #[inline(always)]
    pub fn new(syndrome: u64) -> Self {
        Self {
            register: syndrome >> 16 & 0x1f,
            bytes: 1 << (syndrome >> 22 & 3),
            sign_extend: syndrome & SIGN_EXTEND != 0,
            sixty_four: syndrome & SIXTY_FOUR != 0,
        }
    }

    /// Returns the value that a load puts into its register when the device returns `value`.
    #[inline(always)]
    pub fn extend(self, value: u64) -> u64 {
        let unused = 64 - 8 * self.bytes as u32;
        if self.sign_extend {
            return extend_sign(value << unused, unused, self.sixty_four);
        }
        value << unused >> unused
    }

    /// Returns the value that a store of this register passes to the device.
    #[inline(always)]
    pub fn truncate(self, value: u64) -> u64 {
        let unused = 64 - 8 * self.bytes as u32;
        value << unused >> unused
    }
}

/// Returns the upper bits of `value` as a signed number. Drivers hardly ever load one.
#[cold]
#[inline(never)]
fn extend_sign(value: u64, unused: u32, sixty_four: bool) -> u64 {
    let signed = (value as i64 >> unused) as u64;
    if sixty_four { signed } else { signed & 0xffff_ffff }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(bytes: u64, sign_extend: bool, sixty_four: bool) -> Access {
        Access { register: 0, bytes, sign_extend, sixty_four }
    }

    #[test]
    fn loads_extend_as_the_instruction_says() {
        assert_eq!(access(1, false, false).extend(0xfff), 0xff);
        assert_eq!(access(1, true, false).extend(0x80), 0xffff_ff80);
        assert_eq!(access(1, true, true).extend(0x80), 0xffff_ffff_ffff_ff80);
        assert_eq!(access(4, true, true).extend(0x8000_0000), 0xffff_ffff_8000_0000);
        assert_eq!(access(8, false, true).extend(u64::MAX), u64::MAX);
    }

    #[test]
    fn stores_pass_only_their_bytes() {
        assert_eq!(access(2, false, false).truncate(0x1234_5678), 0x5678);
        assert_eq!(access(8, false, true).truncate(u64::MAX), u64::MAX);
    }
}
