//! Merging of whole stacks: all are brought to the same cells, units and filters, and then every
//! piece is merged by its own rule.

use super::super::filters::Filters;
use super::super::lanes::Lanes;
use super::super::merge::{MergeError, Parts};
use super::super::scale::Scale;
use super::super::targets::Targets;
use super::super::top::Top;
use super::{Scratch, Stack};
use crate::loss::Loss;
use crate::witness::Witnesses;

impl<L: Loss + PartialEq, T: Top> Stack<L, T> {
    /// The bank that several make. Each must have the cells of the base, and may have more.
    pub(in super::super) fn merged(
        base: &Self,
        mut parts: Vec<(Self, f64)>,
    ) -> Result<Self, MergeError> {
        if parts.iter().any(|(part, _)| part.loss != base.loss) {
            return Err(MergeError::DifferentLoss);
        }
        if !parts.iter().all(|(part, _)| part.can_continue(base)) {
            return Err(MergeError::DifferentBase);
        }
        parts.retain(|(part, _)| part.rounds > base.rounds);
        match parts.len() {
            0 => return Ok(base.clone()),
            1 => return Ok(parts.swap_remove(0).0),
            _ => {}
        }
        let (states, slices): (Vec<Self>, Vec<f64>) = parts.into_iter().unzip();
        let mut all = vec![base.clone()];
        all.extend(states);
        let scales = same_view(&mut all)?;
        let parts = all[1..].iter().zip(slices).collect();
        let merged = of_pieces(&Parts { base: &all[0], parts }, &scales);
        if merged.continues(&Self::new(base.loss, base.top.clone())) {
            Ok(merged)
        } else {
            Err(MergeError::OutOfRange)
        }
    }

    fn can_continue(&self, base: &Self) -> bool {
        self.rounds >= base.rounds
            && self.importance >= base.importance
            && self.dimension() >= base.dimension()
    }

    /// Measures labels in this unit, which is at least as large as its own.
    fn measure_labels_in(&mut self, unit: f64) {
        let mut factor = 1.0;
        while let Some(targets) = self.top.targets_mut() {
            factor = targets.stretch_to(unit);
            if factor == 1.0 {
                break;
            }
            self.lanes.stretch(factor);
            self.filters.stretch_all(factor);
            self.top.stretch(factor);
        }
        debug_assert!(factor == 1.0);
    }

    fn measure_features_in(&mut self, scales: &[Scale]) {
        let growths: Vec<f32> =
            (0..).zip(scales).map(|(cell, scale)| self.scale(cell).growth_to(scale)).collect();
        for (cell, &growth) in growths.iter().enumerate().filter(|(_, growth)| **growth > 1.0) {
            self.lanes.lengthen(cell, growth);
        }
        self.filters.lengthen(&growths);
    }

    fn retire_to(&mut self, remaining: usize) {
        while self.filters.len() > remaining {
            self.filters.retire_some();
            self.top.retire(self.filters.len());
        }
    }
}

/// Brings all stacks, the first of which is the base, to the same cells, units of labels and
/// features, and filters. Returns the units of the features.
fn same_view<L: Loss + PartialEq, T: Top>(
    all: &mut [Stack<L, T>],
) -> Result<Vec<Scale>, MergeError> {
    let dimension = all.iter().map(Stack::dimension).max().unwrap_or(0);
    all.iter_mut().for_each(|one| one.grow(dimension));
    let offsets = || all.iter().filter_map(|one| one.top.targets().and_then(Targets::offset));
    if !offsets().zip(offsets().skip(1)).all(|(one, next)| one == next) {
        return Err(MergeError::NoFirstLabel);
    }
    let units = all.iter().filter_map(|one| one.top.targets().map(Targets::known_unit));
    let unit = units.fold(0.0, f64::max);
    all.iter_mut().for_each(|one| one.measure_labels_in(unit));
    let scale = |cell: usize| {
        let parts = all[1..].iter().map(|one| (one.scale(cell), 1.0)).collect();
        Scale::merged(&Parts { base: all[0].scale(cell), parts })
    };
    let scales: Vec<Scale> = (0..dimension).map(scale).collect();
    all.iter_mut().for_each(|one| one.measure_features_in(&scales));
    let filters = all[1..].iter().map(|one| (&one.filters, 1.0)).collect();
    let remaining = Filters::remaining(&Parts { base: &all[0].filters, parts: filters });
    all.iter_mut().for_each(|one| one.retire_to(remaining));
    Ok(scales)
}

/// The stack whose pieces are merged, once all have the same view.
fn of_pieces<L: Loss, T: Top>(parts: &Parts<'_, Stack<L, T>>, scales: &[Scale]) -> Stack<L, T> {
    let others: Vec<_> = parts.parts.iter().map(|(part, _)| &part.witnesses).collect();
    let mut witnesses = Witnesses::of_parts(&parts.base.witnesses, &others, &parts.shares());
    let gauges = witnesses.cells_mut().0;
    gauges.iter_mut().zip(scales).for_each(|(gauge, scale)| gauge.scale = *scale);
    let rounds = parts.counted(|one| one.rounds);
    let norms_sq = parts.added_size(|one| one.norms_sq);
    Stack {
        loss: parts.base.loss,
        top: T::merged(&parts.of(|one| &one.top), rounds as f64),
        lanes: Lanes::merged(&parts.of(|one| &one.lanes)),
        filters: Filters::merged(&parts.of(|one| &one.filters)),
        witnesses,
        rounds,
        importance: parts.added_size(|one| one.importance),
        norms_sq,
        reach: parts.largest(|one| one.reach).max((norms_sq / rounds.max(1) as f64).sqrt()),
        scratch: Scratch { desk: Some(Box::default()), ..Scratch::default() },
    }
}
