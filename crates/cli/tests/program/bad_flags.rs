//! Flags that contradict each other, have no effect, or make no sense. If the flag parser finds the
//! mistake, the exit code is 2, as is customary. If the rules of a run find it, the exit code is 1,
//! and the message is one line.

use crate::harness::{DATA, ask, assert_snapshot};

/// Flags that the rules of a run refuse.
const CONTRADICTIONS: [&str; 42] = [
    "--alpha 1",
    "--alpha 1 --eta 1",
    "--learner regularized-erm --alpha 1 --eta 1",
    "--learner regularized-erm --alpha 1 --schedule constant",
    "--learner regularized-erm --alpha 0",
    "--learner regularized-erm --sigma 1",
    "--learner strongly-convex-ogd --eta 1",
    "--learner strongly-convex-ogd --schedule constant",
    "--learner strongly-convex-ogd --horizon 10",
    "--learner strongly-convex-ogd --sigma 0",
    "--learner perceptron --gradient-bound 3",
    "--learner perceptron --sigma 1",
    "--learner perceptron --loss square",
    "--learner perceptron --loss linear",
    "--learner erm --eta 1",
    "--learner erm --gradient-bound 1",
    "--learner minimax --eta 1",
    "--learner minimax --schedule horizon",
    "--learner minimax --horizon 0",
    "--l1 1",
    "--learner ftrl --l1 -1",
    "--learner ftrl --schedule constant",
    "--c 1",
    "--learner passive-aggressive-1 --c 0",
    "--learner passive-aggressive-1 --loss logistic",
    "--learner passive-aggressive-2 --eta 1",
    "--tau 0.5",
    "--loss quantile --tau 0",
    "--loss quantile --tau 1",
    "--loss quantile --tau nan",
    "--radius -1",
    "--radius 0",
    "--radius inf",
    "--eta -0.5",
    "--sigma -1",
    "--gradient-bound 0",
    "--schedule constant",
    "--schedule inverse-sqrt",
    "--schedule inverse-time",
    "--schedule adagrad-norm --eta 1",
    "--schedule constant --eta 1 --horizon 10",
    "--schedule constant --eta 200 --sigma 0.01",
];

/// Flags that the flag parser refuses.
const USAGE: [&str; 12] = [
    "--learner sgd",
    "--loss bent",
    "--schedule slow",
    "--radius ten",
    "--horizon 1.5",
    "--horizon -3",
    "--lerner ogd",
    "--eta 1 --eta 2",
    "--json --json",
    "--radius",
    "--spec report.json --loss hinge",
    "--spec report.json --no-constant",
];

#[test]
fn contradictions_stop_the_run_before_it_starts() {
    let mut page = String::new();
    for flags in CONTRADICTIONS {
        // The file does not exist, so an error that names it shows that the flags were checked
        // late.
        let text = ask(&format!("run nowhere {flags}")).one_line();
        assert!(!text.contains("nowhere"), "{flags}: {text}");
        page += &format!("$ rueful run FILE {flags}\n{text}\n\n");
    }
    assert_snapshot("bad-flags", &page);
}

#[test]
fn usage_errors_come_from_the_flag_parser() {
    let mut page = String::new();
    for flags in USAGE {
        let text = ask(&format!("run {DATA} {flags}")).refusal(2);
        page += &format!("$ rueful run {DATA} {flags}\n{text}\n");
    }
    for line in ["run", "--json", "learn", "run -q ab data", "run data -qab"] {
        let text = ask(line).refusal(2);
        page += &format!("$ rueful {line}\n{text}\n");
    }
    assert_snapshot("bad-usage", &page);
}
