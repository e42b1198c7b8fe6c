//! Chips whose caches and times can be had by name.

use crate::Duration;

/// Size and ways of a cache; the line is an option of its own.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The size in bytes.
    pub size: u64,
    /// Lines of a set.
    pub ways: u32,
}

/// The options that a name stands for. Options that are given count more.
pub struct Preset {
    name: &'static str,
    /// Private data cache.
    pub l1: Shape,
    /// Private instruction cache.
    pub l1i: Shape,
    /// Last-level cache.
    pub llc: Shape,
    /// True if there is one for all CPUs, false if there is one for each.
    pub llc_shared: bool,
    /// Clock.
    pub mhz: u64,
    /// A hit in the shared cache, beyond the instruction.
    pub llc_hit: Duration,
    /// An access to memory, beyond the instruction.
    pub memory: Duration,
    /// Time of a line on the bus.
    pub bus: Duration,
}

const KIB: u64 = 1 << 10;

impl Preset {
    /// A Cortex-A53 as QEMU describes it, with round times.
    pub const DEFAULT: Self = Self {
        name: "cortex-a53",
        l1: Shape { size: 32 * KIB, ways: 4 },
        l1i: Shape { size: 32 * KIB, ways: 2 },
        llc: Shape { size: 1024 * KIB, ways: 16 },
        llc_shared: true,
        mhz: 1000,
        llc_hit: Duration::Cycles(15),
        memory: Duration::Nanoseconds(100),
        bus: Duration::Nanoseconds(10),
    };

    /// The Cortex-A15 cluster of the ODROID-XU4. Hit and miss: vCache, Table 3.
    /// Bus: two channels of 32 bits at 933 MHz are 14.9 GB/s.
    const EXYNOS_5422: Self = Self {
        name: "exynos-5422",
        l1: Shape { size: 32 * KIB, ways: 2 },
        l1i: Shape { size: 32 * KIB, ways: 2 },
        llc: Shape { size: 2048 * KIB, ways: 16 },
        llc_shared: true,
        mhz: 2000,
        llc_hit: Duration::Nanoseconds(26),
        memory: Duration::Nanoseconds(202),
        bus: Duration::Nanoseconds(5),
    };

    /// The Cortex-A7 cluster of the board of XvIso, section V, which gives no
    /// times: these are estimates. Bus: 32 bits at 450 MHz are 3.6 GB/s.
    const RASPBERRY_PI_2: Self = Self {
        name: "raspberry-pi-2",
        l1: Shape { size: 32 * KIB, ways: 4 },
        l1i: Shape { size: 32 * KIB, ways: 2 },
        llc: Shape { size: 512 * KIB, ways: 8 },
        llc_shared: true,
        mhz: 900,
        llc_hit: Duration::Cycles(10),
        memory: Duration::Nanoseconds(150),
        bus: Duration::Nanoseconds(18),
    };

    /// The x86 machine of vCache, section 6.1.1, which gives no times: the hit is
    /// that of the Sandy Bridge family, the access to memory an estimate. Its
    /// slices are one cache, and its private caches of the second level are left
    /// out. Bus: two channels of DDR3-1333 are 21.3 GB/s.
    const I7_2600: Self = Self {
        name: "i7-2600",
        l1: Shape { size: 32 * KIB, ways: 8 },
        l1i: Shape { size: 32 * KIB, ways: 8 },
        llc: Shape { size: 8192 * KIB, ways: 16 },
        llc_shared: true,
        mhz: 3400,
        llc_hit: Duration::Cycles(30),
        memory: Duration::Nanoseconds(65),
        bus: Duration::Nanoseconds(3),
    };

    /// The machine of XenThrottle, section 4.1: no cache is shared. An access to memory: 64 ns
    /// (section 5.3); bus: 3 MB/ms (section 5.1). Clock: that of the chip of this name; the hit is
    /// an estimate. Its second level takes what leaves the first; here it holds what it holds.
    const ATHLON64_X2_3800: Self = Self {
        name: "athlon64-x2-3800",
        l1: Shape { size: 64 * KIB, ways: 2 },
        l1i: Shape { size: 64 * KIB, ways: 2 },
        llc: Shape { size: 512 * KIB, ways: 16 },
        llc_shared: false,
        mhz: 2000,
        llc_hit: Duration::Cycles(12),
        memory: Duration::Nanoseconds(64),
        bus: Duration::Nanoseconds(21),
    };

    /// The preset with this name, one of [`NAMES`].
    pub fn named(name: &str) -> Option<Self> {
        let all = [
            Self::DEFAULT,
            Self::EXYNOS_5422,
            Self::RASPBERRY_PI_2,
            Self::I7_2600,
            Self::ATHLON64_X2_3800,
        ];
        all.into_iter().find(|preset| preset.name == name)
    }
}

/// The names of all presets, for messages.
pub const NAMES: &str = "cortex-a53, exynos-5422, raspberry-pi-2, i7-2600 or athlon64-x2-3800";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;

    #[test]
    fn each_name_in_messages_is_a_preset() {
        for name in NAMES.split([',', ' ']).filter(|word| word.contains('-')) {
            assert!(Preset::named(name).is_some(), "{name}");
        }
        assert!(Preset::named("athlon").is_none());
    }

    #[test]
    fn reloading_a_color_takes_what_vcache_says() {
        // vCache, Table 3: 207 us for one of 32 colours of 2048 KB.
        let preset = Preset::named("exynos-5422").unwrap();
        let lines = preset.llc.size / 32 / 64;
        let clock = Clock { mhz: preset.mhz };
        let time = clock.nanoseconds(clock.cycles(preset.memory) * lines);
        assert_eq!(time.div_ceil(1000), 207);
    }
}
