//! What slopes prove, quickly or carefully.
//!
//! Slopes a_t prove that no comparator loses less than −Σ φ_t*(a_t) − sup_u (−u·S − (σT/2)‖u‖²) with
//! S = Σ a_t x_t. A [`Minorant`] adds S up plainly and allows for T roundings of it, each of which
//! counts with the reach of the comparators: in a large set that allowance is all one sees. Then
//! S is added up without error: a slope is cut into two numbers whose products with a single fit
//! into a double, and the products are added with compensation.

use rueful_core::ledger::Minorant;
use rueful_core::set::{AnySet, FeasibleSet};
use rueful_core::{Features, NonNegative, Sum};

/// Slopes as they are added up.
#[derive(Debug, Clone)]
pub(crate) enum Proof {
    Quick(Minorant),
    Careful(Careful),
}

/// Slopes added up without error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Careful {
    sigma: f64,
    rounds: u64,
    offset: Sum,
    sums: Vec<Sum>,
    /// S
    slopes: Vec<f64>,
    energy: f64,
    magnitude: f64,
}

impl Proof {
    pub(crate) fn new(sigma: NonNegative, dimension: usize, careful: bool) -> Self {
        let mut proof = if careful {
            Self::Careful(Careful { sigma: sigma.get(), ..Careful::default() })
        } else {
            Self::Quick(Minorant::new(sigma))
        };
        proof.grow(dimension);
        proof
    }

    /// Makes room for features below `dimension`.
    pub(crate) fn grow(&mut self, dimension: usize) {
        match self {
            Self::Quick(minorant) => minorant.grow(dimension),
            Self::Careful(careful) => careful.grow(dimension),
        }
    }

    /// Takes in a slope of an example, with its conjugate.
    #[inline]
    pub(crate) fn add(&mut self, x: &Features<'_>, slope: f64, conjugate: f64) {
        match self {
            Self::Quick(minorant) => minorant.record_dual(x, slope, conjugate),
            Self::Careful(careful) => careful.add(x, slope, conjugate),
        }
    }

    /// To be called after the last example.
    pub(crate) fn finish(&mut self) {
        if let Self::Careful(careful) = self {
            careful.slopes.iter_mut().zip(&careful.sums).for_each(|(s, sum)| *s = sum.value());
        }
    }

    /// S
    pub(crate) fn slopes(&self) -> &[f64] {
        match self {
            Self::Quick(minorant) => minorant.slopes(),
            Self::Careful(careful) => &careful.slopes,
        }
    }

    /// σT
    pub(crate) fn curvature(&self) -> f64 {
        match self {
            Self::Quick(minorant) => minorant.sigma().get() * minorant.rounds() as f64,
            Self::Careful(careful) => careful.curvature(),
        }
    }

    /// What is proved, and how much of it was given up for rounding.
    pub(crate) fn floor(&self, set: &AnySet) -> (f64, f64) {
        match self {
            Self::Quick(minorant) => {
                let coordinates = minorant.slopes().len().into();
                (minorant.floor(set, coordinates), minorant.slack(set, coordinates))
            },
            Self::Careful(careful) => careful.floor(set),
        }
    }
}

impl Careful {
    fn grow(&mut self, dimension: usize) {
        if dimension > self.sums.len() {
            self.sums.resize(dimension, Sum::default());
            self.slopes.resize(dimension, 0.0);
        }
    }

    fn add(&mut self, x: &Features<'_>, slope: f64, conjugate: f64) {
        self.rounds += 1;
        self.offset.add(-conjugate);
        self.magnitude += conjugate.abs();
        if slope != 0.0 {
            self.energy += slope * slope * x.norm_sq();
            let (head, tail) = halves(slope);
            for (i, x) in x.iter() {
                self.sums[i].add(head * x);
                self.sums[i].add(tail * x);
            }
        }
    }

    fn curvature(&self) -> f64 {
        self.sigma * self.rounds as f64
    }

    /// Every entry of S is rounded once at the end, the errors of errors are of second order, and
    /// the support function has a few roundings of its own.
    fn floor(&self, set: &AnySet) -> (f64, f64) {
        let gain = set.support(self.slopes.iter().map(|s| -s), self.curvature());
        let rounds = self.rounds as f64;
        let norm = crate::set::norm(&self.slopes);
        let mut reach = set.reach(self.slopes.len().into());
        if self.curvature() > 0.0 {
            reach = reach.min(norm / self.curvature());
        }
        let second = 16.0 * (rounds * f64::EPSILON).powi(2) * (rounds * self.energy).sqrt();
        let off = 2.0 * f64::EPSILON * norm + second;
        let slack = 16.0 * f64::EPSILON * self.magnitude
            + if off > 0.0 { reach * off } else { 0.0 }
            + 800.0 * f64::EPSILON * gain.abs();
        (self.offset.value() - gain - slack, slack)
    }
}

/// A number as the sum of two that have 29 and 24 bits: their products with a single are exact.
#[inline]
pub(crate) fn halves(number: f64) -> (f64, f64) {
    let head = f64::from_bits(number.to_bits() & !0xFF_FFFF);
    (head, number - head)
}
