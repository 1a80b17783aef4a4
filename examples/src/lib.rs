//! One idea a file: see `src/bin`. The README's code is compiled here.
#![cfg_attr(doctest, doc = include_str!("../../README.md"))]
