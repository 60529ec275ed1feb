//! Friction by region: `friction.map`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use super::patch_failure::PatchFailure;
use crate::map_file::{FileMap, from_rows, load_npy};
use bristle::patch::Grid;
use bristle::range::FRICTION_FACTOR;

/// The key of a friction map.
pub const MAP: &str = "friction.map";

/// Factors of the coefficients of friction over the patch.
#[derive(Clone, Debug, PartialEq)]
pub enum FrictionMapSpec {
    /// Rows of factors, top row first.
    Rows(Vec<Vec<f64>>),
    /// An `.npy` of one map, beside the scenario.
    File(PathBuf),
}

impl FrictionMapSpec {
    /// Reads the map; a relative file is looked for in `base`.
    pub(super) fn load(&self, base: &Path) -> Result<FrictionMap, PatchFailure> {
        let map = match self {
            Self::Rows(rows) => from_rows(MAP, rows)?,
            Self::File(file) => {
                let path = base.join(file);
                let maps = load_npy(&path, None, None).map_err(|e| PatchFailure::of(MAP, e))?;
                let Ok([map]) = <[FileMap; 1]>::try_from(maps) else {
                    return PatchFailure::wrong(MAP, format!("{}: has several maps: expected one", path.display()));
                };
                map
            }
        };
        for factor in &map.pressure {
            FRICTION_FACTOR.check(MAP, *factor).map_err(|e| PatchFailure::of(MAP, e.into()))?;
        }
        Ok(FrictionMap(map))
    }
}

/// A map that has been read.
#[derive(Clone, Debug)]
pub(super) struct FrictionMap(FileMap);

impl FrictionMap {
    /// The factors of the cells of `grid`, bottom row first: the map is spread over the whole of the grid,
    /// and a cell has the factor at its centre, on a border that of the region to the right and above.
    pub fn over(&self, grid: &Grid) -> Vec<f64> {
        let FileMap { nx, ny, pressure } = &self.0;
        // The middle of cell `i` of `of` lies in part `(2 i + 1) n / (2 of)` of n.
        let part = |i: usize, of: usize, n: usize| (2 * i + 1) * n / (2 * of);
        let row = |iy: usize| part(iy, grid.ny, *ny);
        let cell = |iy: usize, ix: usize| pressure[row(iy) * nx + part(ix, grid.nx, *nx)];
        (0..grid.ny).flat_map(|iy| (0..grid.nx).map(move |ix| (iy, ix))).map(|(iy, ix)| cell(iy, ix)).collect()
    }

    /// Its factors.
    pub fn factors(&self) -> &[f64] {
        &self.0.pressure
    }
}

impl<'de> Deserialize<'de> for FrictionMapSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = FrictionMapSpec;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("rows of factors such as `[[1, 0.5]]`, or an `.npy` of one map")
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
                Ok(FrictionMapSpec::File(v.into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(row) = rows.next_element()? {
                    all.push(row);
                }
                Ok(FrictionMapSpec::Rows(all))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

impl JsonSchema for FrictionMapSpec {
    fn schema_name() -> Cow<'static, str> {
        "FrictionMap".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "Factors, 1e-3 to 1e3, as rows of numbers, top row first, or an `.npy` of one map \
                beside the scenario.",
            "anyOf": [{ "type": "array", "items": { "type": "array", "items": { "type": "number" } } },
                { "type": "string" }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_spread_over_any_grid() {
        let map = FrictionMapSpec::Rows(vec![vec![3.0, 4.0], vec![1.0, 2.0]]).load(Path::new(".")).unwrap();
        let over = |nx, ny| map.over(&Grid::new(nx, ny, 0.02, 0.01).unwrap());
        assert_eq!(over(2, 2), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(over(4, 2), [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
        // The centre of the middle cell is on the border.
        assert_eq!(over(3, 1), [3.0, 4.0, 4.0]);
        assert_eq!(over(1, 1), [4.0]);
    }
}
