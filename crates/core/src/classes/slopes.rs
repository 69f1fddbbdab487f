//! Matrices of slopes, S = Σ g_t x_tᵀ, by feature and class, for several predictors side by side.
//!
//! A slope over classes is g = p − e_y: a probability for every class, less 1 for the true one. If
//! there are many classes, most have almost no probability, and one common value is good enough for
//! these. So g is a *level* that all classes below some number share, plus the amounts that a few
//! classes have beyond it. A feature keeps the sums of its levels, and lists the classes that had
//! more. So memory follows the features and classes that were seen together.

use crate::exact::ExactSum;
use crate::features::Features;
use crate::sum::Sum;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// One number for each of several predictors.
pub(crate) trait Beside: Copy + Debug + PartialEq {
    /// The number of predictors.
    const COUNT: usize;
    /// 0 for every predictor.
    const ZERO: Self;

    /// The number of one predictor.
    fn get(&self, predictor: usize) -> f64;

    /// Sets the number of one predictor.
    fn set(&mut self, predictor: usize, number: f64);

    /// Adds a multiple of other numbers.
    fn add(&mut self, others: &Self, times: f64);
}

macro_rules! beside {
    ($($count:literal),*) => {$(
        impl Beside for [f64; $count] {
            const COUNT: usize = $count;
            const ZERO: Self = [0.0; $count];

            #[inline(always)]
            fn get(&self, predictor: usize) -> f64 {
                self[predictor]
            }

            #[inline(always)]
            fn set(&mut self, predictor: usize, number: f64) {
                self[predictor] = number;
            }

            #[inline(always)]
            fn add(&mut self, others: &Self, times: f64) {
                for (own, other) in self.iter_mut().zip(others) {
                    *own += other * times;
                }
            }
        }
    )*};
}

beside!(1, 4);

/// A vector over classes, for each predictor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OverClasses<T> {
    /// All classes below `among` have the value `level`.
    pub(crate) among: u32,
    pub(crate) level: T,
    /// The amounts that some classes have beyond the level, by increasing class.
    pub(crate) listed: Vec<(u32, T)>,
}

impl<T: Beside> Default for OverClasses<T> {
    fn default() -> Self {
        Self { among: 0, level: T::ZERO, listed: Vec::new() }
    }
}

impl<T: Beside> OverClasses<T> {
    /// The amount that a class has beyond the level, for the caller to change.
    pub(crate) fn listed_mut(&mut self, class: u32) -> &mut T {
        let place = match self.listed.binary_search_by_key(&class, |&(listed, _)| listed) {
            Ok(place) => place,
            Err(place) => {
                self.listed.insert(place, (class, T::ZERO));
                place
            }
        };
        &mut self.listed[place].1
    }

    /// The norm of the listed part plus that of the level. It is at least the norm of their sum.
    pub(crate) fn size(&self, predictor: usize) -> f64 {
        let squares = self.listed.iter().map(|(_, more)| more.get(predictor).powi(2));
        squares.sum::<f64>().sqrt() + self.level.get(predictor).abs() * f64::from(self.among).sqrt()
    }
}

/// Numbers of some classes, by increasing class. Classes have a vector of their own, because they
/// are searched often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct List<T> {
    classes: Vec<u32>,
    numbers: Vec<T>,
}

impl<T: Beside> List<T> {
    const EMPTY: Self = Self { classes: Vec::new(), numbers: Vec::new() };

    fn len(&self) -> usize {
        self.classes.len()
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.classes.iter().copied().zip(&self.numbers)
    }

    /// Adds to the numbers of a class.
    #[inline(always)]
    fn add(&mut self, class: u32, more: &T, times: f64) {
        // A list of all classes has each class at its own index.
        let place = match self.classes.get(class as usize) {
            Some(&at) if at == class => class as usize,
            _ => self.find_or_insert(class),
        };
        self.numbers[place].add(more, times);
    }

    #[inline(always)]
    fn find_or_insert(&mut self, class: u32) -> usize {
        match self.classes.binary_search(&class) {
            Ok(place) => place,
            Err(place) => self.insert(place, class),
        }
    }

    #[inline(never)]
    fn insert(&mut self, place: usize, class: u32) -> usize {
        if self.len() == self.classes.capacity() {
            let more = 1 + self.len() / 8;
            self.classes.reserve_exact(more);
            self.numbers.reserve_exact(more);
        }
        self.classes.insert(place, class);
        self.numbers.insert(place, T::ZERO);
        place
    }

    fn is_sound(&self, most: u32) -> bool {
        let is_finite = |numbers: &T| (0..T::COUNT).all(|k| numbers.get(k).is_finite());
        self.classes.len() == self.numbers.len()
            && self.classes.windows(2).all(|pair| pair[0] < pair[1])
            && self.classes.last().is_none_or(|&last| last < most)
            && self.numbers.iter().all(is_finite)
    }
}

/// The part of S that belongs to one feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OfFeature<T> {
    /// Levels that all classes below a number share, by increasing number. There are few of them.
    levels: Vec<(u32, T)>,
    /// The amounts that classes have beyond the levels.
    listed: List<T>,
}

impl<T: Beside> OfFeature<T> {
    const NOTHING: Self = Self { levels: Vec::new(), listed: List::EMPTY };

    /// S ← S + g·x
    #[inline(always)]
    fn add(&mut self, slope: &OverClasses<T>, x: f64) {
        if slope.level != T::ZERO {
            self.add_level(slope.among, &slope.level, x);
        }
        for (class, more) in &slope.listed {
            self.listed.add(*class, more, x);
        }
    }

    fn add_level(&mut self, end: u32, level: &T, times: f64) {
        let place = self.levels.partition_point(|&(at, _)| at < end);
        if self.levels.get(place).is_none_or(|&(at, _)| at != end) {
            if self.levels.len() == self.levels.capacity() {
                self.levels.reserve_exact(1 + self.levels.len() / 4);
            }
            self.levels.insert(place, (end, T::ZERO));
        }
        self.levels[place].1.add(level, times);
    }

    /// Calls `see` with the numbers of one predictor, and how many classes have each. Classes that
    /// are neither listed nor below a level have 0 and are left out.
    fn for_each(&self, predictor: usize, mut see: impl FnMut(f64, f64)) {
        let mut rest = self.listed.iter().map(|(class, more)| (class, more.get(predictor)));
        let mut next = rest.next();
        let mut start = 0;
        for (place, &(end, _)) in self.levels.iter().enumerate() {
            let higher = self.levels[place..].iter().map(|(_, level)| level.get(predictor));
            let level: f64 = higher.sum();
            let mut plain = f64::from(end - start);
            while let Some((_, more)) = next.filter(|&(class, _)| class < end) {
                see(level + more, 1.0);
                plain -= 1.0;
                next = rest.next();
            }
            see(level, plain);
            start = end;
        }
        next.into_iter().chain(rest).for_each(|(_, more)| see(more, 1.0));
    }
}

/// The place of numbers of a feature: the end of a level, or a listed class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Level(u32),
    Class(u32),
}

impl<T: Beside> OfFeature<T> {
    fn keys(&self) -> impl Iterator<Item = Key> {
        let levels = self.levels.iter().map(|&(end, _)| Key::Level(end));
        levels.chain(self.listed.classes.iter().map(|&class| Key::Class(class)))
    }

    fn at(&self, key: Key) -> T {
        let found = match key {
            Key::Level(end) => {
                let place = self.levels.binary_search_by_key(&end, |&(at, _)| at);
                place.ok().map(|place| self.levels[place].1)
            }
            Key::Class(class) => {
                let place = self.listed.classes.binary_search(&class);
                place.ok().map(|place| self.listed.numbers[place])
            }
        };
        found.unwrap_or(T::ZERO)
    }

    /// Adds numbers at a place behind all others.
    fn set(&mut self, key: Key, numbers: T) {
        match key {
            Key::Level(end) => self.levels.push((end, numbers)),
            Key::Class(class) => {
                self.listed.classes.push(class);
                self.listed.numbers.push(numbers);
            }
        }
    }
}

/// The numbers that a base and its parts make at one place. Those from which is predicted are the
/// mean over the parts that have changed them. Those of all rounds add up, and are rounded once.
fn merged_at<T: Beside>(
    base: &[&OfFeature<T>; 2],
    parts: &[[&OfFeature<T>; 2]],
    shares: &[f64],
    key: Key,
) -> [T; 2] {
    let of = |both: &[&OfFeature<T>; 2]| both.map(|one| one.at(key));
    let (from, parts) = (of(base), parts.iter().map(of).collect::<Vec<_>>());
    let (mut ahead, mut rest) = (T::ZERO, T::ZERO);
    for k in 0..T::COUNT {
        let start = from[0].get(k);
        let moves = parts.iter().map(|part| part[0].get(k) - start).zip(shares);
        let (moved, share) = moves
            .filter(|(moved, _)| *moved != 0.0)
            .fold((0.0, 0.0), |(sum, all), (moved, share)| (sum + share * moved, all + share));
        let mean = if share > 0.0 { start + moved / share } else { start };
        let whole = |both: &[T; 2]| both.map(|one| one.get(k));
        let added = parts
            .iter()
            .flat_map(|part| whole(part).into_iter().chain(whole(&from).map(|number| -number)));
        let sum: Sum = whole(&from).into_iter().chain(added).chain([-mean]).collect();
        ahead.set(k, mean);
        rest.set(k, sum.value());
    }
    [ahead, rest]
}

/// The matrix S, by feature and class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassSlopes<T> {
    features: Vec<OfFeature<T>>,
}

impl<T: Beside> ClassSlopes<T> {
    pub(crate) fn new() -> Self {
        Self { features: Vec::new() }
    }

    /// Makes room for features below `dimension`.
    pub(crate) fn grow(&mut self, dimension: usize) {
        if dimension > self.features.len() {
            self.features.resize(dimension, OfFeature::NOTHING);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.features.len()
    }

    fn of_feature(&self, feature: usize) -> &OfFeature<T> {
        self.features.get(feature).unwrap_or(const { &OfFeature::NOTHING })
    }

    /// S ← S + g xᵀ
    #[inline(always)]
    pub(crate) fn add(&mut self, slope: &OverClasses<T>, x: &Features<'_>) {
        for (&index, &value) in x.indices().iter().zip(x.values()) {
            self.features[index as usize].add(slope, f64::from(value));
        }
    }

    /// Adds S_i·factor of one feature to the numbers of the classes. Levels are collected in
    /// `steps`, for the caller to add.
    #[inline(always)]
    pub(crate) fn add_feature(&self, feature: usize, factor: f64, to: &mut [T], steps: &mut [T]) {
        let OfFeature { levels, listed } = &self.features[feature];
        for (class, more) in listed.iter() {
            if let Some(to) = to.get_mut(class as usize) {
                to.add(more, factor);
            }
        }
        // A level that ends beyond the requested classes covers all of them.
        for (end, level) in levels {
            let end = (*end as usize).min(steps.len() - 1);
            steps[end].add(level, factor);
        }
    }

    /// Calls `see` with the numbers S_ic of one feature, for one predictor, and how many classes have
    /// each.
    #[cfg(test)]
    pub(super) fn for_each_of(&self, feature: usize, predictor: usize, see: impl FnMut(f64, f64)) {
        self.features[feature].for_each(predictor, see);
    }

    /// Σ_c S_ic² of one feature, for one predictor.
    pub(crate) fn feature_square(&self, feature: usize, predictor: usize) -> f64 {
        let mut sum = 0.0;
        self.features[feature].for_each(predictor, |number, times| sum += times * number * number);
        sum
    }

    /// ‖S/N‖ of one predictor, where `unit` gives N of a feature. A slope of 0 counts as 0 for
    /// every N.
    pub(crate) fn norm(&self, predictor: usize, unit: impl Fn(usize) -> f64) -> f64 {
        let mut sum = ExactSum::default();
        for (feature, slopes) in self.features.iter().enumerate() {
            let unit = unit(feature);
            slopes.for_each(predictor, |number, times| {
                if number != 0.0 {
                    let scaled = number / unit;
                    sum.add_product(scaled, times * scaled);
                }
            });
        }
        sum.root()
    }

    /// Multiplies all numbers by a factor.
    pub(crate) fn scale(&mut self, factor: f64) {
        let multiply =
            |numbers: &mut T| (0..T::COUNT).for_each(|k| numbers.set(k, factor * numbers.get(k)));
        for feature in &mut self.features {
            feature.levels.iter_mut().for_each(|(_, level)| multiply(level));
            feature.listed.numbers.iter_mut().for_each(multiply);
        }
    }

    /// Adds other slopes, which must have the same features.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.grow(other.features.len());
        for (own, theirs) in self.features.iter_mut().zip(&other.features) {
            theirs.levels.iter().for_each(|(end, more)| own.add_level(*end, more, 1.0));
            theirs.listed.iter().for_each(|(class, more)| own.listed.add(class, more, 1.0));
        }
    }

    /// Gives the classes other numbers: class i becomes `to[i]`. The first `same` of them keep theirs,
    /// and levels that end beyond these are listed there.
    pub(crate) fn renumber(&mut self, to: &[u32], same: u32) {
        for feature in &mut self.features {
            let levels = std::mem::take(&mut feature.levels);
            let listed = std::mem::replace(&mut feature.listed, List::EMPTY);
            for (end, level) in &levels {
                feature.add_level((*end).min(same), level, 1.0);
                let beyond = to.get(same as usize..*end as usize).unwrap_or_default();
                beyond.iter().for_each(|&class| feature.listed.add(class, level, 1.0));
            }
            listed
                .iter()
                .for_each(|(class, more)| feature.listed.add(to[class as usize], more, 1.0));
        }
    }

    /// The slopes of a base and of parts that went on from copies of it, with the same features. Each
    /// of them comes as two matrices, the one from which is predicted and the rest of the sum over all
    /// rounds, and so does the result. `shares` are the shares of the parts in the mean.
    pub(crate) fn of_parts(
        base: [&Self; 2],
        parts: &[[&Self; 2]],
        shares: &[f64],
        features: usize,
    ) -> [Self; 2] {
        let mut merged = [Self::new(), Self::new()];
        merged.iter_mut().for_each(|one| one.grow(features));
        for feature in 0..features {
            let from = base.map(|one| one.of_feature(feature));
            let all: Vec<_> =
                parts.iter().map(|part| part.map(|one| one.of_feature(feature))).collect();
            let mut keys: Vec<Key> =
                all.iter().chain([&from]).flatten().flat_map(|one| one.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let [ahead, rest] = merged_at(&from, &all, shares, key);
                merged[0].features[feature].set(key, ahead);
                merged[1].features[feature].set(key, rest);
            }
        }
        merged
    }

    /// Reorders the features: place i gets the content of place `from[i]`.
    pub(crate) fn rearrange(&mut self, from: &[u32]) {
        let features = &mut self.features;
        let take = |&place: &u32| match features.get_mut(place as usize) {
            Some(slopes) => std::mem::replace(slopes, OfFeature::NOTHING),
            None => OfFeature::NOTHING,
        };
        self.features = from.iter().map(take).collect();
    }

    /// Takes out the features from `from` on.
    pub(crate) fn split_off(&mut self, from: usize) -> Self {
        Self { features: self.features.split_off(from) }
    }

    /// Appends the features of others.
    pub(crate) fn append(&mut self, others: Self) {
        self.features.extend(others.features);
    }

    /// How many numbers are kept: the levels, and the listed pairs of a feature and a class.
    pub(crate) fn cells(&self) -> usize {
        self.features.iter().map(|feature| feature.levels.len() + feature.listed.len()).sum()
    }

    /// Whether these slopes, which were read from a file, are valid for this many classes.
    pub(crate) fn is_sound(&self, classes: u32) -> bool {
        let is_one = |feature: &OfFeature<T>| {
            let (ends, levels): (Vec<u32>, Vec<T>) = feature.levels.iter().copied().unzip();
            List { classes: ends, numbers: levels }.is_sound(classes.saturating_add(1))
                && feature.listed.is_sound(classes)
        };
        self.features.iter().all(is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A slope over classes, written out in full.
    fn dense(slope: &OverClasses<[f64; 1]>, classes: usize) -> Vec<f64> {
        let mut all = vec![0.0; classes];
        all[..slope.among as usize].fill(slope.level[0]);
        slope.listed.iter().for_each(|(class, more)| all[*class as usize] += more[0]);
        all
    }

    proptest! {
        /// Lists and levels together equal the matrix that they stand for.
        #[test]
        fn lists_and_levels_are_the_matrix(
            rows in prop::collection::vec(
                (1..6u32, -1.0..1.0f64, prop::collection::vec((0..6u32, -1.0..1.0f64), 0..4),
                 prop::collection::vec(-2.0..2.0f32, 3)), 1..20,
            ),
        ) {
            let (mut slopes, mut matrix) = (ClassSlopes::<[f64; 1]>::new(), [[0.0; 6]; 3]);
            slopes.grow(3);
            for (among, level, listed, values) in rows {
                let mut slope = OverClasses { among, level: [level], listed: Vec::new() };
                listed.iter().for_each(|&(class, more)| slope.listed_mut(class)[0] += more);
                slopes.add(&slope, &Features::new(&[0, 1, 2], &values).unwrap());
                for (row, &x) in matrix.iter_mut().zip(&values) {
                    for (cell, g) in row.iter_mut().zip(dense(&slope, 6)) {
                        *cell += g * f64::from(x);
                    }
                }
            }
            let units = [1.0, 0.5, 4.0];
            let exact: f64 = matrix.iter().zip(units).flat_map(|(row, unit)| row.map(|s| s / unit)).map(|s| s * s).sum();
            let norm = slopes.norm(0, |feature| units[feature]);
            prop_assert!((norm - exact.sqrt()).abs() < 1e-12 * (1.0 + norm));
            let (mut found, mut steps) = (vec![[0.0]; 6], vec![[0.0]; 7]);
            slopes.add_feature(1, 2.0, &mut found, &mut steps);
            let mut waiting = 0.0;
            for class in (0..6).rev() {
                waiting += steps[class + 1][0];
                prop_assert!((found[class][0] + waiting - 2.0 * matrix[1][class]).abs() < 1e-12);
            }
            let square: f64 = matrix[2].iter().map(|s| s * s).sum();
            prop_assert!((slopes.feature_square(2, 0) - square).abs() < 1e-12 * (1.0 + square));
            prop_assert!(slopes.is_sound(6));
        }
    }
}
