//! The same table as text has the same rows.

use super::*;
use arrow_array::{
    Array, Decimal64Array, Float32Array, Float64Array, Int64Array, StringArray, UInt64Array,
};
use proptest::prelude::*;
use rueful_data::{
    CurveSettings, Delayed, ExpansionSettings, Follow, Input, LabelsSeen, Waiting, open_inputs,
};
use std::sync::Arc;

#[derive(Debug, Clone)]
struct Person {
    id: i64,
    age: Option<f64>,
    height: Option<f32>,
    visits: Option<u64>,
    price: Option<i32>,
    job: Option<String>,
    note: Option<String>,
}

fn person() -> impl Strategy<Value = Person> {
    let age = prop::option::of(prop_oneof![-1e30..1e30, -5.0..5.0, Just(0.0), Just(f64::NAN)]);
    let height = prop::option::of(prop_oneof![-1e3f32..1e3, any::<i8>().prop_map(f32::from)]);
    let words = (prop::option::of("[a-z]{1,12}|NA|null"), prop::option::of("[a-zA-Z, .]{1,30}"));
    let numbers = (any::<i64>(), prop::option::of(any::<u64>()), prop::option::of(any::<i32>()));
    (numbers, age, height, words).prop_map(|((id, visits, price), age, height, (job, note))| {
        Person { id, age, height, visits, price, job, note }
    })
}

fn typed(people: &[Person]) -> RecordBatch {
    macro_rules! column {
        ($array:ty, $field:ident) => {
            Arc::new(people.iter().map(|person| person.$field.clone()).collect::<$array>())
                as Arc<dyn Array>
        };
    }
    let prices: Vec<_> = people.iter().map(|person| person.price.map(i64::from)).collect();
    let price = Decimal64Array::from(prices).with_precision_and_scale(12, 2).unwrap();
    table(vec![
        ("id", Arc::new(Int64Array::from_iter_values(people.iter().map(|person| person.id)))),
        ("age", column!(Float64Array, age)),
        ("height", column!(Float32Array, height)),
        ("7", column!(UInt64Array, visits)),
        ("price", Arc::new(price)),
        ("job", column!(StringArray, job)),
        ("note", column!(StringArray, note)),
        ("y", Arc::new(Int64Array::from_iter_values(people.iter().map(|person| person.id % 3)))),
    ])
}

fn written(people: &[Person]) -> String {
    fn cell(value: &Option<impl ToString>) -> String {
        value.as_ref().map(ToString::to_string).unwrap_or_default()
    }
    let line = |person: &Person| {
        let Person { id, age, height, visits, price, job, note } = person;
        let price = price.map(|cents| {
            let (cents, sign) = (cents.unsigned_abs(), if cents < 0 { "-" } else { "" });
            format!("{sign}{}.{:02}", cents / 100, cents % 100)
        });
        let numbers = [cell(&Some(*id)), cell(age), cell(height), cell(visits), cell(&price)];
        let note = note.as_ref().map(|note| format!("\"{note}\""));
        format!("{},{},{},{}\n", numbers.join(","), cell(job), cell(&note), id % 3)
    };
    let rows: String = people.iter().map(line).collect();
    format!("id,age,height,7,price,job,note,y\n{rows}")
}

/// Features that are made of numbers, of text and of several columns.
fn made() -> ExpansionSettings {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let curves = CurveSettings {
        bins: words(&["price:4", "height:-5,0,10"]),
        splines: words(&["price", "7:1,1e9"]),
        periodic: words(&["height:24"]),
    };
    ExpansionSettings {
        crosses: words(&["height,job"]),
        ngram: words(&["2"]),
        curves,
        ..ExpansionSettings::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_table_has_the_same_rows_however_it_is_saved(
        mut people in prop::collection::vec(person(), 1..30)
    ) {
        // Text cannot show that a column without a value, or with "NA" alone, is a column of words.
        people[0].job = Some("clerk".to_owned());
        people[0].note = Some("a word".to_owned());
        people[0].age = Some(1.5);
        // The quantiles of a column that never changes part nothing.
        people.push(Person { price: Some(7), ..people[0].clone() });
        people.push(Person { price: Some(8), ..people[0].clone() });
        let format_settings = FormatSettings {
            label: Some("y".to_owned()),
            categorical: vec!["id".to_owned()],
            text: vec!["note".to_owned()],
            header: Some(true),
            expansion: made(),
            ..FormatSettings::default()
        };
        let reading = Reading { constant: true, ..reading(LabelRule::Any) };
        let input = std::io::Cursor::new(written(&people));
        let input = Input::new("people.csv", input, &Follow::No).unwrap();
        let mut text = open_inputs(vec![input], &format_settings, &reading).unwrap();
        let expected = drain(&mut text.reader);
        prop_assert!(expected.1.is_none(), "{:?}", expected.1);

        let format_settings = FormatSettings { header: None, ..format_settings };
        let batch = typed(&people);
        for saved in [Saved::Parquet(Compression::SNAPPY, 7), Saved::File(None), Saved::Stream] {
            let path = file(&saved.bytes(std::slice::from_ref(&batch)));
            let opened = open(&[name(&path)], saved.format(), &format_settings, &reading).unwrap();
            prop_assert_eq!(&opened.layout.columns[..], text.schema.columns());
            prop_assert_eq!(Some(opened.layout.columns.expansion()), text.schema.expansion());
            let mut source = opened.source;
            let found = drain(&mut source);
            prop_assert_eq!(&found.0, &expected.0);
            prop_assert_eq!(source.census(), text.reader.census());
            prop_assert_eq!(source.names(), text.reader.names());
            prop_assert_eq!(source.labels(), text.reader.labels());
            prop_assert_eq!(source.missing(), text.reader.missing());
        }
    }
}

/// Every row of a source to the last bit, and which rows wait and are answered.
fn joined(rows: Box<dyn Source>) -> (Vec<String>, LabelsSeen) {
    let mut source = Delayed::new(rows, "rows", Waiting::default(), 100);
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    while source.fill(&mut batch).unwrap() {
        all.extend(batch.iter().map(|row| format!("{row:?}")));
        all.push(format!("{:?}", source.delays()));
    }
    assert!(source.waiting().is_some_and(|waiting| waiting.len() == 3));
    (all, source.labels())
}

/// Labels name classes, and come five rows later.
#[test]
fn rows_that_wait_for_their_class_are_the_same_however_they_are_saved() {
    let big = |row: i64| i64::MAX - row; // whole numbers keep all their digits
    let (mut ids, mut ages, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    let mut text = "id,age,kind\n".to_owned();
    let mut tell = |id: i64, age: Option<f64>, kind: Option<&'static str>| {
        let shown = age.map(|age| age.to_string()).unwrap_or_default();
        text += &format!("{id},{shown},{}\n", kind.unwrap_or_default());
        ids.push(id);
        ages.push(age);
        labels.push(kind);
    };
    for row in 0..40 {
        tell(big(row), Some(0.5 * row as f64 - 3.0), None);
        if let Some(asked) = (row >= 3).then(|| row - 3) {
            let kind = ["red", "green", "true", "7"][(asked * 3 % 7 % 4) as usize];
            tell(big(asked), None, Some(kind));
        }
    }
    let batch = table(vec![
        ("id", Arc::new(Int64Array::from(ids))),
        ("age", Arc::new(Float64Array::from(ages))),
        ("kind", Arc::new(StringArray::from(labels))),
    ]);
    let format_settings = FormatSettings {
        label: Some("kind".to_owned()),
        id: Some("id".to_owned()),
        ..FormatSettings::default()
    };
    let reading = Reading { constant: true, ..reading(LabelRule::Classes) };
    let input = Input::new("rows.csv", std::io::Cursor::new(text), &Follow::No).unwrap();
    let opened = open_inputs(vec![input], &format_settings, &reading).unwrap();
    let expected = joined(Box::new(opened.reader));
    assert_eq!(expected.1.counts.len(), 4, "{:?}", expected.1);
    for saved in [Saved::Parquet(Compression::SNAPPY, 7), Saved::File(None), Saved::Stream] {
        let path = file(&saved.bytes(std::slice::from_ref(&batch)));
        let opened = open(&[name(&path)], saved.format(), &format_settings, &reading).unwrap();
        let found = joined(Box::new(opened.source));
        // Pieces end at other places, and the rows are the same.
        let rows = |all: &[String]| -> Vec<String> {
            all.iter().filter(|line| line.starts_with("Example")).cloned().collect()
        };
        assert_eq!((rows(&found.0), &found.1), (rows(&expected.0), &expected.1));
    }
}
