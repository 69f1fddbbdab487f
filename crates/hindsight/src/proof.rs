//! What slopes prove, quickly or carefully.
//!
//! Slopes a_t prove that no comparator loses less than −Σ φ_t*(a_t) − sup_u (−u·S − (σT/2)‖u‖²) with
//! S = Σ a_t x_t. Added up plainly, S is off by T roundings of Σ|a_t|‖x_t‖ at most, each of which
//! counts with the reach of the comparators: in a large set that allowance is all one sees. Then S is
//! added up without error: a slope is cut into two numbers whose products with a single fit into a
//! double, and the products are added with compensation.

use crate::line::Line;
use crate::prox::ProxLoss;
use crate::rounding::{
    TINY, curvatures, gain_above, grain, norm_above, or_nothing_below, sum_above,
};
use rueful_core::set::{AnySet, BoxSet, FeasibleSet};
use rueful_core::{Example, Features, NonNegative, Sum};

/// Slopes as they are added up.
#[derive(Debug, Clone)]
pub(crate) struct Proof {
    sigma: f64,
    rounds: u64,
    /// −Σ φ_t*(a_t)
    offset: Sum,
    /// What the rounding of the offset is measured against.
    offset_size: f64,
    /// T plus the importances: how often something can have underflowed.
    chances: f64,
    /// S, in a careful proof not before `finish`.
    slopes: Vec<f64>,
    /// S as it is added up, in a careful proof.
    exact: Option<Vec<Sum>>,
    /// Σ|a_t|‖x_t‖
    size: f64,
    /// Σ‖x_t‖ times how far a_t is from the slope of the line that is proved.
    apart: f64,
}

impl Proof {
    pub(crate) fn new(sigma: NonNegative, dimension: usize, careful: bool) -> Self {
        let mut proof = Self {
            sigma: sigma.get(),
            rounds: 0,
            offset: Sum::default(),
            offset_size: 0.0,
            chances: 0.0,
            slopes: Vec::new(),
            exact: careful.then(Vec::new),
            size: 0.0,
            apart: 0.0,
        };
        proof.grow(dimension);
        proof
    }

    /// Makes room for features below `dimension`.
    pub(crate) fn grow(&mut self, dimension: usize) {
        if dimension > self.slopes.len() {
            self.slopes.resize(dimension, 0.0);
            if let Some(exact) = &mut self.exact {
                exact.resize(dimension, Sum::default());
            }
        }
    }

    /// Takes in a slope of an example.
    #[inline]
    pub(crate) fn add<L: ProxLoss>(&mut self, loss: &L, example: &Example<'_>, slope: f64) {
        let line = Line::new(loss, example, slope);
        self.rounds += 1;
        self.offset.add(-line.conjugate);
        self.offset_size += line.size;
        self.chances += 1.0 + example.importance.get();
        if slope != 0.0 {
            self.add_slope(&example.features, slope, line.apart);
        }
    }

    #[inline]
    fn add_slope(&mut self, x: &Features<'_>, slope: f64, apart: f64) {
        let norm = x.norm_sq().sqrt();
        self.size += slope.abs() * norm;
        self.apart += apart * norm;
        let Some(exact) = &mut self.exact else { return x.add_to(&mut self.slopes, slope) };
        let (head, tail) = halves(slope);
        for (i, x) in x.iter() {
            exact[i].add(head * x);
            exact[i].add(tail * x);
        }
    }

    /// To be called after the last example.
    pub(crate) fn finish(&mut self) {
        if let Some(exact) = &self.exact {
            self.slopes.iter_mut().zip(exact).for_each(|(s, sum)| *s = sum.value());
        }
    }

    /// S
    pub(crate) fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    /// σT
    pub(crate) fn curvature(&self) -> f64 {
        self.sigma * self.rounds as f64
    }

    /// σT, rounded down and up.
    pub(crate) fn curvatures(&self) -> (f64, f64) {
        curvatures(self.sigma, self.rounds)
    }

    /// What is proved, and how much of it was given up for rounding.
    pub(crate) fn floor(&self, set: &AnySet) -> (f64, f64) {
        let (curvature, _) = self.curvatures();
        let off = self.error(norm_above(self.slopes.iter().copied()));
        let gain = support_above(set, &self.slopes, off, curvature);
        let plain = support_above(set, &self.slopes, 0.0, curvature);
        let allowance = grain(self.rounds) * self.offset_size + TINY * self.chances;
        let ceiling = sum_above(sum_above(-self.offset.value(), allowance), gain);
        (or_nothing_below(-ceiling), allowance + (gain - plain))
    }

    /// A bound on ‖S − Σ s_t b_t x_t‖ with the slopes b_t whose lines were proved: T roundings of
    /// Σ|a_t|‖x_t‖, or in a careful proof one of S and errors of errors; products that underflow;
    /// and where a slope and its line are apart.
    fn error(&self, norm: f64) -> f64 {
        let rounds = self.rounds as f64;
        let rounding = if self.exact.is_some() {
            let second = 2.0 * (rounds + 1.0) * f64::EPSILON;
            f64::EPSILON * norm + second * second * self.size
        } else {
            f64::EPSILON * (rounds + 8.0) * self.size
        };
        let underflow = TINY * rounds * (self.slopes.len() as f64).sqrt();
        let underflow = if self.size == 0.0 && norm == 0.0 { 0.0 } else { underflow };
        2.0 * self.apart + rounding + underflow
    }
}

/// sup over u in the set of −u·s − (κ/2)‖u‖², rounded up, for an s that may be off by `off` in norm.
pub(crate) fn support_above(set: &AnySet, s: &[f64], off: f64, curvature: f64) -> f64 {
    let longest = sum_above(norm_above(s.iter().copied()), off);
    // Where the curvature stops the best comparator: that of the true s, which may be longer.
    let free = if curvature > 0.0 { (longest / curvature).next_up() } else { f64::INFINITY };
    match set {
        AnySet::Ball(ball) => gain_above(ball.radius.get(), longest, curvature),
        AnySet::WholeSpace(_) => gain_above(f64::INFINITY, longest, curvature),
        AnySet::Box(sides) => {
            let ends = (0..s.len()).map(|i| sides.extent(i));
            let reach = norm_above(ends.map(|(lower, upper)| upper.max(-lower))).min(free);
            sum_above(gain_in_box(sides, s, curvature), above(reach, off))
        }
    }
}

/// sup over the box of −u·s − (κ/2)‖u‖², rounded up.
fn gain_in_box(sides: &BoxSet, s: &[f64], curvature: f64) -> f64 {
    let gains = s.iter().enumerate().map(|(i, &s)| {
        let (lower, upper) = sides.extent(i);
        gain_above(if s > 0.0 { -lower } else { upper }, s.abs(), curvature)
    });
    let total = gains.collect::<Sum>().value();
    above(total, 1.0 + grain(s.len() as u64))
}

/// a·b rounded up, where nothing times anything is nothing.
fn above(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { (a * b).next_up() }
}

/// A number as the sum of two that have 29 and 24 bits: their products with a single are exact.
#[inline]
pub(crate) fn halves(number: f64) -> (f64, f64) {
    let head = f64::from_bits(number.to_bits() & !0xFF_FFFF);
    (head, number - head)
}
