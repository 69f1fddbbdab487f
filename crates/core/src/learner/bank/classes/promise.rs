//! The experts of the bank, what mixing them costs, and the bank's theorem.

use super::{Costs, SoftmaxBank, prior};
use crate::bound::{Bound, NoBound, Promise};
use crate::comparators::Comparators;
use crate::learner::bank::experts::{EXPERTS, Expert, MIXER, WITNESS, described};
use crate::learner::bank::merge::OF_PARTS;
use crate::witness::WITNESSES;

impl SoftmaxBank {
    /// The learners that the bank mixes. Their risks are over the rounds whose class had been seen
    /// before.
    pub fn experts(&self) -> Vec<Expert> {
        let (sums, all) = (self.risks.sums(), if self.judged > 0.0 { self.judged } else { 1.0 });
        let risk = |place: usize| sums[place] / all;
        let mut experts = described(self.bayes.prior(), self.bayes.weights(), risk);
        let names = ["recent rate, 0.8 kept", "recent rate, 0.98 kept"];
        let last = experts.len() - names.len();
        for (expert, name) in experts[last..].iter_mut().zip(names) {
            name.clone_into(&mut expert.name);
        }
        let pool = experts.iter_mut().find(|expert| expert.name == "mixer");
        pool.into_iter().for_each(|pool| "pool".clone_into(&mut pool.name));
        experts
    }

    /// The bank's theorem, for comparators without units.
    pub fn promise(&self, comparators: &Comparators) -> Promise {
        match comparators {
            Comparators::UnitFree(ball) => self.promise_within(ball.radius.get()),
            Comparators::Set(_) => {
                Promise::none("the bank's theorem is about comparators without units")
            }
        }
    }

    fn promise_within(&self, radius: f64) -> Promise {
        if self.witnesses.is_of_parts() {
            return Promise::none(OF_PARTS);
        }
        let radii = self.witnesses.radii();
        let reaching = (0..WITNESSES).filter(|&witness| radii[witness] >= radius);
        let promises: Vec<[f64; 2]> = reaching.map(|witness| self.promise_of(witness)).collect();
        let best = |place: usize, formula: &str| {
            let total = promises.iter().map(|both| both[place]).reduce(f64::min);
            match total.filter(|total| total.is_finite()) {
                Some(total) => Ok(Bound::new(total, formula)),
                None if promises.is_empty() => {
                    let reach = radii[WITNESSES - 1];
                    NoBound::because(format!("the bank's theorem reaches to U = {reach} only"))
                }
                None => NoBound::because("its numbers are beyond what doubles hold"),
            }
        };
        Promise {
            data: best(0, "a witness: U(Σ‖g‖²/D + G), and c(ln(1/π) + ln T) for mixing"),
            theorem: best(1, "a witness: U(2√Σ‖g‖² + G), and c(ln(1/π) + ln T) for mixing"),
        }
    }

    /// The data-dependent bound and the theorem, by way of one witness.
    fn promise_of(&self, witness: usize) -> [f64; 2] {
        let own = self.witnesses.promise(witness);
        let rounds = self.rounds as f64;
        let mixing = self.bayes.cost(prior(true)[WITNESS + witness], rounds);
        let Costs { news, pinches, roundings } = self.costs;
        // A softmax in doubles is off by some units in the last place for every class.
        let grain = (128.0 + 4.0 * self.classes.len() as f64) * f64::EPSILON;
        let rounded = grain * self.bayes.largest() * rounds;
        [own.data, own.theorem].map(|own| own + mixing + news + pinches + roundings + rounded)
    }

    /// An upper bound on the total cost of mixing over the best expert. There is none for a bank that
    /// was merged.
    pub fn mixing_cost(&self) -> Option<f64> {
        if self.witnesses.is_of_parts() {
            return None;
        }
        let (sums, now) = (self.risks.sums(), self.bayes.prior());
        let present = (0..EXPERTS).filter(|&place| now[place] > 0.0);
        let best = present.min_by(|&a, &b| sums[a].total_cmp(&sums[b])).unwrap_or(MIXER);
        Some(self.bayes.cost(prior(true)[best], self.rounds as f64))
    }
}
