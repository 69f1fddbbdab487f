//! Work on several threads. The results are those of one thread.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread::{available_parallelism, scope};

/// The least number of values for which another thread is worth it.
pub(crate) const LARGE: usize = 1 << 18;

/// Returns the number of cores that may be used. `OMP_NUM_THREADS` can ask for fewer than there are, as
/// Spark does for its workers.
fn cores() -> usize {
    // To count them takes longer than to read a row.
    static CORES: LazyLock<usize> = LazyLock::new(|| {
        let all = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let asked = std::env::var("OMP_NUM_THREADS").ok().and_then(|asked| asked.parse().ok());
        asked.map_or(all, |asked| all.min(asked)).get()
    });
    *CORES
}

/// Does work on all parts of `0..len`, which have at least `least` members each if there are several.
/// Returns the results in the order of the parts.
pub(crate) fn in_parts<T: Send>(
    len: usize,
    least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = (len / least).clamp(1, cores());
    let part = |number: usize| len * number / parts..len * (number + 1) / parts;
    scope(|scope| {
        let work = &work;
        let others = (1..parts).map(|number| scope.spawn(move || work(part(number))));
        let others: Vec<_> = others.collect();
        let first = work(part(0));
        let results =
            others.into_iter().map(|one| one.join().unwrap_or_else(|why| resume_unwind(why)));
        [first].into_iter().chain(results).collect()
    })
}
