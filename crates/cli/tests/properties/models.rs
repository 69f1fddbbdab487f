//! A model is refused if its description does not fit the rest of it.

use crate::harness::Desk;
use crate::stream::{Labels, libsvm, own, stream};
use flate2::Crc;

/// The length of a model's header: magic, version, number of bytes that follow, and the checksum of
/// everything but itself.
const HEADER: usize = 28;

/// The model with one part of its description replaced, and with correct lengths and checksum.
fn forged(model: &[u8], from: &str, to: &str) -> Vec<u8> {
    // The task is the first section: a tag of four letters, a length, and the bytes.
    let (tag, after) = model[HEADER..].split_at(4);
    assert_eq!(tag, b"Task");
    let mut length = [0; 8];
    length.copy_from_slice(&after[..8]);
    let (described, rest) = after[8..].split_at(u64::from_le_bytes(length) as usize);
    let described = std::str::from_utf8(described).expect("a description is text");
    assert_eq!(described.matches(from).count(), 1, "{described}");
    let described = described.replace(from, to);
    let length = (described.len() as u64).to_le_bytes();
    let body = [tag, &length, described.as_bytes(), rest].concat();
    let front = [&model[..16], &(body.len() as u64).to_le_bytes()].concat();
    let mut checksum = Crc::new();
    checksum.update(&front);
    checksum.update(&body);
    [front, checksum.sum().to_le_bytes().to_vec(), body].concat()
}

/// Saves a model, forges it, and checks that every command that reads models refuses it.
#[track_caller]
fn assert_refused(labels: Labels, flags: &str, from: &str, to: &str) {
    let desk = Desk::new();
    desk.put("rows", libsvm(&stream(labels, 40, 91), own));
    desk.text(&format!("run rows {flags} --save model -q"));
    let model = desk.read("model");
    assert_eq!(forged(&model, from, from), model, "only what is replaced changes");
    desk.text("inspect model");
    desk.put("model", forged(&model, from, to));
    for line in ["inspect model", "weights model", "predict model rows", "run rows --resume model"]
    {
        let output = desk.say(line);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line} takes {to} for {from}: {complaint}");
        assert!(complaint.contains("error: "), "{line}: {complaint}");
    }
}

#[test]
fn another_loss_is_refused() {
    let name = |name: &str| format!("\"loss\":{{\"name\":\"{name}\"}}");
    let classes = ["hinge", "logistic", "perceptron"];
    let numbers = ["square", "absolute", "linear"];
    for (labels, losses) in [(Labels::Classes, classes), (Labels::Numbers, numbers)] {
        for own in losses {
            for other in losses.into_iter().filter(|&other| other != own) {
                let flags = format!("--loss {own}");
                assert_refused(labels, &flags, &name(own), &name(other));
            }
        }
    }
}

#[test]
fn another_quantile_is_refused() {
    let flags = "--loss quantile --tau 0.25";
    assert_refused(Labels::Numbers, flags, "\"tau\":0.25", "\"tau\":0.75");
}

#[test]
fn another_ball_is_refused() {
    let from = "\"comparators\":{\"name\":\"ball\",\"radius\":10.0}";
    assert_refused(Labels::Classes, "--loss hinge --learner ogd", from, &from.replace("10", "20"));
}
