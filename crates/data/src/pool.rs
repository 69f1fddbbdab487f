//! A pool of threads that work on pieces of a stream and hand them out in the order of the stream.
//!
//! ```text
//! feed ─cut, one thread at a time→ pieces ─work, on any thread→ pieces ─in order→ next
//! ```
//!
//! Every thread does the same: it takes an empty piece, cuts the next one off the feed, works on
//! it, and lays it down under its number. [`next`](Pool::next) picks the pieces up by number, and
//! instead of waiting for one it does the work of a thread itself. The work on a piece depends on
//! that piece alone, so the results and their order do not depend on the number of threads. There
//! are never more pieces than at the beginning, however fast they are cut.
//!
//! A thread that panics loses nothing but its piece. That piece is handed out in its turn with the
//! message of the panic.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The number of pieces beyond one for each thread. Finished pieces may wait while threads go on.
const SPARE: usize = 2;

/// The most threads beside the one that takes the pieces, whatever number is asked for. Each needs memory
/// before it has anything to do.
const HELPERS_MAX: usize = 511;

/// The cutting of a feed into pieces, and the work on each piece.
pub trait Job: Send + Sync + 'static {
    /// A piece, and the memory that is needed to work on it. Pieces are reused.
    type Piece: Default + Send;
    /// The input from which pieces are cut.
    type Feed: Send;

    /// Makes `piece` the next one of the feed. Only one thread at a time does this, in the order of
    /// the stream.
    fn cut(&self, feed: &mut Self::Feed, piece: &mut Self::Piece) -> Cut;

    /// Works on a piece that was cut.
    fn work(&self, piece: &mut Self::Piece);
}

/// The result of cutting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// A piece to work on. There may be more after it.
    Piece,
    /// The last piece. Nobody works on it, and it says how the feed ends.
    Last,
}

/// A piece that is handed out.
#[derive(Debug)]
pub struct Handed<P> {
    /// The piece.
    pub piece: P,
    /// Its number, counted from 0.
    pub number: u64,
    /// The message of the panic that ended the work on this piece, if there was one. The piece is
    /// then half done.
    pub panic: Option<String>,
    /// Whether it is the last piece.
    is_last: bool,
}

/// The number of threads that help the taker of the pieces, and whether the taker works too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crew {
    /// The number of threads beside the one that takes the pieces.
    pub helpers: usize,
    /// Whether the taker cuts and works instead of waiting. It should not do so if cutting may take
    /// forever, as it may on input that is still growing.
    pub taker_works: bool,
}

/// Threads at work. When the pool is dropped, each thread ends after its current piece. Nobody
/// waits for them.
pub struct Pool<J: Job> {
    shared: Arc<Shared<J>>,
    taker_works: bool,
    /// The number of the piece that is handed out next.
    next: u64,
    is_over: bool,
}

impl<J: Job> std::fmt::Debug for Pool<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("next", &self.next).finish_non_exhaustive()
    }
}

/// The state that the threads share.
struct Shared<J: Job> {
    job: J,
    cutter: Mutex<Cutter<J::Feed>>,
    table: Mutex<Table<J::Piece>>,
    changed: Condvar,
}

/// The feed, and the number of its next piece.
struct Cutter<F> {
    feed: F,
    number: u64,
    has_ended: bool,
}

/// The pieces on which nobody is working.
struct Table<P> {
    empty: Vec<P>,
    done: BTreeMap<u64, Handed<P>>,
    /// Whether no more pieces are to be cut, because the feed has ended or nobody wants them.
    is_closed: bool,
}

impl<J: Job> Pool<J> {
    /// Starts the threads.
    pub fn new(job: J, feed: J::Feed, crew: Crew) -> Self {
        let helpers = crew.helpers.min(HELPERS_MAX);
        let empty = (0..helpers + 1 + SPARE).map(|_| J::Piece::default()).collect();
        let shared = Arc::new(Shared {
            job,
            cutter: Mutex::new(Cutter { feed, number: 0, has_ended: false }),
            table: Mutex::new(Table { empty, done: BTreeMap::new(), is_closed: false }),
            changed: Condvar::new(),
        });
        let start = |_: &usize| {
            let shared = Arc::clone(&shared);
            thread::Builder::new().spawn(move || shared.help()).is_ok()
        };
        let helpers = (0..helpers).filter(start).count();
        // If the system gives us no thread, there is nobody else to do the work.
        let taker_works = crew.taker_works || helpers == 0;
        Self { shared, taker_works, next: 0, is_over: false }
    }

    /// The job.
    pub fn job(&self) -> &J {
        &self.shared.job
    }

    /// The next piece. It should be [put back](Self::put_back) when it is no longer needed, before
    /// the following one is asked for.
    #[allow(clippy::should_implement_trait)] // Pieces should come back.
    pub fn next(&mut self) -> Option<Handed<J::Piece>> {
        if self.is_over {
            return None;
        }
        let handed = self.shared.pick_up(self.next, self.taker_works);
        self.is_over = handed.is_last;
        self.next += 1;
        Some(handed)
    }

    /// Gives a piece back so that it can be reused.
    pub fn put_back(&self, piece: J::Piece) {
        self.shared.table().empty.push(piece);
        self.shared.changed.notify_one();
    }

    /// Lets the threads end, because nobody will ask for more pieces.
    pub fn close(&self) {
        self.shared.close();
    }
}

impl<J: Job> Drop for Pool<J> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<J: Job> Shared<J> {
    /// The table. No operation under this lock can panic halfway.
    fn table(&self) -> MutexGuard<'_, Table<J::Piece>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until there is nothing left to do.
    fn help(&self) {
        while let Some(piece) = self.empty_piece() {
            let cutter = self.cutter.lock().unwrap_or_else(PoisonError::into_inner);
            self.process(cutter, piece);
        }
    }

    /// Waits for an empty piece. Returns none if no more pieces are needed.
    fn empty_piece(&self) -> Option<J::Piece> {
        let mut table = self.table();
        loop {
            if table.is_closed {
                return None;
            }
            if let Some(piece) = table.empty.pop() {
                return Some(piece);
            }
            table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Cuts a piece, works on it, and lays it down.
    fn process(&self, mut cutter: MutexGuard<'_, Cutter<J::Feed>>, mut piece: J::Piece) {
        if cutter.has_ended {
            return;
        }
        let number = cutter.number;
        cutter.number += 1;
        let cut = caught(|| self.job.cut(&mut cutter.feed, &mut piece));
        let is_last = !matches!(cut, Ok(Cut::Piece));
        cutter.has_ended = is_last;
        if is_last {
            self.table().is_closed = true;
        }
        drop(cutter);
        self.changed.notify_all(); // Somebody else may cut the next one.
        let worked = match cut {
            Ok(Cut::Piece) => caught(|| self.job.work(&mut piece)),
            Ok(Cut::Last) => Ok(()),
            Err(said) => Err(said),
        };
        let handed = Handed { piece, number, panic: worked.err(), is_last };
        self.table().done.insert(number, handed);
        self.changed.notify_all();
    }

    /// Waits for the piece of that number. If `may_work`, the caller works in the meantime.
    fn pick_up(&self, number: u64, may_work: bool) -> Handed<J::Piece> {
        let mut table = self.table();
        loop {
            if let Some(handed) = table.done.remove(&number) {
                return handed;
            }
            if may_work
                && !table.is_closed
                && !table.empty.is_empty()
                && let Ok(cutter) = self.cutter.try_lock()
                && let Some(piece) = table.empty.pop()
            {
                drop(table);
                self.process(cutter, piece);
                table = self.table();
            } else {
                table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn close(&self) {
        self.table().is_closed = true;
        self.changed.notify_all();
    }
}

/// The result of `work`, or the message of its panic.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // A piece that is half done is handed out as such, and a feed is not cut again after a panic.
    catch_unwind(AssertUnwindSafe(work)).map_err(|said| words(&*said))
}

/// The message of a panic, if it has one.
fn words(said: &(dyn Any + Send)) -> String {
    let text = said.downcast_ref::<&str>().copied();
    let text = text.or_else(|| said.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason was given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Weak;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    /// Squares the numbers of a feed, and panics at some of them.
    #[derive(Default)]
    struct Squares {
        cannot_cut: Option<u64>,
        cannot_work: Option<u64>,
        /// The number of times that a piece was asked for.
        cut: AtomicUsize,
    }

    impl Job for Squares {
        type Piece = (u64, u64);
        type Feed = std::ops::Range<u64>;

        fn cut(&self, feed: &mut Self::Feed, piece: &mut Self::Piece) -> Cut {
            self.cut.fetch_add(1, Ordering::Relaxed);
            let next = feed.next();
            assert!(next.is_none() || next != self.cannot_cut, "no way to cut");
            match next {
                Some(number) => {
                    *piece = (number, 0);
                    Cut::Piece
                }
                None => Cut::Last,
            }
        }

        fn work(&self, piece: &mut Self::Piece) {
            if piece.0.is_multiple_of(5) {
                thread::sleep(Duration::from_micros(50));
            }
            let number = Some(piece.0);
            assert!(number != self.cannot_work, "no way to work on {}", piece.0);
            piece.1 = piece.0 * piece.0;
        }
    }

    fn pool(job: Squares, numbers: u64, helpers: usize, taker_works: bool) -> Pool<Squares> {
        Pool::new(job, 0..numbers, Crew { helpers, taker_works })
    }

    /// The squares up to the end or to a panic, and the number and message of that panic.
    fn drain(mut pool: Pool<Squares>) -> (Vec<u64>, Option<(u64, String)>) {
        let mut squares = Vec::new();
        while let Some(Handed { piece, number, panic, is_last }) = pool.next() {
            if let Some(said) = panic {
                return (squares, Some((number, said)));
            }
            if !is_last {
                squares.push(piece.1);
            }
            pool.put_back(piece);
        }
        (squares, None)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn pieces_come_in_order_on_any_number_of_threads(
            numbers in 0_u64..80, helpers in 0_usize..6, taker_works in any::<bool>()
        ) {
            let (squares, panic) = drain(pool(Squares::default(), numbers, helpers, taker_works));
            prop_assert_eq!(squares, (0..numbers).map(|n| n * n).collect::<Vec<_>>());
            prop_assert_eq!(panic, None);
        }

        #[test]
        fn a_panic_comes_after_the_pieces_before_it(
            at in 0_u64..40, helpers in 0_usize..6, while_cutting in any::<bool>()
        ) {
            let (cannot_cut, cannot_work) =
                if while_cutting { (Some(at), None) } else { (None, Some(at)) };
            let job = Squares { cannot_cut, cannot_work, ..Squares::default() };
            let (squares, panic) = drain(pool(job, 50, helpers, true));
            let said = match while_cutting {
                true => "no way to cut".to_owned(),
                false => format!("no way to work on {at}"),
            };
            prop_assert_eq!(squares, (0..at).map(|n| n * n).collect::<Vec<_>>());
            prop_assert_eq!(panic, Some((at, said)));
        }
    }

    #[test]
    fn nothing_comes_after_the_end() {
        for job in [Squares::default(), Squares { cannot_cut: Some(2), ..Squares::default() }] {
            let mut pool = pool(job, 2, 1, true);
            let handed = std::iter::from_fn(|| pool.next()).take(10).count();
            assert_eq!(handed, 3, "two pieces, and how the feed ends");
            assert!(pool.next().is_none());
        }
    }

    #[test]
    fn no_more_is_cut_than_there_are_pieces() {
        let pool = pool(Squares::default(), 1000, 3, true);
        thread::sleep(Duration::from_millis(50));
        assert_eq!(pool.job().cut.load(Ordering::Relaxed), 3 + 1 + SPARE);
    }

    /// Whether nobody holds the shared state any more, after a short wait.
    fn is_let_go(shared: &Weak<Shared<Squares>>) -> bool {
        let start = Instant::now();
        while shared.strong_count() > 0 && start.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(1));
        }
        shared.strong_count() == 0
    }

    #[test]
    fn more_threads_than_there_can_be_are_not_started() {
        let (squares, panic) = drain(pool(Squares::default(), 9, usize::MAX, true));
        assert_eq!((squares.len(), panic), (9, None));
    }

    #[test]
    fn threads_end_when_nobody_wants_more() {
        for taken in [0, 1, 30] {
            let mut pool = pool(Squares::default(), u64::MAX, 4, true);
            for _ in 0..taken {
                let piece = pool.next().map(|handed| handed.piece).unwrap_or_default();
                pool.put_back(piece);
            }
            let shared = Arc::downgrade(&pool.shared);
            drop(pool);
            assert!(is_let_go(&shared), "after {taken} pieces");
        }
    }

    #[test]
    fn threads_end_with_the_feed_and_with_a_panic() {
        for cannot_work in [None, Some(3)] {
            let pool = pool(Squares { cannot_work, ..Squares::default() }, 6, 3, true);
            let shared = Arc::downgrade(&pool.shared);
            drain(pool);
            assert!(is_let_go(&shared));
        }
    }
}
