//! Software-generated interrupts.

use super::VGic;
use super::bank::bits;
use super::env::Env;

impl VGic {
    /// `vcpu` wrote `value` to ICC_SGI1R_EL1: makes the SGI pending at those VCPUs that have it in
    /// group 1.
    pub fn write_sgi1r<E: Env>(&self, env: &E, vcpu: usize, value: u64) {
        let bit = 1u32 << (value >> 24 & 0xf);
        let all = (1u32 << self.vcpus.len()) - 1;
        let targets = self.sgi_targets(vcpu, value) & all;
        let mut state = self.lock();
        let mut concerned = 0;
        for target in bits(targets) {
            let bank = &mut state.banks[target];
            if bank.group1 & bit != 0 {
                bank.pending |= bit;
                concerned |= 1 << target;
            }
        }
        self.finish(env, state, Some(vcpu), concerned);
    }

    /// Returns the VCPUs that the value names. All have affinity 0.0.0.0 to 0.0.0.7.
    fn sgi_targets(&self, vcpu: usize, value: u64) -> u32 {
        const ALL_OTHERS: u64 = 1 << 40;
        /// Aff3, Aff2 and Aff1; RangeSelector, whose range 0 is Aff0 0 to 15.
        const ELSEWHERE: u64 = 0xff << 48 | 0xff << 32 | 0xff << 16 | 0xf << 44;
        if value & ALL_OTHERS != 0 {
            !(1u32.wrapping_shl(vcpu as u32))
        } else if value & ELSEWHERE == 0 {
            value as u32 & 0xffff
        } else {
            0
        }
    }
}
