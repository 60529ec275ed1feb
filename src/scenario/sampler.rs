//! Drawing the parameters of one contact.

use super::columns::Column;
use super::number::{Number, index};
use crate::random::Draw;

/// Draws the numbers of one contact and, if `writes`, records each under its name.
pub(super) struct Sampler {
    draw: Draw,
    /// Name (dotted path of the field) and value of everything drawn, constants too but for those of lists.
    pub parameters: Option<Vec<(String, f64)>>,
}

impl Sampler {
    pub fn new(draw: Draw, writes: bool) -> Self {
        Self { draw, parameters: writes.then(Vec::new) }
    }

    pub fn number(&mut self, name: &str, number: &Number) -> f64 {
        let value = number.draw(&self.draw, name);
        self.record(name, value);
        value
    }

    /// The numbers of a column over time; the number of the row is recorded.
    pub fn row<'a>(&mut self, name: &str, column: &'a Column) -> &'a [f64] {
        self.record(&format!("{name}.row"), column.row(&self.draw) as f64);
        column.of(&self.draw)
    }

    /// A number in a list that may be long, such as the points of a signal. Constants are not recorded, as they are
    /// in the scenario.
    pub fn listed(&mut self, name: std::fmt::Arguments<'_>, number: &Number) -> f64 {
        match number {
            Number::Constant(value) => *value,
            drawn => self.number(&name.to_string(), drawn),
        }
    }

    /// Index of one of `n` equally likely things; recorded if there are several.
    pub fn index(&mut self, name: &str, n: usize) -> usize {
        if n == 1 {
            return 0;
        }
        let i = index(&self.draw, name, n);
        self.record(name, i as f64);
        i
    }

    /// Index of one of some numbered things, all equally likely; its number is recorded.
    pub fn one_of(&mut self, name: &str, numbers: &[usize]) -> usize {
        let i = if numbers.len() == 1 { 0 } else { index(&self.draw, name, numbers.len()) };
        self.record(name, numbers[i] as f64);
        i
    }

    /// Records a value that follows from drawn ones.
    pub fn record(&mut self, name: &str, value: f64) {
        self.parameters.iter_mut().for_each(|all| all.push((name.to_owned(), value)));
    }
}
