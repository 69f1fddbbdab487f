//! The games give the numbers that the notes predict.

use crate::harness::{ask, number};
use serde_json::Value;

fn adversary(line: &str) -> Value {
    let result = ask(&format!("play adversary --json {line}")).json();
    let (regret, value) = (number(&result, "regret"), number(&result, "game_value"));
    assert_eq!(number(&result, "ratio"), regret / value);
    if let Some(theorem) = result["theorem"].as_f64() {
        assert_eq!(number(&result, "theorem_ratio"), theorem / value);
    } else {
        assert!(result["theorem_ratio"].is_null() && result["why"].is_string(), "{result}");
    }
    result
}

/// In dimension 3 or more, every learner has a regret of at least UG√T, and no tuned learner has
/// more than its theorem allows. Strongly convex losses are another game, and ERM has no theorem.
#[test]
fn the_orthogonal_adversary_takes_the_value_of_the_game() {
    for learner in ["ogd", "regularized-erm", "minimax"] {
        let most = if learner == "minimax" { 1.001 } else { 8_f64.sqrt() };
        for dimension in [3, 10] {
            for rounds in [100_u32, 1000, 10_000] {
                let line = format!("--learner {learner} --dimension {dimension} --rounds {rounds}");
                let result = adversary(&line);
                assert_eq!(number(&result, "game_value"), f64::from(rounds).sqrt(), "{line}");
                let ratio = number(&result, "ratio");
                assert!((0.999..=most).contains(&ratio), "{line}: {ratio}");
                assert!(ratio <= number(&result, "theorem_ratio"), "{line}");
            }
        }
    }
}

#[test]
fn erm_pays_the_value_too() {
    let ratio = number(&adversary("--learner erm --rounds 10000"), "ratio");
    assert!(ratio >= 0.999, "{ratio}");
}

#[test]
fn the_sign_adversary_stays_below_every_theorem() {
    for learner in ["ogd", "strongly-convex-ogd", "regularized-erm", "minimax"] {
        for dimension in [1, 2, 10] {
            for rounds in [1, 2, 3, 100, 10_000] {
                let line = format!(
                    "--adversary sign --learner {learner} --dimension {dimension} --rounds {rounds}"
                );
                let result = adversary(&line);
                let (ratio, theorem) = (number(&result, "ratio"), number(&result, "theorem_ratio"));
                assert!(ratio <= theorem, "{line}: {ratio} > {theorem}");
            }
        }
    }
}

/// In one dimension the regret of OGD is more than the value of the game, and in the long run √2
/// times that value. The regret of the minimax strategy never is more.
#[test]
fn the_sign_adversary_separates_ogd_from_the_minimax_strategy() {
    let ratio = |learner: &str| {
        let line = format!("--adversary sign --dimension 1 --rounds 10000 --learner {learner}");
        number(&adversary(&line), "ratio")
    };
    assert_eq!(format!("{:.2} {:.2}", ratio("ogd"), ratio("minimax")), "1.40 0.99");
}

#[test]
fn the_radius_scales_the_game() {
    let (one, three) = (adversary(""), adversary("--radius 3"));
    assert_eq!(number(&three, "game_value"), 3.0 * number(&one, "game_value"));
    assert!((number(&three, "ratio") - number(&one, "ratio")).abs() < 1e-6);
}

#[test]
fn erm_loses_in_every_round_and_regularised_erm_does_not() {
    for rounds in [1_u32, 2, 3, 100, 1000, 65_537] {
        let result = ask(&format!("play erm --json --rounds {rounds}")).json();
        let player = |name: &str| {
            let players = result["learners"].as_array().expect("players");
            let found = players
                .iter()
                .find(|player| player["learner"].as_str().expect("a name").starts_with(name));
            found.expect("every player").clone()
        };
        let (t, best) = (f64::from(rounds), number(&result, "comparator_loss"));
        // The slopes ½, −1, +1, … always add up to ½ or −½.
        assert_eq!(best, -0.5);

        let erm = player("ERM");
        assert_eq!(number(&erm, "loss"), t - 1.0);
        assert!(erm["theorem"].is_null());
        for name in ["regularised ERM", "projected OGD"] {
            let tame = player(name);
            assert_eq!(number(&tame, "regret"), number(&tame, "loss") - best);
            assert!(number(&tame, "regret") <= number(&tame, "theorem"), "{name}, {rounds}");
        }
        assert!(number(&player("regularised ERM"), "loss") <= t.sqrt());
        for player in [erm, player("regularised ERM"), player("projected OGD")] {
            let last = player["curve"].as_array().and_then(|curve| curve.last()).expect("a curve");
            assert_eq!(last["t"], rounds);
            assert!((number(last, "loss") - number(&player, "loss")).abs() <= 1e-12 * t);
        }
    }
}

#[test]
fn games_that_cannot_be_played() {
    for (line, says) in [
        ("--dimension 2", "the orthogonal adversary needs dimension 3 or more, and got 2"),
        ("--learner perceptron", "the Perceptron learns from labels ±1"),
        ("--learner passive-aggressive-1", "they take hinge or absolute, not linear"),
        ("--radius 0", "--radius: 0 is not a number between 1e-100 and 1e100"),
        ("--radius -1", "--radius: -1 is not a number between 1e-100 and 1e100"),
    ] {
        let text = ask(&format!("play adversary {line}")).one_line();
        assert!(text.contains(says), "{text}");
    }
    for (line, says) in [
        ("adversary --dimension 0", "0 is not in 1..="),
        ("adversary --rounds 0", "0 is not in 1..="),
        ("adversary --adversary kind", "is none of orthogonal, sign"),
        ("erm --rounds 0", "0 is not in 1..="),
        ("erm --learner ogd", "there is no flag --learner"),
        ("chess", "there is no command chess"),
    ] {
        let text = ask(&format!("play {line}")).refusal(2);
        assert!(text.contains(says), "{text}");
    }
}
