//! One description of a run, and the loop that runs it.
