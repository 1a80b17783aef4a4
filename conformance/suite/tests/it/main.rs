//! The suite as a program, against ours and against what is wrong.

mod mutants;
