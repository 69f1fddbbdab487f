//! Whatever a page contains, its two files are well-formed, safe and within their frame.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use rueful_page::{
    Bin, Comparison, Fact, Interval, Origin, Page, Point, Radius, Rival, Rung, RungKind, Share,
    Weight, Window, comparison_html, comparison_svg, html, svg,
};

/// A tag: its name, its attributes, and whether it opens, closes or stands alone.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    closes: bool,
    alone: bool,
}

/// All tags of a document. It panics if text contains characters that should have been escaped.
fn tags(document: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut rest = document;
    while let Some((text, after)) = rest.split_once('<') {
        check_text(text);
        let (inner, after) = after.split_once('>').expect("a tag ends");
        assert!(!inner.contains('<'), "a tag within a tag: {inner}");
        tags.extend(tag(inner));
        rest = after;
        if inner == "style" {
            rest = &rest[rest.find("</style>").expect("a style ends")..];
        }
    }
    check_text(rest);
    tags
}

fn tag(inner: &str) -> Option<Tag<'_>> {
    if inner.eq_ignore_ascii_case("!doctype html") {
        return None;
    }
    let (closes, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
    let (alone, inner) = inner.strip_suffix('/').map_or((false, inner), |inner| (true, inner));
    let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "a strange tag: {name}");
    Some(Tag {
        name,
        attributes: read_attributes(attributes),
        closes,
        alone: alone || name == "meta",
    })
}

fn read_attributes(mut rest: &str) -> Vec<(&str, &str)> {
    let mut attributes = Vec::new();
    while let Some((name, after)) = rest.trim_start().split_once("=\"") {
        let (value, after) = after.split_once('"').expect("an attribute ends");
        check_text(value);
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
        attributes.push((name, value));
        rest = after;
    }
    assert!(rest.trim().is_empty(), "left over in a tag: {rest}");
    attributes
}

/// Checks that ampersands begin entities, and that there are no invisible characters.
fn check_text(text: &str) {
    for after in text.split('&').skip(1) {
        let entity = after.split_once(';').expect("an entity ends").0;
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "{entity}");
    }
    let hidden = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(hidden) && !text.contains(['>', '\u{ffff}']), "{text:?}");
}

/// Checks that tags close in order, that ids are unique, and that shapes lie near their picture.
fn check(document: &str) {
    let mut open = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for tag in tags(document) {
        for &(name, value) in &tag.attributes {
            assert!(name != "id" || ids.insert(value), "{value} is there twice");
            check_shape(name, value);
        }
        match tag {
            Tag { closes: true, name, .. } => assert_eq!(open.pop(), Some(name)),
            Tag { alone: true, .. } => {}
            Tag { name, .. } => open.push(name),
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

fn check_shape(name: &str, value: &str) {
    if !["x", "y", "d", "cx", "cy", "r", "width", "height", "viewBox"].contains(&name) {
        return;
    }
    let letters = |c: char| " MLZahv".contains(c);
    for number in value.split(letters).filter(|number| !number.is_empty()) {
        // A marker's relative moves are written “5.6-5.6”, so the sign separates numbers too.
        for part in number.split('-').filter(|part| !part.is_empty()) {
            let size: f64 = part.parse().unwrap_or_else(|_| panic!("{name}=\"{value}\""));
            assert!(size <= 5_000.0, "{name}=\"{value}\"");
        }
    }
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1.0..1.0,
        2 => 0.0..40.0,
        2 => proptest::num::f64::ANY,
        2 => prop::sample::select(vec![
            0.0, -0.0, 1.0, 1e-320, -1e-320, 1e-5, 1e150, -1e150, f64::MAX, f64::MIN_POSITIVE,
            f64::INFINITY, f64::NEG_INFINITY, f64::NAN,
        ]),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        any::<String>(),
        prop::sample::select(vec![
            String::new(),
            "<script>alert(1)</script>".to_owned(),
            "\"'><svg onload=alert(1)>".to_owned(),
            "&lt;&#39;]]>-->\0\u{1b}[31m\u{202e}\u{ffff}".to_owned(),
            "a name that does not end ".repeat(20),
            "日本語の特徴".repeat(10),
        ]),
    ]
}

fn interval() -> impl Strategy<Value = Interval> {
    (number(), number()).prop_map(|(lower, upper)| Interval { lower, upper })
}

fn round() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, 0..100_000u64, any::<u64>()]
}

fn point() -> impl Strategy<Value = Point> {
    (round(), number(), of(number()), of(interval()), of(interval())).prop_map(
        |(t, risk, certificate, comparator, regret)| Point {
            t,
            risk,
            certificate,
            comparator,
            regret,
        },
    )
}

fn rung() -> impl Strategy<Value = Rung> {
    let kinds = [RungKind::Regret, RungKind::Certificate, RungKind::Data, RungKind::Theorem];
    (prop::sample::select(kinds.to_vec()), of(interval()), text())
        .prop_map(|(kind, value, meaning)| Rung { kind, value, meaning })
}

fn window() -> impl Strategy<Value = Window> {
    (round(), round(), number(), of(number())).prop_map(|(from, to, risk, certificate)| Window {
        from,
        to,
        risk,
        certificate,
    })
}

fn charts() -> impl Strategy<Value = Page> {
    let radius =
        (number(), number()).prop_map(|(radius, certificate)| Radius { radius, certificate });
    let weight = (text(), number()).prop_map(|(name, value)| Weight { name, value });
    let share =
        (text(), vec((round(), number()), 0..4)).prop_map(|(name, points)| Share { name, points });
    (
        vec(point(), 0..6),
        vec(rung(), 0..5),
        (vec(radius, 0..5), of(number())),
        vec(window(), 0..5),
        vec(weight, 0..5),
        vec(share, 0..8),
    )
        .prop_map(|(curve, ladder, (radii, own_radius), windows, weights, shares)| Page {
            curve,
            ladder,
            radii,
            own_radius,
            windows,
            weights,
            shares,
            ..Page::default()
        })
}

fn bin() -> impl Strategy<Value = Bin> {
    (number(), number(), number(), number(), number()).prop_map(
        |(from, to, weight, predicted, observed)| Bin { from, to, weight, predicted, observed },
    )
}

fn origin() -> impl Strategy<Value = Origin> {
    (text(), text(), text()).prop_map(|(version, command, spec)| Origin { version, command, spec })
}

fn page() -> impl Strategy<Value = Page> {
    let fact =
        (text(), text(), of(text())).prop_map(|(label, value, note)| Fact { label, value, note });
    let words = (text(), text(), text(), vec(text(), 0..3));
    let tables = (vec(fact, 0..3), vec((text(), text()), 0..3), vec((text(), text()), 0..3));
    let figures = (of(interval()), any::<bool>(), vec(bin(), 0..4), origin(), any::<u64>());
    (charts(), words, tables, figures).prop_map(
        |(charts, (title, subtitle, comparators, notes), (facts, parameters, data), figures)| {
            Page {
                baseline: figures.0,
                is_nonnegative: figures.1,
                calibration: figures.2,
                origin: figures.3,
                weights_left_out: figures.4,
                figures: parameters.clone(),
                title,
                subtitle,
                comparators,
                notes,
                facts,
                parameters,
                data,
                ..charts
            }
        },
    )
}

fn rival() -> impl Strategy<Value = Rival> {
    let numbers = (number(), of(number()), of(number()), of(interval()));
    let figures = vec((text(), text()), 0..3);
    let series = (vec((round(), number()), 0..4), vec(window(), 0..4));
    let told = (text(), text(), figures);
    (told, numbers, series).prop_map(|((name, what, figures), numbers, (curve, windows))| {
        let (risk, mistake_rate, certificate, regret) = numbers;
        Rival { name, what, risk, mistake_rate, figures, certificate, regret, curve, windows }
    })
}

proptest! {
    #[test]
    fn every_page_is_well_formed(page in page()) {
        check(&html(&page));
        check(&svg(&page));
    }

    #[test]
    fn every_comparison_is_well_formed(page in page(), rivals in vec(rival(), 0..8)) {
        let Page { title, subtitle, comparators, facts, parameters, data, notes, origin, .. } = page;
        let is_nonnegative = page.is_nonnegative;
        let page = Comparison {
            title, subtitle, comparators, is_nonnegative, facts, rivals, parameters, data, notes, origin,
        };
        check(&comparison_html(&page));
        check(&comparison_svg(&page));
    }

    #[test]
    fn all_equal_values_have_a_picture(value in number(), n in 0..5u64) {
        let point = |t| Point {
            t,
            risk: value,
            certificate: Some(value),
            comparator: Some(value.into()),
            regret: Some(value.into()),
        };
        let page = Page {
            curve: (1..=n).map(point).collect(),
            radii: (1..=n).map(|_| Radius { radius: value, certificate: value }).collect(),
            own_radius: Some(value),
            windows: (0..n).map(|_| Window { from: 1, to: 1, risk: value, certificate: None }).collect(),
            weights: (0..n).map(|_| Weight { name: "x".to_owned(), value }).collect(),
            ..Page::default()
        };
        check(&html(&page));
        check(&svg(&page));
    }
}

#[test]
fn nothing_at_all_is_a_page() {
    check(&html(&Page::default()));
    check(&svg(&Page::default()));
}

#[test]
fn names_do_nothing() {
    let name = "</title><script>alert(1)</script>\" onload='x' \u{202e}";
    let page = Page {
        title: name.to_owned(),
        weights: vec![Weight { name: name.to_owned(), value: 1.0 }],
        notes: vec![name.to_owned()],
        ..Page::default()
    };
    for document in [html(&page), svg(&page)] {
        check(&document);
        assert!(!document.contains("<script") && !document.contains('\u{202e}'));
        assert!(document.contains("&lt;script&gt;") && document.contains("⟨U+202E⟩"));
    }
}

#[test]
fn tables_hold_the_numbers_in_full() {
    let (third, tiny) = (1.0 / 3.0, 1.0e-7 / 3.0);
    let curve = vec![Point { t: 32_561, risk: third, certificate: Some(tiny), ..Point::default() }];
    let page = html(&Page { curve, ..Page::default() });
    for number in [format!("{third:?}"), format!("{tiny:?}"), "32561".to_owned()] {
        let number = number.replace('-', "−");
        assert!(page.contains(&format!("<bdi>{number}</bdi>")), "{number}");
    }
}

#[test]
fn numbers_that_are_not_are_not_drawn() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let curve = (1..).zip(odd).map(|(t, risk)| Point { t, risk, ..Point::default() }).collect();
    let weights = odd.map(|value| Weight { name: "x".to_owned(), value }).to_vec();
    let page = Page { curve, weights, ..Page::default() };
    for document in [html(&page), svg(&page)] {
        check(&document);
        assert!(!document.contains("NaN") && !document.contains("mark risk"));
    }
}

#[test]
fn a_comparison_names_the_best_and_holds_all_numbers() {
    let rival = |name: &str, risk: f64| Rival {
        name: name.to_owned(),
        risk,
        certificate: Some(-risk / 3.0),
        curve: vec![(1, 1.0), (2, risk)],
        ..Rival::default()
    };
    let rivals = vec![rival("slow", 0.5), rival("quick", 0.25)];
    let page = Comparison { rivals, ..Comparison::default() };
    let document = comparison_html(&page);
    assert!(document.contains("The least risk, 0.2500, is that of quick"), "{document}");
    assert!(document.contains("<bdi>−0.08333333333333333</bdi>"));
    let [first, second] = ["slow", "quick"].map(|name| comparison_svg(&page).contains(name));
    assert!(first && second);
}

/// In a comparison, too, a certificate that is no smaller than the risk is said to say nothing.
#[test]
fn a_comparison_tells_whose_certificate_says_nothing() {
    let rival = |name: &str, certificate: f64| Rival {
        name: name.to_owned(),
        risk: 0.5,
        certificate: Some(certificate),
        ..Rival::default()
    };
    let of = |rivals: &[Rival], is_nonnegative: bool| {
        comparison_html(&Comparison {
            rivals: rivals.to_vec(),
            is_nonnegative,
            ..Comparison::default()
        })
    };
    let rivals = [rival("proved", 0.4), rival("vain", 0.5), rival("void", 9.0)];
    let one = of(&rivals[..2], true);
    assert!(one.contains("The certificate of vain says nothing: it is no smaller than the risk"));
    assert!(one.contains("\"certificate unsure\""), "its bar is pale");
    assert!(of(&rivals, true).contains("The certificates of vain, void say nothing"));
    for quiet in [of(&rivals[..1], true), of(&rivals, false)] {
        assert!(
            !quiet.contains("The certificate of ") && !quiet.contains("\"certificate unsure\"")
        );
    }
}

#[test]
fn shares_are_stacked_and_the_small_ones_drawn_together() {
    let share = |k: u64, now: f64| Share {
        name: format!("learner {k}"),
        points: vec![(1, 0.125), (2, now)],
    };
    let shares = (0..8).map(|k| share(k, if k == 3 { 0.65 } else { 0.05 })).collect();
    let page = html(&Page { shares, ..Page::default() });
    check(&page);
    assert!(page.contains("The largest share was 65 %, after round 2, and is 65 % now: learner 3"));
    assert!(page.contains(">4 others<") && page.contains("<bdi>learner 7</bdi>"));
    let once = vec![Share { name: "alone".to_owned(), points: vec![(1, 1.0)] }];
    assert!(!html(&Page { shares: once, ..Page::default() }).contains("trusted"));
}

#[test]
fn one_window_is_a_sentence() {
    let windows = vec![Window { from: 1, to: 9, risk: 0.5, certificate: None }];
    let page = html(&Page { windows, ..Page::default() });
    assert!(page.contains("was not cut into windows") && !page.contains("<svg"));
}

#[test]
fn an_axis_says_its_kind() {
    let curve = |low| {
        vec![
            Point { t: 1, risk: 20.0, ..Point::default() },
            Point { t: 2, risk: 0.3, certificate: Some(low), ..Point::default() },
            Point { t: 4, risk: 0.3, certificate: Some(low), ..Point::default() },
        ]
    };
    let axis = |low| svg(&Page { curve: curve(low), ..Page::default() });
    assert!(axis(0.1).contains("per round, logarithmic<"));
    assert!(axis(-0.1).contains("per round, logarithmic on both sides of zero<"));
    assert!(axis(20.0).contains("per round, logarithmic<"));
}

/// A page whose certificate says nothing up to some round.
fn catching_up() -> Page {
    let point = |(t, risk, certificate): (u64, f64, f64)| Point {
        t,
        risk,
        certificate: Some(certificate),
        ..Point::default()
    };
    Page {
        curve: [(1, 1.0, 9.0), (2, 0.8, 3.0), (4, 0.6, 0.5), (8, 0.5, 0.2)].map(point).to_vec(),
        baseline: Some(Interval::from(0.7)),
        is_nonnegative: true,
        ..Page::default()
    }
}

#[test]
fn a_certificate_that_says_nothing_is_drawn_as_such() {
    let page = catching_up();
    let picture = svg(&page);
    assert!(picture.contains("curve empty") && picture.contains("curve certificate"));
    assert_eq!(picture.matches(">certificate</tspan>").count(), 1, "it is named once");
    let signed = svg(&Page { is_nonnegative: false, ..page });
    assert!(!signed.contains("curve empty") && signed.contains("curve certificate"));
}

#[test]
fn the_best_constant_is_a_line() {
    let picture = svg(&catching_up());
    assert!(picture.contains("curve baseline") && picture.contains(">constant</tspan>"));
    assert!(!svg(&Page { baseline: None, ..catching_up() }).contains("curve baseline"));
}

#[test]
fn how_a_page_was_made_is_told_and_escaped() {
    let origin = Origin {
        version: "rueful 1".to_owned(),
        command: "rueful run '<b>'".to_owned(),
        spec: "{\"a\": 1}".to_owned(),
    };
    let document = html(&Page { origin, ..Page::default() });
    assert!(document.contains("id=\"origin\"") && document.contains("rueful run "));
    assert!(document.contains("<pre>") && !document.contains("<b>"));
    assert!(!html(&Page::default()).contains("id=\"origin\""));
}

/// The reach of a proof is a number of its own, and not one of the radii that are drawn.
#[test]
fn the_reach_of_certificates_is_said_as_it_is_known() {
    let radii = [1.0, 10.0].map(|radius| Radius { radius, certificate: radius - 4.0 }).to_vec();
    let known = Page { radii, own_radius: Some(10.0), ..Page::default() };
    let ends = Page { beaten_up_to: Some(4.0), says_nothing_from: Some(7.5), ..known.clone() };
    let document = html(&ends);
    assert!(document.contains("Up to radius 4.000 no predictor was better at all."));
    assert!(document.contains("From radius 7.500 on the certificate says nothing."));
    let endless = Page { beaten_up_to: Some(f64::INFINITY), ..known.clone() };
    assert!(html(&endless).contains("No predictor of any norm was better."));
    assert!(html(&known).contains("At every radius some predictor may have been better."));
}

#[test]
fn a_certificate_that_says_nothing_is_called_that() {
    let point = Point { t: 9, risk: 0.5, certificate: Some(0.5), ..Point::default() };
    let value = Some(Interval::from(0.5));
    let rung = Rung { kind: RungKind::Certificate, value, meaning: String::new() };
    let empty =
        Page { curve: vec![point], ladder: vec![rung], is_nonnegative: true, ..Page::default() };
    let document = html(&empty);
    assert!(
        document.contains("the certificate says nothing: it is no smaller than the risk itself")
    );
    assert!(document.contains(" It says nothing: it is no smaller than the risk itself."));
    assert!(!document.contains("the regret is at most"));
    let open = html(&Page { is_nonnegative: false, ..empty });
    assert!(open.contains("the regret is at most") && !open.contains("than the risk itself"));
}

#[test]
fn numbers_have_one_kind_of_minus_sign() {
    let fact = Fact { label: "risk".to_owned(), value: "-0.5".to_owned(), note: None };
    let radii = vec![Radius { radius: 1.0, certificate: -0.25 }];
    let document = html(&Page { facts: vec![fact], radii, ..Page::default() });
    assert!(document.contains("−0.5<") && document.contains(">−0.25<"));
    assert!(!document.contains("-0.25<") && !document.contains("-0.5<"));
}

#[test]
fn probabilities_are_drawn_beside_what_came() {
    let bin = Bin { from: 0.2, to: 0.3, weight: 4.0, predicted: 0.25, observed: 0.5 };
    let document = html(&Page { calibration: vec![bin], ..Page::default() });
    assert!(document.contains("id=\"calibration\""));
    assert!(document.contains("25.00 % were said on average, and 50.00 % came"));
    let nothing = Bin { observed: f64::NAN, ..bin };
    let document = html(&Page { calibration: vec![nothing], ..Page::default() });
    assert!(!document.contains("id=\"calibration\""));
}
