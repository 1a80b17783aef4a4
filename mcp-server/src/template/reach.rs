//! The table that a match is decided by.

use super::matcher::{Pairs, Step};
use super::percent::{Class, splits_character};

/// Whether the steps from one on can take the URI from a place on, for every step and place.
pub(super) struct Reach<'a> {
    uri: &'a [u8],
    /// A row per step and one for the end of the chain; in a row, a cell per byte and one for the end.
    cells: Vec<bool>,
}

impl<'a> Reach<'a> {
    /// Fills the table from its end; each cell needs only cells that come later.
    pub(super) fn of(steps: &[Step], uri: &'a [u8]) -> Self {
        let cells = vec![false; (steps.len() + 1) * (uri.len() + 1)];
        let mut reach = Self { uri, cells };
        reach.set(steps.len(), uri.len(), true);
        for (row, step) in steps.iter().enumerate().rev() {
            match step {
                Step::Literal(text) => reach.literal(row, text.as_bytes()),
                Step::Optional { lead, end } => reach.optional(row, *lead, *end),
                Step::Value { class, .. } => reach.value(row, *class),
                Step::Pairs(pairs) => reach.pairs(row, pairs),
            }
        }
        reach
    }

    /// Whether the steps from `row` on can take the URI from `at` on.
    pub(super) fn get(&self, row: usize, at: usize) -> bool {
        at <= self.uri.len() && self.cells.get(self.cell(row, at)).is_some_and(|&can| can)
    }

    /// Whether `lead` stands at `at`, and the steps from `row` on can take what follows.
    pub(super) fn takes(&self, lead: u8, row: usize, at: usize) -> bool {
        self.uri.get(at) == Some(&lead) && self.get(row, at + 1)
    }

    /// Where a value that begins at `at` ends, before the step `next` in `row`: as late as it can, but first of
    /// all so that an optional step is filled.
    pub(super) fn value_end(
        &self,
        class: Class,
        at: usize,
        row: usize,
        next: Option<&Step>,
    ) -> Option<usize> {
        let longest = at + class.run(self.uri.get(at..)?);
        let ends = || (at + 1..=longest).rev().filter(|&end| self.ends(row, end));
        let fills = |&end: &usize| match next {
            Some(Step::Optional { lead, .. }) => self.takes(*lead, row + 1, end),
            _ => false,
        };
        ends().find(fills).or_else(|| ends().next())
    }

    fn literal(&mut self, row: usize, text: &[u8]) {
        for at in 0..=self.uri.len() {
            let can = self.get(row + 1, at + text.len())
                && self.uri.get(at..).is_some_and(|rest| rest.starts_with(text));
            self.set(row, at, can);
        }
    }

    fn optional(&mut self, row: usize, lead: u8, end: usize) {
        for at in 0..=self.uri.len() {
            self.set(row, at, self.takes(lead, row + 1, at) || self.get(end, at));
        }
    }

    fn value(&mut self, row: usize, class: Class) {
        // Whether a value that is open behind the current byte comes to an end.
        let mut closes = false;
        for (at, &byte) in self.uri.iter().enumerate().rev() {
            closes |= self.ends(row + 1, at + 1);
            closes &= class.contains(byte);
            self.set(row, at, closes);
        }
    }

    fn pairs(&mut self, row: usize, pairs: &Pairs) {
        // Whether this can go on behind a pair. Pairs are read as long as there are any, without a choice.
        let mut behind = vec![false; self.uri.len() + 1];
        for at in (0..=self.uri.len()).rev() {
            let after = |lead| match pairs.pair(self.uri, at, lead) {
                Some(pair) => behind.get(pair.end).is_some_and(|&can| can),
                None => self.get(row + 1, at),
            };
            let (first, further) = (after(pairs.lead), after(pairs.separator));
            self.set(row, at, first);
            if let Some(cell) = behind.get_mut(at) {
                *cell = further;
            }
        }
    }

    /// Whether a value can end at `at`, before the step in `row`.
    fn ends(&self, row: usize, at: usize) -> bool {
        self.get(row, at) && !splits_character(self.uri, at)
    }

    fn set(&mut self, row: usize, at: usize, can: bool) {
        let cell = self.cell(row, at);
        if let Some(cell) = self.cells.get_mut(cell) {
            *cell = can;
        }
    }

    const fn cell(&self, row: usize, at: usize) -> usize {
        row * (self.uri.len() + 1) + at
    }
}
