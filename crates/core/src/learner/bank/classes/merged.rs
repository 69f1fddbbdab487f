//! Merging: one bank for many classes from several that learned side by side.
//!
//! The rules are those of the bank for two classes ([`super::super::merge`]). A class that only some
//! of the parts have seen is merged from these. The slots of the merged bank are those of the base,
//! then the new ones of each part, in the order of the parts.

use super::super::bayes::Bayes;
use super::super::log_risks::LogRisks;
use super::super::merge::{BankPart, MergeError, Parts};
use super::super::scale::Scale;
use super::filters::ClassFilters;
use super::lanes::ClassLanes;
use super::pool::Pool;
use super::rates::Rates;
use super::{Costs, Desk, NOWHERE, SoftmaxBank};
use crate::classes::ClassJudge;

impl SoftmaxBank {
    /// The bank that several make which began as copies of this one and went on with rows of their
    /// own, side by side. Each must have the features of this one in the same places, and may have
    /// more. The result depends on the parts and their order alone. The theorem, which is about one
    /// learner, does not hold for it.
    ///
    /// ```
    /// use rueful_core::{Batch, learner::{BankPart, SoftmaxBank}};
    ///
    /// let mut stream = Batch::default();
    /// for round in 0..300_u16 {
    ///     let class = f32::from(round * 7 % 3);
    ///     stream.push(&[0, 1, 2], &[1.0, class, class * class], f64::from(class))?;
    /// }
    /// let (mut base, mut rounds) = (SoftmaxBank::new(), Vec::new());
    /// base.learn_rows(stream.rows().slice(0..100), &mut rounds)?;
    /// let mut parts = [base.clone(), base.clone()];
    /// parts[0].learn_rows(stream.rows().slice(100..200), &mut rounds)?;
    /// parts[1].learn_rows(stream.rows().slice(200..300), &mut rounds)?;
    /// let parts = parts.map(|bank| BankPart { bank, slices: 1 });
    /// let merged = base.merged(parts.into())?;
    /// assert_eq!(merged.rounds(), 300);
    /// assert!(merged.predict(&stream.rows().get(299).features).of(2) > 0.9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merged(&self, mut parts: Vec<BankPart<Self>>) -> Result<Self, MergeError> {
        if !parts.iter().all(|part| part.bank.can_continue(self)) {
            return Err(MergeError::DifferentBase);
        }
        parts.retain(|part| part.bank.rounds > self.rounds);
        match parts.len() {
            0 => return Ok(self.clone()),
            1 => return Ok(parts.swap_remove(0).bank),
            _ => {}
        }
        let slices: Vec<f64> = parts.iter().map(|part| part.slices as f64).collect();
        let mut all = vec![self.clone()];
        all.extend(parts.into_iter().map(|part| part.bank));
        let known = same_classes(&mut all);
        let scales = same_units(&mut all);
        same_filters(&mut all);
        let parts = Parts { base: &all[0], parts: all[1..].iter().zip(slices).collect() };
        let merged = of_pieces(&parts, scales, |part, slot| known[part][slot]);
        let fresh = Self { expected: self.expected, ..Self::new() };
        if merged.continues(&fresh) { Ok(merged) } else { Err(MergeError::OutOfRange) }
    }

    fn can_continue(&self, base: &Self) -> bool {
        self.expected == base.expected
            && self.rounds >= base.rounds
            && self.judged >= base.judged
            && self.features() >= base.features()
            && self.classes.starts_with(&base.classes)
    }

    /// Gives the classes these slots, by number, where all `classes` have one. The first `same` slots
    /// stay as they are.
    fn renumber(&mut self, classes: &[u32], slots: &[u32], same: usize) {
        let to: Vec<u32> = self.classes.iter().map(|&class| slots[class as usize]).collect();
        self.lanes.renumber(&to, classes.len());
        self.filters.renumber(&to, classes.len());
        self.rates.renumber(&to, classes.len());
        self.witnesses.renumber(&to, same as u32, classes.len() as u32);
        (self.classes, self.slots) = (classes.to_vec(), slots.to_vec());
    }

    fn measure_in(&mut self, scales: &[Scale]) {
        let growths: Vec<f32> =
            self.scales.iter().zip(scales).map(|(own, scale)| own.growth_to(scale)).collect();
        for (feature, &growth) in growths.iter().enumerate().filter(|(_, growth)| **growth > 1.0) {
            self.lanes.lengthen(feature, growth);
        }
        self.filters.lengthen(&growths);
    }
}

/// Brings all banks, the first of which is the base, to the same slots of classes. Returns which of the
/// slots each part has seen.
fn same_classes(all: &mut [SoftmaxBank]) -> Vec<Vec<bool>> {
    let same = all[0].classes.len();
    let numbers = all.iter().map(|one| one.slots.len()).max().unwrap_or(0);
    let (mut classes, mut slots) = (Vec::new(), vec![NOWHERE; numbers]);
    for &class in all.iter().flat_map(|one| &one.classes) {
        if slots[class as usize] == NOWHERE {
            slots[class as usize] = classes.len() as u32;
            classes.push(class);
        }
    }
    let knows =
        |one: &SoftmaxBank| classes.iter().map(|&class| one.slot(class).is_some()).collect();
    let known = all[1..].iter().map(knows).collect();
    all.iter_mut().for_each(|one| one.renumber(&classes, &slots, same));
    known
}

/// Brings all banks to the same features and the same units of them, and returns these.
fn same_units(all: &mut [SoftmaxBank]) -> Vec<Scale> {
    let features = all.iter().map(SoftmaxBank::features).max().unwrap_or(0);
    all.iter_mut().for_each(|one| one.grow(features));
    let scale = |feature: usize| {
        let parts = all[1..].iter().map(|one| (&one.scales[feature], 1.0)).collect();
        Scale::merged(&Parts { base: &all[0].scales[feature], parts })
    };
    let scales: Vec<Scale> = (0..features).map(scale).collect();
    all.iter_mut().for_each(|one| one.measure_in(&scales));
    scales
}

/// Lets all filters retire, unless all can go on together.
fn same_filters(all: &mut [SoftmaxBank]) {
    let filters = all[1..].iter().map(|one| (&one.filters, 1.0)).collect();
    if !ClassFilters::go_on(&Parts { base: &all[0].filters, parts: filters }) {
        for one in all.iter_mut().filter(|one| one.filters.are_alive()) {
            one.filters.retire();
            one.retire();
        }
    }
}

/// The bank whose pieces are merged, once all have the same view.
fn of_pieces(
    parts: &Parts<'_, SoftmaxBank>,
    scales: Vec<Scale>,
    knows: impl Fn(usize, usize) -> bool,
) -> SoftmaxBank {
    let base = parts.base;
    let witnesses: Vec<_> = parts.parts.iter().map(|(part, _)| &part.witnesses).collect();
    let rounds = parts.counted(|one| one.rounds);
    let norms_sq = parts.added_size(|one| one.norms_sq);
    SoftmaxBank {
        expected: base.expected,
        classes: base.classes.clone(),
        slots: base.slots.clone(),
        scales,
        lanes: ClassLanes::merged(&parts.of(|one| &one.lanes), &knows),
        filters: ClassFilters::merged(&parts.of(|one| &one.filters), &knows),
        rates: Rates::merged(&parts.of(|one| &one.rates)),
        pool: Pool::merged(&parts.of(|one| &one.pool), base.filters.are_alive()),
        bayes: Bayes::merged(&parts.of(|one| &one.bayes), rounds as f64),
        risks: LogRisks::merged(&parts.of(|one| &one.risks)),
        witnesses: ClassJudge::of_parts(&base.witnesses, &witnesses, &parts.shares()),
        costs: Costs {
            news: parts.added_size(|one| one.costs.news),
            pinches: parts.added_size(|one| one.costs.pinches),
            roundings: parts.added_size(|one| one.costs.roundings),
        },
        rounds,
        judged: parts.added_size(|one| one.judged),
        norms_sq,
        reach: parts.largest(|one| one.reach).max((norms_sq / rounds.max(1) as f64).sqrt()),
        desk: Desk::default(),
    }
}
