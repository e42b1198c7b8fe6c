//! List registers: `GICH_LR<n>` (Arm IHI 0048, 5.3.7) has the fields of a GICv3's in other places.

use crate::vdev::gic::ListRegister;

/// INTIDs, of the guest and physical. The second place also has, without a physical interrupt, the
/// bit that asks for a maintenance interrupt and the sender of an SGI.
const ID: u64 = 0x3ff;

/// The content that a GICv2 takes.
pub fn encode(entry: ListRegister) -> u32 {
    let bits = entry.bits();
    // State, group and binding are the four highest bits of a GICv3.
    let state = bits >> 62 << 28;
    let group = (bits >> 60 & 1) << 30;
    let hardware = (bits >> 61 & 1) << 31;
    let priority = (bits >> 51 & 0x1f) << 23;
    (bits & ID | (bits >> 32 & ID) << 10 | priority | state | group | hardware) as u32
}

/// The same as a GICv3 has it.
pub fn decode(bits: u32) -> ListRegister {
    let bits = u64::from(bits);
    let state = (bits >> 28 & 3) << 62;
    let group = (bits >> 30 & 1) << 60;
    let hardware = (bits >> 31) << 61;
    let priority = (bits >> 23 & 0x1f) << 51;
    let content = bits & ID | (bits >> 10 & ID) << 32 | priority | state | group | hardware;
    ListRegister::from_bits(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_a_gicv2_has_them() {
        let timer = ListRegister::new(27, 0xa0, false).hardware(27).pending();
        assert_eq!(encode(timer), 1 << 31 | 1 << 28 | 0xa0 >> 3 << 23 | 27 << 10 | 27);
        let uart = ListRegister::new(33, 0x08, true).watched().active();
        assert_eq!(encode(uart), 1 << 30 | 1 << 29 | 1 << 23 | 1 << 19 | 33);
        let sgi = ListRegister::new(5, 0, false).sent_by(3).pending();
        assert_eq!(encode(sgi), 1 << 28 | 3 << 10 | 5);
        assert_eq!(encode(ListRegister::EMPTY), 0);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for entry in [
            ListRegister::new(1019, 0xf8, true).hardware(1019).active(),
            ListRegister::new(40, 0x50, false).watched(),
            ListRegister::new(15, 0xf8, false).sent_by(7).active(),
            ListRegister::new(0, 0, true).pending(),
            ListRegister::EMPTY,
        ] {
            assert_eq!(decode(encode(entry)), entry);
        }
    }
}
