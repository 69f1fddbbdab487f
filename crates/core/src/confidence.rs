//! From the losses of the predictions so far to their risk: an upper bound without a holdout set.
//!
//! Let the examples of a stream be drawn independently from one distribution. The predictor of
//! round t was made before its example was seen. Its risk r_t is the loss that it is expected to
//! have on another example, which is the expectation of ℓ_t given all rounds before it. So Σ
//! (r_t − ℓ_t) is a martingale, and the mean of the risks cannot be far above the mean of the
//! losses, which is the sequential risk.
//!
//! *Theorem.* Let 0 ≤ ℓ_t ≤ B, let m_t ∈ [0, B] be any number that is known before round t, and
//! V_t = Σ_{s≤t} ((ℓ_s − m_s)/B)². For every λ ∈ (0, 1), with probability at least 1 − δ it holds
//! for all t at once that
//!
//! ```text
//! Σ_{s≤t} r_s ≤ Σ_{s≤t} ℓ_s + (B/λ)(ψ(λ)V_t + ln(1/δ)),    ψ(λ) = −ln(1 − λ) − λ
//! ```
//!
//! *Proof.* Let ξ = (m_t − ℓ_t)/B ≥ −1. As (ln(1 + λξ) − λξ)/ξ² grows with ξ and is −ψ(λ) at −1,
//! exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ. The expectation of the right side given the past is
//! 1 + λ(m_t − r_t)/B ≤ exp(λ(m_t − r_t)/B). So M_t = exp(λ Σ (r_s − ℓ_s)/B − ψ(λ)V_t) is a
//! supermartingale. It is never negative and starts from 1. By Ville's inequality the probability
//! that it ever reaches 1/δ is at most δ, which is the claim. (Fan, Grama and Liu 2015; Howard,
//! Ramdas, McAuliffe and Sekhon 2021, theorem 4.)
//!
//! The best λ depends on V_t, which is known only afterwards. So there is a list of values λ_k,
//! each with its share δ/((k+1)(k+2)) of δ. The shares add up to at most δ, so the least of the
//! bounds holds. m_t is the mean of the losses before round t, with one loss of B/2 in front.

use crate::sum::Sum;
use serde::{Deserialize, Serialize};

/// The number of λ, from 0.9 down to 0.9/2²⁰ in steps of √2.
const LAMBDAS: u32 = 41;

/// The largest λ.
const LARGEST: f64 = 0.9;

/// A relative allowance for the roundings of a sum of terms that are not negative, and of the few
/// operations on it. It does not depend on the number of terms: each result is off by some units in
/// the last place.
const GRAIN: f64 = 32.0 * f64::EPSILON;

/// The losses of a run so far, summed up for a bound on the mean risk of its predictors.
///
/// It is for independent examples of one distribution, each of importance 1. If importances differ,
/// the losses are not those of draws from one distribution, and the bound must not be used.
///
/// ```
/// use rueful_core::RiskBound;
/// let mut mistakes = RiskBound::new(1.0);
/// for t in 0..1000 {
///     mistakes.observe(if t % 20 == 0 { 1.0 } else { 0.0 });
/// }
/// assert!(mistakes.upper(0.05) < 0.09); // the mean was 0.05
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RiskBound {
    /// B
    range: f64,
    rounds: u64,
    /// Σ ℓ_t
    losses: Sum,
    /// Σ (ℓ_t − m_t)²
    spread: Sum,
    /// m_t of the coming round.
    centre: f64,
    /// Whether some loss was not between 0 and B.
    is_beyond: bool,
}

impl RiskBound {
    /// A bound before the first round, for losses between 0 and `range`. The range is 1 for the
    /// share of mistakes. If the range is not a positive number, every bound is infinite.
    pub fn new(range: f64) -> Self {
        Self {
            range,
            rounds: 0,
            losses: Sum::default(),
            spread: Sum::default(),
            centre: 0.5 * range,
            is_beyond: !(range > 0.0 && range.is_finite()),
        }
    }

    /// Takes the loss of one round into account. If a loss is not between 0 and B, the theorem no
    /// longer applies, and all bounds are infinite from then on.
    #[inline]
    pub fn observe(&mut self, loss: f64) {
        self.is_beyond |= !(loss >= 0.0 && loss <= self.range);
        let off = loss - self.centre;
        self.spread.add(off * off);
        self.losses.add(loss);
        self.rounds += 1;
        self.centre = (0.5 * self.range + self.losses.value()) / (self.rounds as f64 + 1.0);
    }

    /// Takes rounds into account whose losses are 0 or 1, each of which is 1 for a mistake. It gives
    /// the same bits as [`observe`](Self::observe), one by one.
    pub fn observe_mistakes(&mut self, mistakes: impl Iterator<Item = bool>) {
        if self.range < 1.0 || self.is_beyond || !self.losses.is_whole() {
            return mistakes.for_each(|is_mistake| self.observe(f64::from(u8::from(is_mistake))));
        }
        // The sum of the losses is a whole number that is small enough to be exact.
        let (half, mut losses) = (0.5 * self.range, self.losses.value());
        let mut rounds = self.rounds as f64;
        let (mut spread, mut centre) = (self.spread, self.centre);
        for is_mistake in mistakes {
            let loss = f64::from(u8::from(is_mistake));
            let off = loss - centre;
            spread.add(off * off);
            losses += loss;
            rounds += 1.0;
            centre = (half + losses) / (rounds + 1.0);
        }
        self.losses.add(losses - self.losses.value());
        (self.spread, self.centre, self.rounds) = (spread, centre, rounds as u64);
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// An upper bound on the mean of the risks of all predictors so far, (1/T) Σ r_t. With
    /// probability at least 1 − δ it holds after every round, so it may be read at any time. It is
    /// never below the mean of the losses, never above B, and rounded up. It is infinite if nothing
    /// is proved: after a loss outside the range, or for a δ that is not between 0 and 1.
    pub fn upper(&self, delta: f64) -> f64 {
        if self.is_beyond || !(delta > 0.0 && delta < 1.0) {
            return f64::INFINITY;
        }
        let total = self.losses.value() + self.range * self.excess(delta);
        // Without rounds the quotient is infinite, and the result is B.
        (total / self.rounds as f64 * (1.0 + GRAIN)).min(self.range)
    }

    /// The least (ψ(λ_k)V + ln(1/δ_k))/λ_k.
    fn excess(&self, delta: f64) -> f64 {
        let spread = self.spread.value() / self.range / self.range;
        let at = |k| {
            let lambda = LARGEST * 0.5_f64.powf(0.5 * f64::from(k));
            let shares = f64::from((k + 1) * (k + 2));
            (psi(lambda) * spread + (shares / delta).ln()) / lambda
        };
        (0..LAMBDAS).map(at).fold(f64::INFINITY, f64::min)
    }

    /// Whether this, which may be read from anywhere, can be a state of `fresh` after `rounds`
    /// rounds.
    pub fn continues(&self, fresh: Option<&Self>, rounds: u64) -> bool {
        let same_range = fresh.is_some_and(|fresh| fresh.range == self.range);
        same_range && self.rounds == rounds && self.is_sound()
    }

    /// Whether these numbers, which may be read from anywhere, can come from the losses of a run.
    pub fn is_sound(&self) -> bool {
        let most = self.range * self.rounds as f64 * (1.0 + GRAIN);
        let total = |sum: Sum| (0.0..=f64::MAX).contains(&sum.value());
        self.is_beyond
            || (self.range > 0.0
                && total(self.spread)
                && total(self.losses)
                && self.losses.value() <= most
                && (0.0..=self.range).contains(&self.centre))
    }
}

/// ψ(λ) = −ln(1 − λ) − λ, rounded up. The two terms nearly cancel, so the difference is off by a
/// few units in the last place of λ.
fn psi(lambda: f64) -> f64 {
    -(-lambda).ln_1p() - lambda + 4.0 * f64::EPSILON * lambda
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExactSum;

    /// Uniform numbers between 0 and 1, from a seed (splitmix64).
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn coin(&mut self, chance: f64) -> f64 {
            f64::from(u8::from(self.roll() < chance))
        }
    }

    fn of(range: f64, losses: impl IntoIterator<Item = f64>) -> RiskBound {
        let mut bound = RiskBound::new(range);
        losses.into_iter().for_each(|loss| bound.observe(loss));
        bound
    }

    /// The risk of the coming round's predictor, given the losses so far. It is known before the
    /// round.
    type Risk = fn(t: u32, bound: &RiskBound) -> f64;

    /// A predictor that stays the same, one that learns, one that hardly ever errs, one that is bad
    /// whenever things went well, and one that is bad after a round that looked good.
    const RISKS: [Risk; 5] = [
        |_, _| 0.3,
        |t, _| 0.05 + 0.45 / (1.0 + f64::from(t)).sqrt(),
        |_, _| 0.01,
        |t, bound| if bound.losses.value() < 0.4 * f64::from(t) { 0.8 } else { 0.1 },
        |_, bound| if bound.losses.value() % 2.0 == 0.0 { 0.9 } else { 0.02 },
    ];

    /// The number of streams, out of `streams`, in which the mean risk was above its bound after
    /// some round.
    fn failures(risk: Risk, delta: f64, streams: u64, rounds: u32) -> u64 {
        let fails = |seed: u64| {
            let (mut dice, mut bound, mut risks) = (Dice(seed), RiskBound::new(1.0), 0.0);
            (1..=rounds).any(|t| {
                let r = risk(t, &bound);
                risks += r;
                bound.observe(dice.coin(r));
                risks / f64::from(t) > bound.upper(delta)
            })
        };
        (0..streams).filter(|&seed| fails(seed)).count() as u64
    }

    /// δ = 0.05 allows 20 failures in 400 streams.
    #[test]
    fn the_bound_holds_at_all_times_at_once() {
        for (i, risk) in RISKS.into_iter().enumerate() {
            let failed = failures(risk, 0.05, 400, 500);
            assert!(failed <= 20, "stream {i}: {failed} of 400 failed");
        }
    }

    /// The theorem for a single λ is nearly attained. Without the list of λ about δ of the streams
    /// fail, and with half of the added term many more do.
    #[test]
    fn nothing_could_be_left_out() {
        let (lambda, delta, rounds) = (0.9 / 8_f64.sqrt(), 0.3_f64, 300);
        let fails = |seed: u64, part: f64| {
            let (mut dice, mut bound) = (Dice(seed), RiskBound::new(1.0));
            (1..=rounds).any(|t| {
                bound.observe(dice.coin(0.3));
                let added = (psi(lambda) * bound.spread.value() - delta.ln()) / lambda;
                0.3 * f64::from(t) > bound.losses.value() + part * added
            })
        };
        let failed = |part: f64| (0..400).filter(|&seed| fails(seed, part)).count();
        assert!(failed(1.0) <= 120, "{}", failed(1.0));
        assert!(failed(0.5) > 120, "{}", failed(0.5));
    }

    /// B√(ln(1/δ)/(2T)), which holds after one round that was chosen beforehand.
    fn hoeffding(delta: f64, rounds: f64) -> f64 {
        (-delta.ln() / (2.0 * rounds)).sqrt()
    }

    #[test]
    fn it_is_tighter_than_hoeffding_where_the_variance_is_small() {
        let mut dice = Dice(1);
        for (chance, rounds) in [(0.0, 100), (0.01, 1000), (0.02, 10_000), (0.05, 100_000)] {
            let bound = of(1.0, (0..rounds).map(|_| dice.coin(chance)));
            let mean = bound.losses.value() / f64::from(rounds);
            let above = bound.upper(0.05) - mean;
            assert!(above < hoeffding(0.05, f64::from(rounds)), "{chance}: {above}");
        }
    }

    /// If all losses are 0, m_t = B/(2t), and V = ¼ Σ 1/t².
    #[test]
    fn the_bound_on_losses_of_nothing_is_known() {
        let bound = of(2.0, [0.0; 50]);
        let spread = 0.25 * (1..=50).map(|t| 1.0 / f64::from(t * t)).sum::<f64>();
        let psi = -(0.1_f64.ln()) - 0.9;
        let expected = 2.0 * (psi * spread + (2.0 / 0.05_f64).ln()) / 0.9 / 50.0;
        let found = bound.upper(0.05);
        assert!(found >= expected && found <= expected * (1.0 + 1e-14), "{found} {expected}");
    }

    /// One loss proves nothing at δ = 0.05, so the bound is B.
    #[test]
    fn one_round_proves_nothing() {
        for loss in [0.0, 0.5, 3.0] {
            assert_eq!(of(3.0, [loss]).upper(0.05), 3.0);
        }
        assert_eq!(RiskBound::new(3.0).upper(0.05), 3.0);
        let (v, psi) = (0.25, -(0.1_f64.ln()) - 0.9);
        let excess = of(3.0, [0.0]).excess(0.05);
        assert!((excess - (psi * v + 40_f64.ln()) / 0.9).abs() < 1e-14, "{excess}");
    }

    #[test]
    fn the_bound_lies_between_the_mean_and_the_range() {
        let mut dice = Dice(7);
        for range in [1e-30, 1.0, 1e30] {
            let mut bound = RiskBound::new(range);
            let mut losses = Sum::default();
            for t in 1..=2000 {
                let loss = range * dice.roll();
                losses.add(loss);
                bound.observe(loss);
                let upper = bound.upper(0.05);
                assert!(upper >= losses.value() / f64::from(t) && upper <= range);
            }
            assert!(bound.upper(0.05) < 0.6 * range && bound.is_sound());
        }
    }

    /// The same losses in other units give the same bound.
    #[test]
    fn units_make_no_difference() {
        let losses = [0.0, 0.25, 0.0, 0.5, 0.125].repeat(40);
        let one = of(0.5, losses.iter().copied()).upper(0.05);
        let other = of(512.0, losses.iter().map(|loss| 1024.0 * loss)).upper(0.05);
        assert_eq!(1024.0 * one, other);
    }

    #[test]
    fn what_is_not_covered_is_not_bounded() {
        for loss in [-1e-300, 1.0_f64.next_up(), f64::NAN, f64::INFINITY] {
            let bound = of(1.0, [0.5, loss, 0.5]);
            assert_eq!(bound.upper(0.05), f64::INFINITY, "{loss}");
        }
        let fine = of(1.0, [0.0; 100]);
        for delta in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(fine.upper(delta), f64::INFINITY, "{delta}");
        }
        for range in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(of(range, [0.0; 100]).upper(0.05), f64::INFINITY, "{range}");
        }
    }

    #[test]
    fn mistakes_at_once_are_losses_one_by_one() {
        let mut dice = Dice(3);
        for range in [0.5, 1.0, 3.0] {
            let (mut singly, mut together) = (RiskBound::new(range), RiskBound::new(range));
            for length in [0, 1, 7, 500] {
                let coins: Vec<f64> = (0..length).map(|_| dice.coin(0.3)).collect();
                coins.iter().for_each(|&loss| singly.observe(loss));
                together.observe_mistakes(coins.iter().map(|&loss| loss == 1.0));
                assert_eq!(together, singly);
                // A loss that is no whole number.
                [&mut singly, &mut together].into_iter().for_each(|bound| bound.observe(0.25));
                together.observe_mistakes([true, false].into_iter());
                [1.0, 0.0].into_iter().for_each(|loss| singly.observe(loss));
                assert_eq!(together, singly);
            }
        }
    }

    #[test]
    fn it_comes_back_as_it_was() {
        let bound = of(1.0, (0..100).map(|t| f64::from(t % 3) / 2.0));
        let text = serde_json::to_string(&bound).unwrap();
        let back: RiskBound = serde_json::from_str(&text).unwrap();
        assert_eq!(back, bound);
        assert!(back.is_sound());
        let hostile = [
            RiskBound { losses: of(1.0, [1.0; 101]).losses, ..bound },
            RiskBound { centre: 1.5, ..bound },
            RiskBound { spread: [-1.0].into_iter().collect(), ..bound },
            RiskBound { range: -1.0, ..bound },
        ];
        assert!(hostile.iter().all(|bound| !bound.is_sound()));
    }

    /// If every loss is B/2, V is 0, and with δ = 2^−m the bound is (T/2 + (m + 1)ln 2/0.9)/T. With T a
    /// power of two, both sides times 0.9·T are sums of products of doubles.
    #[test]
    fn the_bound_is_never_rounded_down() {
        let rest = 2.319_046_813_846_299_6e-17; // ln 2 less LN_2
        for power in 6..14 {
            let rounds = 2_f64.powi(power);
            let bound = of(1.0, std::iter::repeat_n(0.5, 1 << power));
            for m in 1..30_i32 {
                let upper = bound.upper(2_f64.powi(-m));
                let mut room = ExactSum::default();
                room.add_product(upper * rounds, LARGEST);
                room.add_product(-0.5 * rounds, LARGEST);
                room.add_product(-f64::from(m + 1), std::f64::consts::LN_2);
                room.add_product(-f64::from(m + 1), rest);
                assert!(upper < 1.0 && room.value() >= 0.0, "{power} {m}: {:e}", room.value());
                assert!(room.value() <= 1e-13 * rounds, "{power} {m}: {:e}", room.value());
            }
        }
    }

    /// ψ(λ) is above λ²/2 + λ³/3 + λ⁴/8, by λ⁴/8 at least. For the λ of the list that is far more than
    /// what is rounded in this sum, but not more than a unit in the last place of λ.
    #[test]
    fn psi_is_never_rounded_down() {
        for k in 20..LAMBDAS {
            let lambda = LARGEST * 0.5_f64.powf(0.5 * f64::from(k));
            let below = lambda * lambda * (0.5 + lambda * (1.0 / 3.0 + lambda / 8.0));
            assert!(psi(lambda) >= below, "{k}: {:e}", psi(lambda) - below);
        }
    }
}
