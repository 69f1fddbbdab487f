//! A campaign: many inputs for one target.

use crate::minimize::minimize;
use crate::mutate::mutate;
use crate::random::Random;
use crate::targets::Target;
use anyhow::Context;
use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An input that takes this long counts as one that never ends.
const ENDLESS: Duration = Duration::from_secs(60);

/// The number of inputs that are kept to be changed further.
const KEPT: usize = 2000;

/// How long to go on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Budget {
    Inputs(u64),
    Time(Duration),
}

/// A target, and the settings with which it is tried.
pub(crate) struct Campaign {
    pub(crate) target: &'static Target,
    pub(crate) seed: u64,
    pub(crate) corpus: Option<PathBuf>,
}

/// The message of the first panic since it was last cleared.
static SAID: Mutex<String> = Mutex::new(String::new());

/// The input that is being read, its target, and when it began.
static CURRENT: Mutex<Option<(Instant, &'static str, Vec<u8>)>> = Mutex::new(None);

/// From now on the messages of panics are kept and not printed, and an input that takes too long
/// ends the program.
pub(crate) fn catch_quietly() {
    std::panic::set_hook(Box::new(|info| {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_empty() {
            *said = info.to_string();
        }
    }));
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((since, target, input)) = &*current
                && since.elapsed() > ENDLESS
            {
                report(target, Path::new("."), input, "it takes for ever");
                std::process::exit(1);
            }
        }
    });
}

impl Campaign {
    /// Tries inputs until the budget is used up or one fails. Returns whether none failed.
    pub(crate) fn run(&self, budget: Budget) -> anyhow::Result<bool> {
        let start = Instant::now();
        let mut random = Random::new(self.seed);
        let mut pool = self.beginnings()?;
        let mut seen = HashSet::new();
        for input in pool.clone() {
            match self.outcome(&input) {
                Ok(outcome) => drop(seen.insert(outcome)),
                Err(said) => return self.failed(&input, &said),
            }
        }
        let mut count = 0;
        while match budget {
            Budget::Inputs(most) => count < most,
            Budget::Time(most) => start.elapsed() < most,
        } {
            count += 1;
            let mut input = random.pick(&pool).clone();
            mutate(&mut input, &pool, self.target.tokens, &mut random);
            let outcome = match self.outcome(&input) {
                Ok(outcome) => outcome,
                Err(said) => return self.failed(&input, &said),
            };
            if seen.insert(outcome) && pool.len() < KEPT && input.len() < 20_000 {
                self.keep(&input)?;
                pool.push(input);
            }
        }
        println!("{}: {count} inputs, {} kinds of outcome", self.target.name, seen.len());
        Ok(true)
    }

    /// The inputs to begin with: those of the target, and those of the folder.
    fn beginnings(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut all = (self.target.seeds)();
        if let Some(folder) = self.folder() {
            fs::create_dir_all(&folder)?;
            let mut files: Vec<_> = fs::read_dir(&folder)?
                .map(|file| Ok(file?.path()))
                .collect::<std::io::Result<_>>()?;
            files.sort();
            for file in files.iter().filter(|file| file.is_file()) {
                all.push(
                    fs::read(file).with_context(|| format!("cannot read {}", file.display()))?,
                );
            }
        }
        Ok(all)
    }

    fn folder(&self) -> Option<PathBuf> {
        self.corpus.as_ref().map(|corpus| corpus.join(self.target.name))
    }

    fn keep(&self, input: &[u8]) -> anyhow::Result<()> {
        if let Some(folder) = self.folder() {
            fs::write(folder.join(format!("{:016x}", hash(input))), input)?;
        }
        Ok(())
    }

    /// The outcome of an input, or the message of the panic that it caused.
    fn outcome(&self, input: &[u8]) -> Result<String, String> {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), self.target.name, input.to_vec()));
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.target.check)(input)));
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = None;
        outcome.map_err(|_| SAID.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn failed(&self, input: &[u8], said: &str) -> anyhow::Result<bool> {
        println!("{}: an input of {} bytes fails, minimising", self.target.name, input.len());
        let small = minimize(input.to_vec(), |input| self.outcome(input).is_err());
        let said = self.outcome(&small).err().unwrap_or_else(|| said.to_owned());
        report(self.target.name, self.folder().as_deref().unwrap_or(Path::new(".")), &small, &said);
        Ok(false)
    }
}

/// Writes an input that fails to a file, and prints how to replay it.
fn report(target: &str, folder: &Path, input: &[u8], said: &str) {
    let file = folder.join(format!("{target}-{:016x}.failed", hash(input)));
    let shown = input[..input.len().min(300)].escape_ascii();
    println!("{target} fails: {said}\nwith \"{shown}\" ({} bytes)", input.len());
    match fs::write(&file, input) {
        Ok(()) => println!("to see it again: rueful-fuzz {target} --replay {}", file.display()),
        Err(error) => println!("{} cannot be written: {error}", file.display()),
    }
}

fn hash(input: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    hasher.finish()
}
