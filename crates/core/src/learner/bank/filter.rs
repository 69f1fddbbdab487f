//! A full Kalman filter: the covariance of all weights with all others.
//!
//! ```text
//! f = w·x̃,    s = x̃ᵀP x̃,    w ← w + a P x̃,    P ← P − k P x̃ x̃ᵀ P,    P_ii ← P_ii + q(v₀ − P_ii)
//! ```
//!
//! with k = h/(1 + h s). Two things make it cheap. First, P stays unchanged while there is little to
//! learn about it: h·s adds up in `owed` until it is above 0.05, and the row that reaches this limit
//! pays for all with k = (owed/s)/(1 + owed). Second, changes of a large P wait, and are applied
//! eight at a time. Until then P is the stored matrix less Σ k u uᵀ over the waiting changes. Every
//! row pays for what waits, so changes of a small P are applied at once.
//!
//! The diagonal is always up to date. `lag` is the amount that the drift has added to it since P
//! was last written.
//!
//! In singles P may cease to be a covariance. Then (P x̃)_i² ≤ s·P_ii, which is true for every
//! covariance, is false for some i. In that case s is enlarged until it is true, which bounds the
//! effect of any example on w and P.

use super::eight::{Eight, dot};
use super::merge::{Gaussian, Parts, Rule};
use rueful_machine::{Eights, Kernel, Registers, widest};
use serde::{Deserialize, Serialize};

/// The most features a filter can have, in eights.
pub(super) const WIDEST: usize = 32;

/// A vector by slot. Only the eights in use are read, and those there is room for if the row is that
/// of a table.
pub(super) type Dense = [Eight; WIDEST];

/// The number of changes of P that wait until they are applied together, and below the width up to
/// which none waits.
const WAITING: usize = 8;
const SMALL: usize = 8;
/// P stays unchanged while less than this is owed.
const LEAST: f32 = 0.05;
/// The limit for weights that grow with their unit.
const HEAVIEST_WEIGHT: f32 = 1e15;
/// The most that can be owed. A row of any importance still has its full effect at this limit.
const HEAVIEST: f32 = 1e30;
/// A row with a smaller variance does not change P: singles could not represent the change.
const FAINT: f32 = 1e-18;

/// A filter with less drift forgets so little that it is merged as one without drift.
const LEAST_DRIFT: f32 = 1e-6;

/// A full Kalman filter over slots. A slot is the place of a feature, in the order of first
/// appearance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Filter {
    /// v₀, and below q.
    prior: f32,
    drift: f32,
    /// How many eights of slots are in use, and below how many there is room for.
    width: usize,
    room: usize,
    /// w, and below P_ii and the lag of P_ii, by eights.
    mean: Vec<Eight>,
    diagonal: Vec<Eight>,
    lag: Vec<Eight>,
    /// P, row by row. A row has `room` eights.
    rows: Vec<Eight>,
    /// The waiting changes: u, with `room` eights each, and below k.
    changes: Vec<Eight>,
    gains: [f32; WAITING],
    waiting: usize,
    owed: f32,
}

/// f and s of an example.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Glance {
    pub(super) mean: f32,
    pub(super) variance: f32,
}

/// The slots of an example.
#[derive(Debug, Clone, Copy)]
pub(super) enum Listed<'a> {
    /// These, with their values.
    Some(&'a [(u16, f32)]),
    /// So many of the first, in their order, as in every row of a table.
    First(usize),
}

/// Some of the eights of a vector.
#[inline(always)]
fn some<const N: usize>(all: &[Eight], from: usize) -> &[Eight; N] {
    all[from..].first_chunk().expect(FITS)
}

/// Some of the eights of a vector, mutable.
#[inline(always)]
fn some_mut<const N: usize>(all: &mut [Eight], from: usize) -> &mut [Eight; N] {
    all[from..].first_chunk_mut().expect(FITS)
}

const FITS: &str = "blocks lie within the width of a filter";

/// Adds some eights, multiplied by a number.
#[inline(always)]
fn add_to<V: Eights, const N: usize>(sums: &mut [V; N], value: f32, row: &[Eight]) {
    let value = V::all(value);
    for (sum, p) in sums.iter_mut().zip(row) {
        *sum = *sum + value * p.load();
    }
}

/// f and s as running sums.
struct Seeing<V> {
    mean: V,
    variance: V,
}

impl<V: Eights> Seeing<V> {
    /// Adds some eights, from the stored P times x̃. The drift has added its lag to P since it was
    /// stored.
    #[inline(always)]
    fn add<const N: usize>(
        &mut self,
        stored: &[V; N],
        x: &[Eight; N],
        (lag, weights): (&[Eight; N], &[Eight; N]),
        product: &mut [Eight; N],
    ) {
        for block in 0..N {
            let x = x[block].load::<V>();
            let p = stored[block] + lag[block].load::<V>() * x;
            p.store(&mut product[block].0);
            self.variance = self.variance + p * x;
            self.mean = self.mean + weights[block].load::<V>() * x;
        }
    }

    #[inline(always)]
    fn glance(&self, product: &[Eight], diagonal: &[Eight]) -> Glance {
        let variance = sound_variance::<V>(self.variance.sum(), product, diagonal);
        Glance { mean: self.mean.sum(), variance }
    }
}

impl Filter {
    pub(super) fn new(prior: f32, drift: f32) -> Self {
        Self {
            prior,
            drift,
            width: 0,
            room: 0,
            mean: Vec::new(),
            diagonal: Vec::new(),
            lag: Vec::new(),
            rows: Vec::new(),
            changes: Vec::new(),
            gains: [0.0; WAITING],
            waiting: 0,
            owed: 0.0,
        }
    }

    /// Makes room for so many slots.
    pub(super) fn reserve(&mut self, slots: usize) {
        let room = slots.div_ceil(8).min(WIDEST);
        if room <= self.room {
            return;
        }
        self.settle();
        let prior = Eight::all(self.prior);
        let mut rows = vec![Eight::ZERO; 8 * room * room];
        for (slot, row) in rows.chunks_exact_mut(room).enumerate() {
            if slot < 8 * self.room {
                row[..self.room].copy_from_slice(&self.rows[slot * self.room..][..self.room]);
            } else {
                row[slot / 8].0[slot % 8] = self.prior;
            }
        }
        self.rows = rows;
        self.mean.resize(room, Eight::ZERO);
        self.lag.resize(room, Eight::ZERO);
        self.diagonal.resize(room, prior);
        self.changes = vec![Eight::ZERO; WAITING * room];
        self.room = room;
    }

    /// The eights there is room for.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Takes one more slot into use. The room depends only on the slots in use. When it grows,
    /// waiting changes are applied, which rounds, so this must not depend on how the rows arrive.
    pub(super) fn open(&mut self, slot: usize) {
        self.reserve((slot + 1).next_power_of_two());
        self.width = self.width.max(slot / 8 + 1);
    }

    /// f and s of an example. `x` holds its values by slot, and `listed` says which slots these
    /// are. P x̃ is left in `product`.
    #[inline(always)]
    pub(super) fn see<V: Eights>(
        &self,
        listed: Listed<'_>,
        x: &Dense,
        product: &mut Dense,
    ) -> Glance {
        if self.waiting == 0 && matches!(listed, Listed::First(_)) {
            match self.room {
                1 => return self.see_table::<V, 1, 1>(x, product),
                2 => return self.see_table::<V, 2, 2>(x, product),
                4 => return self.see_table::<V, 4, 4>(x, product),
                8 => return self.see_table::<V, 8, 4>(x, product),
                _ => {}
            }
        }
        let x = &x[..self.width];
        let mut shares = [V::all(0.0); WAITING];
        let changes = self.changes.chunks_exact(self.room.max(1)).zip(&self.gains);
        for (share, (change, &gain)) in shares.iter_mut().zip(changes).take(self.waiting) {
            *share = V::all(gain * dot::<V>(&change[..x.len()], x));
        }
        let shares = &shares[..self.waiting];
        let mut seeing = Seeing { mean: V::all(0.0), variance: V::all(0.0) };
        let fours = self.width / 4;
        for block in 0..fours {
            self.see_block::<V, 4>(listed, shares, 4 * block, x, product, &mut seeing);
        }
        for block in 4 * fours..self.width {
            self.see_block::<V, 1>(listed, shares, block, x, product, &mut seeing);
        }
        seeing.glance(&product[..x.len()], &self.diagonal[..x.len()])
    }

    /// Some eights of P x̃, which stay in registers until they are done: the stored P times x̃,
    /// minus the share of every waiting change, plus the amount that the drift has added.
    #[inline(always)]
    fn see_block<V: Eights, const N: usize>(
        &self,
        listed: Listed<'_>,
        shares: &[V],
        from: usize,
        x: &[Eight],
        product: &mut Dense,
        seeing: &mut Seeing<V>,
    ) {
        let mut sums = match listed {
            Listed::Some(listed) => self.multiply_block::<V, N>(listed, from),
            Listed::First(slots) => self.multiply_first::<V, N>(slots, x, from),
        };
        for (waiting, &share) in shares.iter().enumerate() {
            let change: &[Eight; N] = some(&self.changes, waiting * self.room + from);
            for (p, u) in sums.iter_mut().zip(change) {
                *p = *p - share * u.load();
            }
        }
        let (lag, weights) = (some(&self.lag, from), some(&self.mean, from));
        seeing.add(&sums, some(x, from), (lag, weights), some_mut(product, from));
    }

    /// `see` for the first slots in their order, where nothing waits and there is room for ROOM
    /// eights, N of which are multiplied at a time. Slots that are not in use add nothing.
    #[inline(always)]
    fn see_table<V: Eights, const ROOM: usize, const N: usize>(
        &self,
        x: &Dense,
        product: &mut Dense,
    ) -> Glance {
        let rows = self.rows.as_chunks::<ROOM>().0.as_chunks::<8>().0;
        let (x, product) = (some::<ROOM>(x, 0), some_mut::<ROOM>(product, 0));
        let (lag, weights) = (some::<ROOM>(&self.lag, 0), some::<ROOM>(&self.mean, 0));
        let mut seeing = Seeing { mean: V::all(0.0), variance: V::all(0.0) };
        for block in 0..ROOM / N {
            let from = block * N;
            let (mut even, mut odd) = ([V::all(0.0); N], [V::all(0.0); N]);
            for (x, rows) in x.iter().zip(rows).take(self.width) {
                for pair in 0..4 {
                    add_to(&mut even, x.0[2 * pair], some::<N>(&rows[2 * pair], from));
                    add_to(&mut odd, x.0[2 * pair + 1], some::<N>(&rows[2 * pair + 1], from));
                }
            }
            for (even, odd) in even.iter_mut().zip(odd) {
                *even = *even + odd;
            }
            let known = (some(lag, from), some(weights, from));
            seeing.add(&even, some(x, from), known, some_mut(product, from));
        }
        seeing.glance(product, some::<ROOM>(&self.diagonal, 0))
    }

    /// Some eights of the stored P times x̃.
    #[inline(always)]
    fn multiply_block<V: Eights, const N: usize>(
        &self,
        listed: &[(u16, f32)],
        from: usize,
    ) -> [V; N] {
        let (mut even, mut odd) = ([V::all(0.0); N], [V::all(0.0); N]);
        let (pairs, rest) = listed.as_chunks::<2>();
        for &[one, other] in pairs {
            self.add_row(&mut even, one, from);
            self.add_row(&mut odd, other, from);
        }
        for &one in rest {
            self.add_row(&mut even, one, from);
        }
        for (even, odd) in even.iter_mut().zip(odd) {
            *even = *even + odd;
        }
        even
    }

    /// `multiply_block` for the first slots, one after the other. The additions are in the same
    /// order.
    #[inline(always)]
    fn multiply_first<V: Eights, const N: usize>(
        &self,
        slots: usize,
        x: &[Eight],
        from: usize,
    ) -> [V; N] {
        let (mut even, mut odd) = ([V::all(0.0); N], [V::all(0.0); N]);
        let mut rows = self.rows[..slots * self.room].chunks_exact(self.room.max(1));
        for eight in x {
            for [one, other] in eight.0.as_chunks::<2>().0 {
                let Some(row) = rows.next() else { break };
                add_to(&mut even, *one, &row[from..][..N]);
                let Some(row) = rows.next() else { break };
                add_to(&mut odd, *other, &row[from..][..N]);
            }
        }
        for (even, odd) in even.iter_mut().zip(odd) {
            *even = *even + odd;
        }
        even
    }

    /// Adds some eights of a row of P, multiplied by x̃ of its slot.
    #[inline(always)]
    fn add_row<V: Eights, const N: usize>(&self, sums: &mut [V; N], one: (u16, f32), from: usize) {
        add_to(sums, one.1, &self.rows[usize::from(one.0) * self.room + from..][..N]);
    }

    /// Learns from the example that was seen last, with the slope a and the curvature h of its
    /// loss.
    #[inline(always)]
    pub(super) fn learn<V: Eights>(
        &mut self,
        slope: f32,
        curvature: f32,
        seen: Glance,
        product: &Dense,
    ) {
        self.owed = (self.owed + curvature * seen.variance).min(HEAVIEST);
        let gain = if self.owed < LEAST || seen.variance < FAINT {
            0.0
        } else {
            self.owed / seen.variance / (1.0 + self.owed)
        };
        let product = &product[..self.width];
        self.step::<V>(slope, gain, product);
        if gain > 0.0 {
            self.owed = 0.0;
            self.change::<V>(gain, product);
        }
    }

    /// w ← w + a P x̃, and the diagonal of P − k P x̃ x̃ᵀ P with its drift.
    #[inline(always)]
    fn step<V: Eights>(&mut self, slope: f32, gain: f32, product: &[Eight]) {
        let (a, k) = (V::all(slope), V::all(gain));
        let (q, prior) = (V::all(self.drift), V::all(self.prior));
        let all = self.mean.iter_mut().zip(&mut self.diagonal).zip(&mut self.lag).zip(product);
        for (((mean, diagonal), lag), p) in all {
            let p = p.load::<V>();
            (mean.load::<V>() + a * p).store(&mut mean.0);
            let less = diagonal.load::<V>() - k * (p * p);
            let held = less.max(V::all(0.0));
            let next = held + q * (prior - held);
            next.store(&mut diagonal.0);
            (lag.load::<V>() + (next - less)).store(&mut lag.0);
        }
    }

    /// P ← P − k P x̃ x̃ᵀ P, at once or later.
    #[inline(always)]
    fn change<V: Eights>(&mut self, gain: f32, product: &[Eight]) {
        if self.waiting == 0 && self.width <= SMALL {
            match self.room {
                1 => return self.change_small::<V, 1>(gain, product),
                2 => return self.change_small::<V, 2>(gain, product),
                4 => return self.change_small::<V, 4>(gain, product),
                8 => return self.change_small::<V, 8>(gain, product),
                _ => {}
            }
        }
        self.changes[self.waiting * self.room..][..product.len()].copy_from_slice(product);
        self.gains[self.waiting] = gain;
        self.waiting += 1;
        if self.waiting == WAITING || self.width <= SMALL {
            self.flush::<V>();
        }
    }

    /// `change` at once.
    #[inline(always)]
    fn change_small<V: Eights, const ROOM: usize>(&mut self, gain: f32, product: &[Eight]) {
        let mut u = [V::all(0.0); ROOM];
        for (u, p) in u.iter_mut().zip(product) {
            *u = p.load();
        }
        let rows = self.rows.as_chunks_mut::<ROOM>().0.as_chunks_mut::<8>().0;
        for (eight, (rows, p)) in rows.iter_mut().zip(product).enumerate() {
            let shares = (V::all(gain) * p.load()).array();
            let diagonal = &self.diagonal[eight].0;
            for (slot, row) in rows.iter_mut().enumerate() {
                let share = V::all(shares[slot]);
                for (p, u) in row.iter_mut().zip(u) {
                    (p.load::<V>() - share * u).store(&mut p.0);
                }
                row[eight].0[slot] = diagonal[slot];
            }
        }
        self.lag[..product.len()].fill(Eight::ZERO);
    }

    /// Applies the waiting changes to P.
    #[inline(always)]
    fn flush<V: Eights>(&mut self) {
        let width = self.width;
        let is_settled =
            self.waiting == 0 && self.lag[..width].iter().all(|lag| *lag == Eight::ZERO);
        if self.room == 0 || is_settled {
            return;
        }
        // Those that do not wait have no share in anything.
        self.gains[self.waiting..].fill(0.0);
        let fours = width / 4;
        for block in 0..fours {
            self.flush_block::<V, 4>(4 * block);
        }
        for block in 4 * fours..width {
            self.flush_block::<V, 1>(block);
        }
        for (slot, row) in self.rows.chunks_exact_mut(self.room).take(8 * width).enumerate() {
            row[slot / 8].0[slot % 8] = self.diagonal[slot / 8].0[slot % 8];
        }
        self.lag[..width].fill(Eight::ZERO);
        self.waiting = 0;
    }

    /// Applies the waiting changes to some eights of every row of P. What works on registers stands
    /// in loops: in closures it would not be compiled for them.
    #[inline(always)]
    fn flush_block<V: Eights, const N: usize>(&mut self, from: usize) {
        let (room, gains) = (self.room, self.gains);
        let changes: [&[Eight]; WAITING] =
            std::array::from_fn(|waiting| &self.changes[waiting * room..][..self.width]);
        let own: [&[Eight; N]; WAITING] = changes.map(|change| some(change, from));
        let mut rows = self.rows.chunks_exact_mut(room);
        for eight in 0..self.width {
            let mut shares = [Eight::ZERO; WAITING];
            for (share, (change, gain)) in shares.iter_mut().zip(changes.iter().zip(&gains)) {
                (V::all(*gain) * change[eight].load()).store(&mut share.0);
            }
            for (slot, row) in rows.by_ref().take(8).enumerate() {
                let row: &mut [Eight; N] = some_mut(row, from);
                let mut p = [V::all(0.0); N];
                for (p, row) in p.iter_mut().zip(&*row) {
                    *p = row.load();
                }
                for (share, change) in shares.iter().zip(own) {
                    let share = V::all(share.0[slot]);
                    for (p, u) in p.iter_mut().zip(change) {
                        *p = *p - share * u.load();
                    }
                }
                for (p, row) in p.iter().zip(row) {
                    p.store(&mut row.0);
                }
            }
        }
    }

    /// `flush` outside of kernels.
    #[inline(never)]
    fn settle(&mut self) {
        widest(Flush(self));
    }

    /// The factor for w_i when the unit of x̃_i grows by `growth`. It is limited so that the
    /// variance is at most v₀.
    pub(super) fn stretch_of(&self, slot: usize, growth: f32) -> f32 {
        let variance = self.diagonal[slot / 8].0[slot % 8].max(1e-30);
        growth.min((self.prior / variance).sqrt())
    }

    /// Lets the unit of x̃_i grow: multiplies w_i, and row and column i of P.
    #[cold]
    #[inline(never)]
    pub(super) fn stretch(&mut self, slot: usize, growth: f32) {
        let stretch = self.stretch_of(slot, growth);
        self.settle();
        let (block, lane) = (slot / 8, slot % 8);
        for other in 0..8 * self.width {
            self.rows[other * self.room + block].0[lane] *= stretch;
        }
        let row = &mut self.rows[slot * self.room..][..self.width];
        row.iter_mut().for_each(|p| *p = *p * Eight::all(stretch));
        self.diagonal[block].0[lane] = row[block].0[lane];
        let weight = self.mean[block].0[lane] * stretch;
        self.mean[block].0[lane] = weight.clamp(-HEAVIEST_WEIGHT, HEAVIEST_WEIGHT);
        self.hold(slot);
    }

    /// Clips row and column i to the limits of a covariance: |P_ij| ≤ √(P_ii P_jj).
    fn hold(&mut self, slot: usize) {
        let own = self.diagonal[slot / 8].0[slot % 8];
        for other in (0..8 * self.width).filter(|&other| other != slot) {
            let most = (own * self.diagonal[other / 8].0[other % 8]).max(0.0).sqrt();
            let (row, column) = (other * self.room + slot / 8, slot * self.room + other / 8);
            let within = |p: f32| p.clamp(-most, most);
            self.rows[row].0[slot % 8] = within(self.rows[row].0[slot % 8]);
            self.rows[column].0[other % 8] = within(self.rows[column].0[other % 8]);
        }
    }

    /// Multiplies all weights when the unit of the labels changes.
    pub(super) fn stretch_all(&mut self, factor: f32) {
        self.mean.iter_mut().for_each(|w| *w = *w * Eight::all(factor));
    }

    /// The weights of the slots in use, by eights.
    #[inline(always)]
    pub(super) fn means(&self) -> &[Eight] {
        &self.mean[..self.width]
    }

    /// The weight of a slot.
    pub(super) fn weight(&self, slot: usize) -> f32 {
        self.mean[slot / 8].0[slot % 8]
    }

    /// The weights of some slots with their covariance. A place without a slot has the prior.
    pub(super) fn gaussian(&self, slots: &[Option<usize>]) -> Gaussian {
        let mut settled = self.clone();
        settled.settle();
        let entry = |row: usize, column: usize| {
            f64::from(settled.rows[row * settled.room + column / 8].0[column % 8])
        };
        let mean = slots.iter().map(|slot| slot.map_or(0.0, |slot| self.weight(slot).into()));
        let mut covariance = Vec::with_capacity(slots.len() * slots.len());
        for (i, row) in slots.iter().enumerate() {
            covariance.extend(slots.iter().enumerate().map(|(j, column)| match (row, column) {
                (Some(row), Some(column)) => entry(*row, *column),
                _ if i == j => self.prior.into(),
                _ => 0.0,
            }));
        }
        Gaussian { mean: mean.collect(), covariance }
    }

    /// The filter that several make, where each lists its slots in the same order.
    pub(super) fn merged(parts: &Parts<'_, Self>, slots: &Parts<'_, Vec<Option<usize>>>) -> Self {
        if slots.base.is_empty() {
            return Self::new(parts.base.prior, parts.base.drift);
        }
        let base = parts.base.gaussian(slots.base);
        let all: Vec<Gaussian> = parts
            .parts
            .iter()
            .zip(&slots.parts)
            .map(|((part, _), (slots, _))| part.gaussian(slots))
            .collect();
        let weighed = all.iter().zip(&parts.parts).map(|(all, &(_, slices))| (all, slices));
        let all = Parts { base: &base, parts: weighed.collect() };
        let rule = if parts.base.drift < LEAST_DRIFT { Rule::Sum } else { Rule::Mean };
        let owed = parts.largest(|filter| filter.owed.into());
        Self::new(parts.base.prior, parts.base.drift).filled(&Gaussian::merged(&all, rule), owed)
    }

    /// A fresh filter with these weights and this covariance.
    fn filled(mut self, gaussian: &Gaussian, owed: f64) -> Self {
        let len = gaussian.mean.len();
        (0..len).for_each(|slot| self.open(slot));
        for (slot, row) in gaussian.covariance.chunks_exact(len).enumerate() {
            for (other, &p) in row.iter().enumerate() {
                self.rows[slot * self.room + other / 8].0[other % 8] = p as f32;
            }
            let weight = gaussian.mean[slot] as f32;
            self.mean[slot / 8].0[slot % 8] = weight.clamp(-HEAVIEST_WEIGHT, HEAVIEST_WEIGHT);
            self.diagonal[slot / 8].0[slot % 8] = row[slot] as f32;
        }
        self.owed = owed as f32;
        self
    }

    /// Whether this can be a later state of a fresh filter, with so many slots in use.
    pub(super) fn continues(&self, fresh: &Self, slots: usize) -> bool {
        let finite = |all: &[Eight]| all.iter().all(|x| x.is_finite());
        let room = self.room;
        (self.prior, self.drift) == (fresh.prior, fresh.drift)
            && self.width == slots.div_ceil(8)
            && self.width <= room
            && room <= WIDEST
            && [&self.mean, &self.lag, &self.diagonal].iter().all(|all| all.len() == room)
            && self.rows.len() == 8 * room * room
            && self.changes.len() == WAITING * room
            && self.waiting < WAITING
            && [&self.mean, &self.lag, &self.diagonal, &self.rows, &self.changes]
                .iter()
                .all(|all| finite(all))
            && self.gains.iter().chain([&self.owed]).all(|x| x.is_finite() && *x >= 0.0)
    }
}

/// Applies the waiting changes of a filter.
struct Flush<'a>(&'a mut Filter);

impl Kernel for Flush<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        self.0.flush::<R::Eight>();
    }
}

/// s, enlarged if necessary until p_i² ≤ s·P_ii is true.
#[inline(always)]
pub(super) fn sound_variance<V: Eights>(
    variance: f32,
    product: &[Eight],
    diagonal: &[Eight],
) -> f32 {
    let variance = variance.max(0.0);
    let (most, nothing) = (V::all(TOLERANCE * variance), V::all(0.0));
    let mut excess = nothing;
    for (p, d) in product.iter().zip(diagonal) {
        let p = p.load::<V>();
        excess = excess.max(p * p - most * d.load());
    }
    if excess.above(nothing, V::all(1.0), nothing).sum() == 0.0 {
        return variance;
    }
    larger_variance(variance, product, diagonal)
}

#[cold]
#[inline(never)]
fn larger_variance(variance: f32, product: &[Eight], diagonal: &[Eight]) -> f32 {
    let pairs = product.iter().flat_map(|p| p.0).zip(diagonal.iter().flat_map(|d| d.0));
    let wanted = pairs.filter(|(p, _)| *p != 0.0).map(|(p, d)| p * (p / d.max(1e-12)));
    wanted.fold(variance, f32::max).min(WIDEST_VARIANCE)
}

/// The factor by which roundings may exceed p_i² ≤ s·P_ii.
const TOLERANCE: f32 = 1.01;
const WIDEST_VARIANCE: f32 = 1e36;

#[cfg(test)]
mod tests {
    use super::*;

    type V = rueful_machine::Array<f32, 8>;

    const SLOTS: usize = 11;

    /// The textbook's filter in doubles. It pays for P as the fast one does.
    struct Textbook {
        w: Vec<f64>,
        p: Vec<Vec<f64>>,
        owed: f64,
    }

    impl Textbook {
        fn product(&self, x: &[f64]) -> Vec<f64> {
            self.p.iter().map(|row| row.iter().zip(x).map(|(p, x)| p * x).sum()).collect()
        }

        fn learn(&mut self, x: &[f64], (a, h): (f64, f64), (v0, q): (f64, f64)) {
            let px = self.product(x);
            let s: f64 = px.iter().zip(x).map(|(p, x)| p * x).sum();
            self.owed += h * s;
            let pays = self.owed >= f64::from(LEAST);
            let k = if pays { self.owed / s / (1.0 + self.owed) } else { 0.0 };
            for i in 0..x.len() {
                self.w[i] += a * px[i];
                for j in 0..x.len() {
                    self.p[i][j] -= k * px[i] * px[j];
                }
                self.p[i][i] += q * (v0 - self.p[i][i]);
            }
            if pays {
                self.owed = 0.0;
            }
        }
    }

    fn row(t: usize) -> (Vec<(u16, f32)>, Vec<f64>) {
        let value = |i: usize| ((t * (2 * i + 3) + i * i) % 13) as f64 / 6.5 - 1.0;
        let here = (0..SLOTS).filter(|i| !(t + i).is_multiple_of(3));
        let listed: Vec<_> = here.map(|i| (i as u16, value(i) as f32)).collect();
        let mut x = vec![0.0; SLOTS];
        listed.iter().for_each(|&(i, _)| x[usize::from(i)] = value(usize::from(i)));
        (listed, x)
    }

    fn dense(x: &[f64]) -> Dense {
        let mut dense = [Eight::ZERO; WIDEST];
        x.iter().enumerate().for_each(|(i, &x)| dense[i / 8].0[i % 8] = x as f32);
        dense
    }

    #[test]
    fn it_is_the_textbooks_filter() {
        let (v0, q) = (10.0, 1e-3);
        let mut filter = Filter::new(v0 as f32, q as f32);
        (0..SLOTS).for_each(|slot| filter.open(slot));
        let diagonal = |i: usize| (0..SLOTS).map(|j| if i == j { v0 } else { 0.0 }).collect();
        let p = (0..SLOTS).map(diagonal).collect();
        let mut exact = Textbook { w: vec![0.0; SLOTS], p, owed: 0.0 };
        let mut product = [Eight::ZERO; WIDEST];
        for t in 0..300 {
            let (slots, x) = row(t);
            let seen = filter.see::<V>(Listed::Some(&slots), &dense(&x), &mut product);
            let mean: f64 = exact.w.iter().zip(&x).map(|(w, x)| w * x).sum();
            let variance: f64 = exact.product(&x).iter().zip(&x).map(|(p, x)| p * x).sum();
            assert!((f64::from(seen.mean) - mean).abs() < 2e-3, "{t}: {} {mean}", seen.mean);
            assert!((f64::from(seen.variance) - variance).abs() < 1e-3 * (1.0 + variance), "{t}");
            let (a, h) = ((0.7 - mean) / (1.0 + variance), 0.2 + (t % 5) as f64 / 10.0);
            filter.learn::<V>(a as f32, h as f32, seen, &product);
            exact.learn(&x, (a, h), (v0, q));
        }
        assert!(filter.continues(&Filter::new(v0 as f32, q as f32), SLOTS));
    }

    #[test]
    fn room_makes_no_difference() {
        let (mut early, mut late) = (Filter::new(1.0, 1e-9), Filter::new(1.0, 1e-9));
        early.reserve(200);
        let (mut one, mut other) = ([Eight::ZERO; WIDEST], [Eight::ZERO; WIDEST]);
        for t in 0..100 {
            let (slots, x) = row(t);
            slots.iter().for_each(|&(slot, _)| early.open(slot.into()));
            slots.iter().for_each(|&(slot, _)| late.open(slot.into()));
            let seen = early.see::<V>(Listed::Some(&slots), &dense(&x), &mut one);
            assert_eq!(seen, late.see::<V>(Listed::Some(&slots), &dense(&x), &mut other), "{t}");
            early.learn::<V>(0.5 - seen.mean, 0.25, seen, &one);
            late.learn::<V>(0.5 - seen.mean, 0.25, seen, &other);
            if t % 20 == 7 {
                early.stretch(3, 2.0);
                late.stretch(3, 2.0);
            }
        }
    }
}
