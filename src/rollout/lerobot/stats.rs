//! Statistics of features, by which policies normalise what they see. Those of parts are joined in the order
//! of the parts, so that they do not depend on threads or on interruptions.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::table::{Column, Values};

/// Of every feature, by its name: parts that were written before an interruption are read back, and have them
/// in another order than those that are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stats {
    features: BTreeMap<String, Feature>,
}

/// Of a feature: one entry a number of its vector.
#[derive(Clone, Debug, Default, PartialEq)]
struct Feature {
    count: f64,
    min: Vec<f64>,
    max: Vec<f64>,
    mean: Vec<f64>,
    /// Sum of the squares of the distances from the mean.
    squares: Vec<f64>,
}

impl Feature {
    /// Of vectors of length `width`. Single precision is summed in double.
    fn new(values: impl Iterator<Item = f64> + Clone, width: usize) -> Self {
        let mut all = Self {
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
        for (i, v) in values.enumerate() {
            let i = i % width;
            all.squares[i] += (v - all.mean[i]).powi(2);
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
    }

    /// As the dataset has it.
    fn json(&self) -> Value {
        let std: Vec<f64> = self.squares.iter().map(|s| (s / self.count.max(1.0)).sqrt()).collect();
        json!({ "min": self.min, "max": self.max, "mean": self.mean, "std": std, "count": [self.count as u64] })
    }

    /// All of it, to be joined with other parts.
    fn note(&self) -> Value {
        let Self { count, min, max, mean, squares } = self;
        json!({ "count": count, "min": min, "max": max, "mean": mean, "squares": squares })
    }

    fn parse(value: &Value) -> Option<Self> {
        let list = |name: &str| value[name].as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
        let (min, max, mean) = (list("min")?, list("max")?, list("mean")?);
        Some(Self { count: value["count"].as_f64()?, min, max, mean, squares: list("squares")? })
    }
}

impl Stats {
    /// Adds the rows of a row group.
    pub fn add<'a>(&mut self, columns: impl Iterator<Item = &'a Column>) {
        let of = |values: &Values| match values {
            Values::Bool(v) => Feature::new(v.iter().map(|b| f64::from(u8::from(*b))), 1),
            Values::I64(v) => Feature::new(v.iter().map(|i| *i as f64), 1),
            Values::F32(v) => Feature::new(v.iter().map(|x| f64::from(*x)), 1),
            Values::F64(v) => Feature::new(v.iter().copied(), 1),
            Values::F32s(v, width) => Feature::new(v.iter().map(|x| f64::from(*x)), *width),
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
        stats.add([Column::new("a", Values::F32s(values.to_vec(), 2))].iter());
        stats
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
            let pair = Column::new("z", Values::F32s(vec![from, from + 7.0], 2));
            stats.add([pair, Column::new("a", Values::F32(vec![-from]))].iter());
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
}
