//! Work on several threads. The results are those of one thread.

use crate::error::Outcome;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::sync::mpsc::sync_channel;
use std::thread::{available_parallelism, scope};

/// The number of buffers between the thread that fills them and the one that reads them.
const BUFFERS: usize = 3;

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

/// Shows buffers to `visit`, until it returns false. `fill` makes the next buffer out of an old one, and
/// returns false if there is none. If there is much to do, buffers are filled on another thread while those
/// before are read.
pub(crate) fn each_buffer<B: Default + Send>(
    is_much: bool,
    mut fill: impl FnMut(&mut B) -> Outcome<bool> + Send,
    mut visit: impl FnMut(&B) -> Outcome<bool>,
) -> Outcome<()> {
    if !is_much || cores() == 1 {
        let mut buffer = B::default();
        while fill(&mut buffer)? && visit(&buffer)? {}
        return Ok(());
    }
    scope(|scope| {
        let (give, full) = sync_channel(BUFFERS);
        let (give_back, empty) = sync_channel(BUFFERS);
        (0..BUFFERS).for_each(|_| give_back.send(B::default()).unwrap_or_default());
        scope.spawn(move || {
            // It ends with the last buffer, with an error, or when nobody reads any more.
            for mut buffer in empty {
                let filled = fill(&mut buffer);
                let is_last = !matches!(filled, Ok(true));
                if give.send(filled.map(|is_full| is_full.then_some(buffer))).is_err() || is_last {
                    break;
                }
            }
        });
        for buffer in full {
            let Some(buffer) = buffer? else { break };
            if !visit(&buffer)? {
                break;
            }
            // It is not wanted any more if all buffers are filled.
            let _ = give_back.send(buffer);
        }
        Ok(())
    })
}
