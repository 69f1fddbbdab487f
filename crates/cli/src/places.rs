//! Checks that a command writes no file that it reads, and writes no two results to one file.

use crate::args::{Command, FormatArgs, PictureArgs, ReadingArgs, RunArgs};
use anyhow::bail;
use rueful_data::path_of;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that a command reads and writes.
#[derive(Debug, Default)]
struct Places {
    /// Each file with a word for its content, such as `data`.
    read: Vec<(Identity, String)>,
    /// Each file with the flag that names it.
    written: Vec<(Identity, &'static str)>,
}

/// Refuses a command that would overwrite a file that it reads, or write two results to one file.
pub(crate) fn check(command: &Command) -> anyhow::Result<()> {
    let places = Places::default();
    match command {
        Command::Run(args) => check_run(args, &[])?,
        Command::Race(args) => drop(
            places
                .reading(&args.files)
                .with_schemas(&args.format, &args.reading)?
                .with_pictures(&args.pictures)?,
        ),
        Command::Audit(args) => drop(
            places
                .reading([&args.file])
                .reading_as("predictions", args.predictions.as_deref())
                .with_schemas(&args.format, &args.reading)?
                .with_pictures(&args.pictures)?,
        ),
        Command::Data(args) => {
            drop(places.reading(&args.files).with_schemas(&args.format, &args.reading)?);
        }
        Command::Hindsight(args) => {
            drop(places.reading(&args.files).with_schemas(&args.format, &args.reading)?);
        }
        Command::Convert(args) => drop(
            places
                .reading(&args.files)
                .reading_as("schema", args.format.schema.as_deref())
                .writing("--out", Some(&args.out))?,
        ),
        Command::Predict(args) => drop(
            places
                .reading(&args.files)
                .reading_as("model", Some(&args.model))
                .writing("--out", args.out.as_deref())?
                .writing("--figures", args.figures.as_deref())?,
        ),
        _ => {}
    }
    Ok(())
}

/// Does what [`check`] does, for a run. `data` are the files that a model or a spec names, once
/// they are known. A run may save its model to the file that it was resumed from.
pub(crate) fn check_run(args: &RunArgs, data: &[String]) -> anyhow::Result<()> {
    let keep = &args.keep;
    let [resumed, saved] = [&keep.resume, &keep.save].map(|path| path.as_deref());
    let is_same = resumed.and_then(Identity::of) == saved.and_then(Identity::of);
    Places::default()
        .reading(args.files.iter().chain(data))
        .reading_as("spec", args.spec.as_deref())
        .reading_as("model", resumed.filter(|_| !is_same))
        .writing("--save", saved)?
        .writing("--predictions", keep.predictions.as_deref())?
        .with_schemas(&args.format, &args.reading)?
        .with_pictures(&keep.pictures)?;
    Ok(())
}

/// A file, whatever path or link leads to it. Two paths to the same file have equal identities.
#[derive(Debug, PartialEq, Eq)]
struct Identity(PathBuf);

impl Identity {
    /// The identity of the file at this path. Pipes and devices have none, because writing to them
    /// overwrites nothing.
    fn of(path: &Path) -> Option<Self> {
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return None;
        }
        if let Ok(known) = fs::canonicalize(path) {
            return Some(Self(hard_link(path).unwrap_or(known)));
        }
        // A file that does not exist yet is identified by its folder. If the folder does not exist
        // either, the file cannot be written anyway.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        Some(Self(folder.join(path.file_name()?)))
    }
}

/// A name that all hard links to a file share, if there are several.
#[cfg(unix)]
fn hard_link(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path).ok().filter(|found| found.nlink() > 1)?;
    Some(PathBuf::from(format!("\0{}:{}", found.dev(), found.ino())))
}

#[cfg(not(unix))]
fn hard_link(_path: &Path) -> Option<PathBuf> {
    None
}

impl Places {
    /// Adds data files that are read. `-` is standard input and is left out.
    fn reading<'a>(mut self, files: impl IntoIterator<Item = &'a String>) -> Self {
        let files = files.into_iter().filter(|file| *file != "-");
        for file in files {
            self.read.extend(Identity::of(&path_of(file)).map(|it| (it, "data".to_owned())));
        }
        self
    }

    /// Adds a file that is read, with a word for its content.
    fn reading_as(mut self, what: &str, path: Option<&Path>) -> Self {
        let found = path.and_then(Identity::of).map(|it| (it, what.to_owned()));
        self.read.extend(found);
        self
    }

    /// Adds the schema that is read, and the schema that is written.
    fn with_schemas(
        self,
        format: &FormatArgs,
        reading_options: &ReadingArgs,
    ) -> anyhow::Result<Self> {
        self.reading_as("schema", format.schema.as_deref())
            .writing("--write-schema", reading_options.write_schema.as_deref())
    }

    fn with_pictures(self, pictures: &PictureArgs) -> anyhow::Result<Self> {
        self.writing("--report", pictures.report.as_deref())?
            .writing("--plot", pictures.plot.as_deref())
    }

    /// Adds a file that is written, if its flag was given. It is refused if it is one of the files
    /// that were added before.
    fn writing(mut self, flag: &'static str, path: Option<&Path>) -> anyhow::Result<Self> {
        let Some((path, identity)) = path.and_then(|path| Some((path, Identity::of(path)?))) else {
            return Ok(self);
        };
        let shown = path.display();
        if let Some((_, what)) = self.read.iter().find(|(other, _)| *other == identity) {
            bail!(
                "{flag} {shown} would overwrite the {what} that this command reads: name another file"
            );
        }
        if let Some((_, other)) = self.written.iter().find(|(other, _)| *other == identity) {
            bail!("{other} and {flag} would both write {shown}: name two files");
        }
        self.written.push((identity, flag));
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("data"), "x").unwrap();
        fs::create_dir(at("inner")).unwrap();
        let data = at("data").display().to_string();
        let refused = |path: &Path| {
            Places::default()
                .reading([&data])
                .writing("--save", Some(path))
                .unwrap_err()
                .to_string()
        };
        assert!(refused(&at("data")).contains("would overwrite the data"));
        assert!(refused(&at("inner/../data")).contains("--save"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("data"), at("link")).unwrap();
            refused(&at("link"));
            fs::hard_link(at("data"), at("twin")).unwrap();
            refused(&at("twin"));
        }
        let other = Places::default().reading([&data]).writing("--save", Some(&at("new"))).unwrap();
        let twice = other.writing("--report", Some(&at("inner/../new"))).unwrap_err().to_string();
        assert!(twice.contains("--save and --report would both write"), "{twice}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_can_be_written_to_by_all() {
        let null = Some(Path::new("/dev/null"));
        let places = Places::default().reading([&"/dev/null".to_owned()]);
        assert!(places.writing("--save", null).and_then(|it| it.writing("--plot", null)).is_ok());
    }
}
