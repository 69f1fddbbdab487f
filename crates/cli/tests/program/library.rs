//! A program of somebody's own, made from the library, learns the same as `rueful run`, to the last bit:
//! from files, and from rows in memory that come one by one.

use crate::harness::{DATA, ask, root};
use rueful_core::Batch;
use rueful_data::Source;
use rueful_run::{Data, DataSettings, ReadingOptions, Resolved, Run, Session, Settings};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// Settings as flags and for the library.
fn settings() -> Vec<(&'static str, Settings)> {
    let set = |learner: &str, loss: &str| Settings {
        learner: Some(learner.to_owned()),
        loss: Some(loss.to_owned()),
        ..Settings::default()
    };
    vec![
        ("", Settings::default()),
        ("--loss square", Settings { loss: Some("square".to_owned()), ..Settings::default() }),
        ("--learner ogd --loss hinge", set("ogd", "hinge")),
        (
            "--learner ftrl --loss logistic --l1 0.5",
            Settings { l1: Some(0.5), ..set("ftrl", "logistic") },
        ),
        ("--learner passive-aggressive-1 --loss absolute", set("passive-aggressive-1", "absolute")),
    ]
}

/// Opens a file, and completes the settings of a run over it.
fn open(mut settings: Settings, file: &str) -> (Resolved, Box<dyn Source>) {
    let reading = DataSettings { files: vec![file.to_owned()], ..DataSettings::default() };
    let labels = settings.labels().expect("the settings make sense");
    let opened = reading.open(labels, &ReadingOptions::default()).expect("the file is there");
    let Data { spec, source, loss, .. } = opened;
    settings.loss = settings.loss.or(loss.map(str::to_owned));
    let resolved = settings.resolve(spec, &mut |_| unreachable!("no learner measures the data"));
    (resolved.expect("the settings make sense"), source)
}

/// The model that the library makes of a file.
fn saved(settings: Settings, file: &str) -> Vec<u8> {
    let (Resolved { spec, notes }, mut source) = open(settings, file);
    let mut session = Session::new(&spec).expect("a run");
    session.companions_mut().notes = notes;
    while session.advance(&mut *source).expect("rows") {}
    session.look(&*source);
    session.to_bytes(&*source).expect("a model")
}

/// The report that the library makes of the rows of a file, shown one by one.
fn one_by_one(settings: Settings, file: &str) -> Value {
    let (Resolved { spec, .. }, mut source) = open(settings, file);
    let mut run = Run::new(spec.task()).expect("a run");
    let mut batch = Batch::default();
    while source.fill(&mut batch).expect("rows") {
        for row in 0..batch.len() {
            run.learn(batch.rows().slice(row..row + 1)).expect("a row");
        }
    }
    serde_json::to_value(run.report()).expect("a report")
}

/// A report but for where its data came from.
fn known(mut report: Value) -> Value {
    report["spec"].as_object_mut().expect("a description").remove("data");
    report
}

#[test]
fn a_program_of_one_s_own_makes_the_same_bytes() {
    let folder = TempDir::new().expect("a directory");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (file, model) = (path("all.libsvm"), path("m.rueful"));
    fs::copy(root().join(DATA), &file).expect("the stream is there");
    for (flags, settings) in settings() {
        let said = ask(&format!("run {file} {flags} --json --quiet --save {model}")).json();
        let theirs = fs::read(&model).expect("the model is there");
        assert!(saved(settings.clone(), &file) == theirs, "{flags}");
        assert_eq!(known(one_by_one(settings, &file)), known(said), "{flags}");
    }
}
