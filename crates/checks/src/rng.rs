//! A small generator of pseudo-random numbers.
//!
//! A counter goes up by an odd constant and is scrambled by two multiplications (the construction
//! known as SplitMix). Everything is made of integer arithmetic, additions and exact divisions, so
//! a seed gives the same numbers on every machine.

/// A source of pseudo-random numbers: equal seeds give equal sequences.
///
/// ```
/// use rueful_checks::Rng;
/// let (mut one, mut other) = (Rng::new(7), Rng::new(7));
/// assert_eq!(one.bits(), other.bits());
/// assert!((0.0..1.0).contains(&one.unit()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    counter: u64,
}

impl Rng {
    /// The sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.counter;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        const GRID: f64 = (1_u64 << 53) as f64;
        (self.bits() >> 11) as f64 / GRID
    }

    /// A number in [lower, upper).
    pub fn between(&mut self, lower: f64, upper: f64) -> f64 {
        lower + (upper - lower) * self.unit()
    }

    /// An integer in 0..bound.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no integer below 0");
        (self.bits() % bound as u64) as usize
    }

    /// An integer in lower..=upper.
    pub fn integer(&mut self, lower: i32, upper: i32) -> i32 {
        let count = upper.abs_diff(lower) as usize + 1;
        lower + self.below(count) as i32
    }

    /// −1 or +1.
    pub fn sign(&mut self) -> f64 {
        if self.bits() >> 63 == 0 { 1.0 } else { -1.0 }
    }

    /// Returns true with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A bell-shaped number of mean 0 and variance 1: the sum of twelve uniform ones less 6. Unlike
    /// a true Gaussian it needs no logarithm, whose last digit differs between machines.
    pub fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// A number of either sign whose size exceeds s with probability 1/s². Its variance is
    /// infinite.
    pub fn heavy(&mut self) -> f64 {
        self.sign() / (1.0 - self.unit()).sqrt()
    }

    /// `dimension` bell-shaped numbers.
    pub fn direction(&mut self, dimension: usize) -> Vec<f64> {
        (0..dimension).map(|_| self.bell()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_pinned() {
        let mut rng = Rng::new(0);
        assert_eq!([rng.bits(), rng.bits()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        assert_eq!(Rng::new(1).unit(), 0.566_561_575_172_280_9);
    }

    #[test]
    fn moments_are_about_right() {
        let mut rng = Rng::new(3);
        let draws: Vec<f64> = (0..20_000).map(|_| rng.bell()).collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let square = draws.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.03, "{mean} {square}");
        assert!((0..1000).all(|_| (-2..=3).contains(&rng.integer(-2, 3))));
        assert!((0..1000).all(|_| rng.heavy().abs() >= 1.0));
    }
}
