//! Statistics of features, by which policies normalise their inputs. Statistics of parts are joined in the
//! order of the parts, so that the result does not depend on threads or interruptions.
//!
//! Quantiles are of all rows if these have at most [`MOST_DRAWN`] numbers, else of a sample of rows, chosen
//! by their places in the dataset.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::episodes::scrambled;
use super::table::{Column, Values};
use crate::statistics::quantile;

/// Numbers of which quantiles are taken, in all features together: 32 MB.
const MOST_DRAWN: u64 = 1 << 22;
/// The quantiles, by the names that they have.
const QUANTILES: [(&str, f64); 5] = [("q01", 0.01), ("q10", 0.1), ("q50", 0.5), ("q90", 0.9), ("q99", 0.99)];

/// Which rows of a dataset quantiles are taken of. It depends on nothing but how many there are and how many
/// numbers a row has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    /// Of all numbers of 64 bits, those below it.
    below: Option<u64>,
}

impl Drawn {
    /// Of `rows` rows of so many `numbers`.
    pub fn new(rows: u64, numbers: u64) -> Self {
        let most = (MOST_DRAWN / numbers.max(1)).max(1);
        let below = (rows > most).then(|| (most as f64 / rows as f64 * u64::MAX as f64) as u64);
        Self { below }
    }

    fn has(self, row: u64) -> bool {
        self.below.is_none_or(|below| scrambled(row) < below)
    }
}

/// Of every feature, by its name: parts that were written before an interruption are read back, and have them
/// in another order than those that are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stats {
    features: BTreeMap<String, Feature>,
}

/// Of a feature: one entry a number of its array.
#[derive(Clone, Debug, Default, PartialEq)]
struct Feature {
    shape: Vec<usize>,
    count: f64,
    min: Vec<f64>,
    max: Vec<f64>,
    mean: Vec<f64>,
    /// Sum of the squares of the distances from the mean.
    squares: Vec<f64>,
    /// The rows that are drawn, one after the other.
    drawn: Vec<f64>,
}

impl Feature {
    /// Of arrays of one shape, with the places of the rows that are drawn. Single precision is summed in
    /// double.
    fn new(values: impl Iterator<Item = f64> + Clone, shape: &[usize], rows: &[usize]) -> Self {
        let width = shape.iter().product();
        let mut all = Self {
            shape: shape.to_vec(),
            drawn: Vec::with_capacity(rows.len() * width),
            count: 0.0,
            min: vec![f64::INFINITY; width],
            max: vec![f64::NEG_INFINITY; width],
            mean: vec![0.0; width],
            squares: vec![0.0; width],
        };
        let mut numbers = 0.0;
        for (i, v) in values.clone().enumerate() {
            let i = i % width;
            (all.min[i], all.max[i]) = (all.min[i].min(v), all.max[i].max(v));
            all.mean[i] += v;
            numbers += 1.0;
        }
        all.count = numbers / width as f64;
        all.mean.iter_mut().for_each(|sum| *sum /= all.count.max(1.0));
        for (i, v) in values.clone().enumerate() {
            let i = i % width;
            all.squares[i] += (v - all.mean[i]).powi(2);
        }
        let (mut rest, mut next) = (values, 0);
        for &row in rows {
            all.drawn.extend(rest.by_ref().skip((row - next) * width).take(width));
            next = row + 1;
        }
        all
    }

    /// Of both parts (Chan, Golub & LeVeque).
    fn merge(&mut self, other: &Self) {
        if other.count == 0.0 {
            return;
        }
        let both = self.count + other.count;
        for i in 0..self.mean.len() {
            let apart = other.mean[i] - self.mean[i];
            self.mean[i] += apart * other.count / both;
            self.squares[i] += other.squares[i] + apart * apart * self.count * other.count / both;
            self.min[i] = self.min[i].min(other.min[i]);
            self.max[i] = self.max[i].max(other.max[i]);
        }
        self.count = both;
        self.drawn.extend_from_slice(&other.drawn);
    }

    /// As the dataset has it.
    fn json(&self) -> Value {
        let width = self.min.len();
        let std: Vec<f64> = self.squares.iter().map(|s| (s / self.count.max(1.0)).sqrt()).collect();
        let mut all = Map::new();
        for (name, values) in [("min", &self.min), ("max", &self.max), ("mean", &self.mean), ("std", &std)] {
            all.insert(name.to_owned(), nested(values, &self.shape));
        }
        let columns: Vec<Vec<f64>> =
            (0..width).map(|i| self.drawn.iter().skip(i).step_by(width).copied().collect()).collect();
        for (name, q) in QUANTILES {
            let values: Vec<f64> = columns.iter().map(|column| quantile(column, q)).collect();
            all.insert(name.to_owned(), nested(&values, &self.shape));
        }
        all.insert("count".to_owned(), json!([self.count as u64]));
        all.into()
    }

    /// All of it, to be joined with other parts.
    fn note(&self) -> Value {
        let Self { shape, count, min, max, mean, squares, drawn } = self;
        json!({
            "shape": shape, "count": count, "min": min, "max": max, "mean": mean, "squares": squares, "drawn": drawn
        })
    }

    fn parse(value: &Value) -> Option<Self> {
        let list = |name: &str| value[name].as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
        let (min, max, mean) = (list("min")?, list("max")?, list("mean")?);
        let shape = list("shape")?.into_iter().map(|n| n as usize).collect();
        // A number that is none has no place in JSON.
        let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
        let drawn = value["drawn"].as_array()?.iter().map(number).collect();
        Some(Self { shape, count: value["count"].as_f64()?, min, max, mean, squares: list("squares")?, drawn })
    }
}

/// Numbers as an array of a shape.
fn nested(values: &[f64], shape: &[usize]) -> Value {
    match shape {
        [] | [_] => json!(values),
        [_, inner @ ..] => values.chunks(inner.iter().product()).map(|part| nested(part, inner)).collect(),
    }
}

impl Stats {
    /// Adds the rows of a row group, `rows` of them, the first of which has the place `first` in the whole.
    pub fn add<'a>(&mut self, columns: impl Iterator<Item = &'a Column>, rows: usize, first: u64, drawn: Drawn) {
        let rows: Vec<usize> = (0..rows).filter(|row| drawn.has(first + *row as u64)).collect();
        let of = |values: &Values| match values {
            Values::Bool(v) => Feature::new(v.iter().map(|b| f64::from(u8::from(*b))), &[1], &rows),
            Values::I64(v) => Feature::new(v.iter().map(|i| *i as f64), &[1], &rows),
            Values::F32(v) => Feature::new(v.iter().map(|x| f64::from(*x)), &[1], &rows),
            Values::F64(v) => Feature::new(v.iter().copied(), &[1], &rows),
            Values::F32s(v, shape) => Feature::new(v.iter().map(|x| f64::from(*x)), shape, &rows),
            Values::Text(_) | Values::TextList(_) => Feature::default(),
        };
        let features = columns.map(|column| (column.name.clone(), of(&column.values))).collect();
        self.merge(&Self { features });
    }

    /// Adds a part that comes behind.
    pub fn merge(&mut self, other: &Self) {
        for (name, other) in &other.features {
            match self.features.get_mut(name) {
                Some(feature) => feature.merge(other),
                None => drop(self.features.insert(name.clone(), other.clone())),
            }
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.features.values().next().map_or(0, |feature| feature.count as u64)
    }

    /// Of how many of them quantiles are taken.
    pub fn drawn(&self) -> u64 {
        self.features.values().next().map_or(0, |feature| (feature.drawn.len() / feature.min.len().max(1)) as u64)
    }

    /// As the dataset has them.
    pub fn json(&self) -> Value {
        self.each(Feature::json)
    }

    /// All of them, to be joined with those of other parts.
    pub fn note(&self) -> Value {
        self.each(Feature::note)
    }

    fn each(&self, write: fn(&Feature) -> Value) -> Value {
        self.features.iter().map(|(name, feature)| (name.clone(), write(feature))).collect::<Map<_, _>>().into()
    }

    /// From the text of [`Stats::note`].
    pub fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let all = value.as_object()?.iter();
        let features = all.map(|(name, value)| Some((name.clone(), Feature::parse(value)?))).collect::<Option<_>>()?;
        Some(Self { features })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(values: &[f32]) -> Stats {
        let mut stats = Stats::default();
        let column = Column::new("a", Values::F32s(values.to_vec(), vec![2]));
        stats.add([column].iter(), values.len() / 2, 0, Drawn::new(1, 1));
        stats
    }

    fn array(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    /// Parts joined have the statistics of the whole, and are read as they were written.
    #[test]
    fn parts_are_joined() {
        let values: Vec<f32> = (0..60u8).map(|k| (f32::from(k) * 0.7).sin() + f32::from(k % 2) * 1e3).collect();
        let whole = part(&values);
        let mut joined = part(&values[..20]);
        joined.merge(&part(&values[20..22]));
        joined.merge(&part(&[]));
        joined.merge(&part(&values[22..]));
        let (whole, joined) = (whole.json()["a"].clone(), joined.json()["a"].clone());
        assert_eq!(whole["count"], json!([30]));
        assert_eq!(QUANTILES.map(|(name, _)| &whole[name]), QUANTILES.map(|(name, _)| &joined[name]));
        let first: Vec<f64> = values.iter().step_by(2).map(|v| f64::from(*v)).collect();
        assert_eq!(array(&whole["q10"])[0], quantile(&first, 0.1));
        for name in ["min", "max", "mean", "std"] {
            for i in 0..2 {
                let [a, b] = [&whole, &joined].map(|s| s[name][i].as_f64().unwrap());
                assert!((a - b).abs() < 1e-9 * a.abs().max(1.0), "{name}: {a} {b}");
            }
        }
        // A population: of 1 and 3 the mean is 2, the deviation 1.
        let two = part(&[1.0, 0.0, 3.0, 0.0]).json();
        assert_eq!((&two["a"]["mean"][0], &two["a"]["std"][0]), (&json!(2.0), &json!(1.0)));
        let again = Stats::parse(&part(&values).note().to_string()).unwrap();
        assert_eq!(again, part(&values));
    }

    /// A part that was read back joins one that was made, whatever the order of their features.
    #[test]
    fn parts_are_joined_by_the_names_of_features() {
        let part = |from: f32| {
            let mut stats = Stats::default();
            let pair = Column::new("z", Values::F32s(vec![from, from + 7.0], vec![2]));
            stats.add([pair, Column::new("a", Values::F32(vec![-from]))].iter(), 1, 0, Drawn::new(1, 1));
            stats
        };
        let read_back = |part: &Stats| Stats::parse(&part.note().to_string()).unwrap();
        let (first, second) = (part(1.0), part(3.0));
        let mut whole = first.clone();
        whole.merge(&second);
        assert_eq!(whole.json()["z"]["mean"], json!([2.0, 9.0]));
        for (mut resumed, then) in [(read_back(&first), second.clone()), (first.clone(), read_back(&second))] {
            resumed.merge(&then);
            assert_eq!(resumed, whole);
        }
    }

    /// Of many rows some are drawn, the same whatever the parts, and their quantiles are near those of all.
    #[test]
    fn quantiles_of_many_rows_are_those_of_some() {
        const ROWS: u64 = 5000;
        let numbers = MOST_DRAWN / 1000;
        let drawn = Drawn::new(ROWS, numbers);
        let of = |parts: &[[u64; 2]]| {
            let mut all = Stats::default();
            for &[from, to] in parts {
                let values = (from..to).map(|k| (k as f32 * 0.37).sin().powi(3)).collect();
                let column = Column::new("a", Values::F32(values));
                all.add([column].iter(), (to - from) as usize, from, drawn);
            }
            all
        };
        let whole = of(&[[0, ROWS]]);
        assert!((900..1100).contains(&whole.drawn()), "{}", whole.drawn());
        let exact: Vec<f64> = (0..ROWS).map(|k| f64::from((k as f32 * 0.37).sin().powi(3))).collect();
        let parts = of(&[[0, 17], [17, 1234], [1234, ROWS]]);
        for (name, q) in QUANTILES {
            let found = array(&whole.json()["a"][name])[0];
            assert_eq!(array(&parts.json()["a"][name])[0], found);
            // At the quantiles that are some hundredths away.
            let [low, high] = [q - 0.03, q + 0.03].map(|q| quantile(&exact, q.clamp(0.0, 1.0)));
            assert!((low..=high).contains(&found), "{name}: {found}");
        }
    }

    /// Images have statistics of their shape.
    #[test]
    fn statistics_have_the_shape_of_their_feature() {
        let mut stats = Stats::default();
        let values: Vec<f32> = (0..24u8).map(f32::from).collect();
        stats.add([Column::new("a", Values::F32s(values, vec![2, 3, 2]))].iter(), 2, 0, Drawn::new(2, 12));
        assert_eq!(
            stats.json()["a"]["min"],
            json!([[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[6.0, 7.0], [8.0, 9.0], [10.0, 11.0]]])
        );
        assert_eq!(stats.json()["a"]["q50"][1][2], json!([16.0, 17.0]));
        assert_eq!(Stats::parse(&stats.note().to_string()).unwrap(), stats);
    }
}
