//! What one pass proves: the price of a comparator, and the lower bound of slopes.

use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::problem::Progress;
use crate::proof::Proof;
use crate::scales::Scales;
use crate::set::make_feasible;
use rueful_core::loss::Loss;
use rueful_core::set::AnySet;
use rueful_core::{Example, NonNegative};
use std::ops::ControlFlow;

/// The comparators, as proofs see them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Region<'a> {
    /// A set of weights in the units of the data.
    Set(&'a AnySet),
    /// A unit-free ball, whose radius U·Y was rounded down and rounded up.
    UnitFree { scales: &'a Scales, inside: f64, outside: f64 },
}

/// The price of a comparator and the bound of slopes, as they are added up.
pub(crate) struct Check<'a> {
    region: Region<'a>,
    u: Vec<f64>,
    cost: Cost,
    proof: Proof,
}

impl<'a> Check<'a> {
    /// A check of u, which is brought into the region. In a unit-free ball it is always careful.
    pub(crate) fn new(
        region: Region<'a>,
        sigma: NonNegative,
        mut u: Vec<f64>,
        careful: bool,
    ) -> Self {
        match region {
            Region::Set(set) => make_feasible(set, &mut u),
            Region::UnitFree { scales, inside, .. } => scales.make_feasible(&mut u, inside),
        }
        let careful = careful || matches!(region, Region::UnitFree { .. });
        let (cost, proof) = (Cost::at(&u, careful), Proof::new(sigma, u.len(), careful));
        Self { region, u, cost, proof }
    }

    /// Makes room for features below `dimension`.
    pub(crate) fn grow(&mut self, dimension: usize) {
        self.u.resize(self.u.len().max(dimension), 0.0);
        self.proof.grow(dimension);
    }

    /// Leaves out the end of u beyond `dimension` as far as it is 0, and returns the length of u.
    pub(crate) fn trim(&mut self, dimension: usize) -> usize {
        let used = self.u.iter().rposition(|u| *u != 0.0).map_or(0, |last| last + 1);
        self.u.resize(dimension.max(used), 0.0);
        self.u.len()
    }

    /// Takes in an example with a slope, or with that of its loss at u. Returns the prediction.
    #[inline]
    pub(crate) fn add<L: Loss>(
        &mut self,
        loss: &L,
        example: &Example<'_>,
        slope: Option<f64>,
    ) -> f64 {
        let Self { region, u, cost, proof } = self;
        let x = &example.features;
        let p = cost.predict(u, x);
        match region {
            Region::Set(_) => {
                let at = cost.add(loss, example, p);
                proof.add(loss, example, slope.unwrap_or(at.slope));
            }
            Region::UnitFree { scales, .. } => {
                let size = x.iter().map(|(i, x)| (u[i] * x).abs()).sum();
                let at = cost.add_sized(loss, example, p, size);
                proof.add_sized(loss, example, slope.unwrap_or(at.slope), scales.norm_of(x));
            }
        }
        p
    }

    /// The number of examples so far.
    pub(crate) fn examples(&self) -> u64 {
        self.cost.rounds()
    }

    /// Tells the bracket, and returns whether the lower bound is above the one before. It must be
    /// called after the last example.
    pub(crate) fn tell(
        &mut self,
        bracket: &mut Bracket,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> bool {
        self.proof.finish();
        let floor = match self.region {
            Region::Set(set) => self.proof.floor(set),
            Region::UnitFree { scales, outside, .. } => self.proof.floor_unit_free(scales, outside),
        };
        bracket.take(self.upper(), self.cost.slack(), &self.u, floor, watch)
    }

    /// An upper bound on the cost of u.
    pub(crate) fn upper(&self) -> f64 {
        let (_, curvature) = self.proof.curvatures();
        self.cost.upper(curvature)
    }

    /// The curvature σT.
    pub(crate) fn curvature(&self) -> f64 {
        self.proof.curvature()
    }

    /// The sum S of the slopes, once the bracket was told.
    pub(crate) fn slopes(&self) -> &[f64] {
        self.proof.slopes()
    }
}
