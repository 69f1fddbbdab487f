//! An online learner that knows its own regret.
