//! A small generator of pseudo-random numbers. It gives the same data on every machine and in every
//! run.

/// A counter that is stepped by a fixed odd number and scrambled on the way out (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        b ^ (b >> 31)
    }

    /// A uniform number in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number that is close to a standard normal: four uniform numbers added up, with mean 0 and
    /// variance 1.
    pub(crate) fn normal(&mut self) -> f64 {
        let total: f64 = (0..4).map(|_| self.uniform()).sum();
        (total - 2.0) * 3_f64.sqrt()
    }

    /// The numbers below `count` in random order.
    pub(crate) fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        for last in (1..order.len()).rev() {
            let other = (self.uniform() * (last + 1) as f64) as usize;
            order.swap(last, other);
        }
        order
    }
}
