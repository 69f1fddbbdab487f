//! The command `rueful convert`.

use crate::args::ConvertArgs;
use crate::data::{progress_bar, tell};
use crate::numbers::{count, counted};
use crate::{output, view};
use anyhow::bail;
use rueful_core::Batch;
use rueful_data::{CacheWriter, name_of};
use rueful_run::{Data, DataSpec, LabelUse, ReadingOptions};
use serde::Serialize;

#[derive(Serialize)]
struct Converted {
    file: String,
    bytes: u64,
    examples: u64,
    nonzeros: u64,
    features: u64,
    data: DataSpec,
}

pub(crate) fn convert(args: &ConvertArgs) -> anyhow::Result<()> {
    let path = name_of(args.out.as_os_str());
    if !args.force && std::fs::exists(&args.out)? {
        bail!("{path} is there already: --force replaces it");
    }
    let mut settings = args.format.settings(&args.files)?;
    settings.no_constant = true;
    let reading_options = ReadingOptions { threads: args.threads, ..ReadingOptions::default() };
    let data = settings.open(LabelUse::Store, &reading_options)?;
    tell(&data);
    let Data { spec, mut source, .. } = data;

    let mut writer = CacheWriter::create(&path, &spec.provenance()?)?;
    let bar = progress_bar(&spec);
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        writer.append(&batch, false)?;
        bar.set_position(source.bytes_read());
    }
    bar.finish_and_clear();
    writer.finish(source.names(), source.labels(), source.missing())?;

    let census = source.census();
    let converted = Converted {
        bytes: std::fs::metadata(&args.out).map_or(0, |found| found.len()),
        file: path,
        examples: census.examples,
        nonzeros: census.nonzeros,
        features: census.features,
        data: spec,
    };
    if args.json { output::print_json(&converted) } else { output::print(&render(&converted)) }
}

fn render(converted: &Converted) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let per_nonzero = converted.bytes as f64 / converted.nonzeros.max(1) as f64;
    let rows = vec![
        row("data", converted.data.name()),
        row("written to", converted.file.clone()),
        row("examples", count(converted.examples)),
        row(
            "features",
            format!("{}; {}", count(converted.features), counted(converted.nonzeros, "nonzero")),
        ),
        row("bytes", format!("{}, {per_nonzero:.1} per nonzero", count(converted.bytes))),
    ];
    view::headed("Converted", &view::plain(rows))
}
