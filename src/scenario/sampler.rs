//! Drawing the parameters of one contact.

use super::number::{Number, index};
use crate::random::Draw;

/// Draws numbers for one contact and, if asked to, writes down every one under its name.
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

    /// One of a list that may be long, as the points of a signal are: a constant is in the scenario, and not
    /// written down again.
    pub fn listed(&mut self, name: std::fmt::Arguments<'_>, number: &Number) -> f64 {
        match number {
            Number::Constant(value) => *value,
            drawn => self.number(&name.to_string(), drawn),
        }
    }

    /// Which of `n` equally likely things; recorded only where there is a choice.
    pub fn index(&mut self, name: &str, n: usize) -> usize {
        if n == 1 {
            return 0;
        }
        let i = index(&self.draw, name, n);
        self.record(name, i as f64);
        i
    }

    /// Which of some numbered things, each as likely; its number is written down.
    pub fn one_of(&mut self, name: &str, numbers: &[usize]) -> usize {
        let i = if numbers.len() == 1 { 0 } else { index(&self.draw, name, numbers.len()) };
        self.record(name, numbers[i] as f64);
        i
    }

    /// Writes down a value that follows from drawn ones.
    pub fn record(&mut self, name: &str, value: f64) {
        self.parameters.iter_mut().for_each(|all| all.push((name.to_owned(), value)));
    }
}
