//! Drawing the parameters of one contact.

use std::borrow::Cow;

use super::columns::{Column, ROW};
use super::number::{Number, index};
use bristle::error::ParameterError;
use bristle::parameter::Parameter;
use bristle::random::Draw;

/// Draws the numbers of one contact and, if `writes`, records each under its name.
pub(super) struct Sampler<'a> {
    draw: Draw,
    /// Names and values that are given and not drawn.
    given: &'a [(String, f64)],
    /// What comes before the names of all fields: empty, or the path of the table that they are in.
    table: String,
    /// Which of them the contact has asked for.
    used: Vec<bool>,
    /// The error of the last given index that names nothing; none if all name something.
    wrong: Option<ParameterError>,
    /// The row of the table that the contact has drawn.
    row: Option<usize>,
    /// The column of each number that comes from the table, by the name of its field, and the row; noted with
    /// the parameters.
    columns: Vec<(String, String, usize)>,
    /// Name (dotted path of the field) and value of everything drawn, constants too but for those of lists.
    pub parameters: Option<Vec<(String, f64)>>,
}

impl<'a> Sampler<'a> {
    pub fn new(draw: Draw, given: &'a [(String, f64)], writes: bool) -> Self {
        let used = vec![false; given.len()];
        let parameters = writes.then(Vec::new);
        Self { draw, given, table: String::new(), used, wrong: None, row: None, columns: Vec::new(), parameters }
    }

    /// From now on the fields that are drawn are in this table, such as `contacts.2.`; returns the one
    /// before.
    pub fn within(&mut self, table: impl Into<String>) -> String {
        std::mem::replace(&mut self.table, table.into())
    }

    /// The dotted path of a field.
    fn path<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.table.is_empty() { name.into() } else { format!("{}{name}", self.table).into() }
    }

    /// The given value of a number, if there is one.
    fn given(&mut self, name: &str) -> Option<f64> {
        let i = self.given.iter().position(|(given, _)| given == name)?;
        self.used[i] = true;
        Some(self.given[i].1)
    }

    /// Refuses given numbers that the contact does not have.
    pub fn check(&mut self) -> Result<(), ParameterError> {
        if let Some(error) = self.wrong.take() {
            return Err(error);
        }
        match self.used.iter().position(|used| !used) {
            None => Ok(()),
            Some(i) => {
                let (name, value) = &self.given[i];
                Err(ParameterError::new(name, value, "a number that the contact is drawn with, by its dotted path"))
            }
        }
    }

    /// A parameter, or its default, which is recorded as what is drawn.
    pub fn parameter(&mut self, parameter: &Parameter, number: &Option<Number>) -> f64 {
        self.number(parameter.name, number.as_ref().unwrap_or(&Number::Constant(parameter.default)))
    }

    /// A parameter, or its default, which is not recorded.
    pub fn optional(&mut self, parameter: &Parameter, number: &Option<Number>) -> f64 {
        number.as_ref().map_or(parameter.default, |number| self.number(parameter.name, number))
    }

    /// Notes another value of what has been drawn, which follows from others.
    pub fn again(&mut self, name: &str, value: f64) {
        let name = &*self.path(name);
        if let Some((_, noted)) = self.parameters.iter_mut().flatten().find(|(noted, _)| noted == name) {
            *noted = value;
        }
    }

    pub fn number(&mut self, name: &str, number: &Number) -> f64 {
        let name = &*self.path(name);
        let value = match (self.given(name), number) {
            (Some(value), _) => value,
            (None, Number::Column(column)) => self.numbers(name, column)[0],
            (None, number) => number.draw(&self.draw, name),
        };
        self.note(name, value);
        value
    }

    /// The numbers of a column over time; the number of the row is recorded.
    pub fn row<'c>(&mut self, name: &str, column: &'c Column) -> &'c [f64] {
        let row = self.row_of(column);
        self.record(&format!("{name}.row"), row as f64);
        self.numbers(name, column)
    }

    /// What the contact's row has in a column.
    fn numbers<'c>(&mut self, name: &str, column: &'c Column) -> &'c [f64] {
        let row = self.row_of(column);
        if self.parameters.is_some() {
            self.columns.push((name.to_owned(), column.name().to_owned(), row));
        }
        column.numbers(row)
    }

    /// The row that the contact takes; recorded once if it is drawn.
    fn row_of(&mut self, column: &Column) -> usize {
        let Some(rows) = column.drawn_from() else { return column.row(&self.draw) };
        if let Some(row) = self.row {
            return row;
        }
        let row = match self.given(ROW) {
            Some(value) => self.place(ROW, value, rows, |i| value == i as f64),
            None => column.row(&self.draw),
        };
        self.record(ROW, row as f64);
        *self.row.insert(row)
    }

    /// Where in the table the number is that an error is about, such as "row 4 of `mass`".
    pub fn origin(&self, e: &ParameterError) -> Option<String> {
        let field = e.field.split(", ").next().unwrap_or_default();
        let (_, column, row) = self.columns.iter().find(|(name, ..)| name == field)?;
        Some(format!("row {row} of `{column}`"))
    }

    /// A number in a list that may be long, such as the points of a signal. Constants are not recorded, as
    /// they are in the scenario.
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
        let name = &*self.path(name);
        let i = match self.given(name) {
            None => index(&self.draw, name, n),
            Some(value) => self.place(name, value, n, |i| value == i as f64),
        };
        self.note(name, i as f64);
        i
    }

    /// Index of one of some numbered things, all equally likely; its number is recorded.
    pub fn one_of(&mut self, name: &str, numbers: &[usize]) -> usize {
        let name = &*self.path(name);
        let i = match self.given(name) {
            Some(value) => self.place(name, value, numbers.len(), |i| value == numbers[i] as f64),
            None if numbers.len() == 1 => 0,
            None => index(&self.draw, name, numbers.len()),
        };
        self.note(name, numbers[i] as f64);
        i
    }

    /// Which of `n` things a given `value` means.
    fn place(&mut self, name: &str, value: f64, n: usize, is_meant: impl Fn(usize) -> bool) -> usize {
        (0..n).find(|i| is_meant(*i)).unwrap_or_else(|| {
            self.wrong = Some(ParameterError::new(name, value, format!("the number of one of {n}, from 0")));
            0
        })
    }

    /// Records a value that follows from drawn ones.
    pub fn record(&mut self, name: &str, value: f64) {
        let name = &*self.path(name);
        self.note(name, value);
    }

    /// Records a value under a path.
    fn note(&mut self, name: &str, value: f64) {
        self.parameters.iter_mut().for_each(|all| all.push((name.to_owned(), value)));
    }
}
