//! Limit surfaces of many patches, and their queries as arrays.

use bristle::error::ParameterError;
use bristle::limit_surface::{MarginGradient, Rule, Surface, Table, WrenchGradient};
use bristle::patch::{Grid, Patch};
use bristle::{Twist, Wrench, pool};
use bristle_data::surfaces::{At, RuleError, Torsion, margins};
use numpy::{PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::errors::Failure;
use crate::memory::{check, product};
use crate::scenario::PyScenario;
use crate::signals::interruptible;

/// Memory of a cell of a limit surface [byte], and of all else that it has; measured, and rounded up.
const CELL: usize = 110;
const TABLE: usize = 7000;

type Array2<'py> = Bound<'py, PyArray2<f64>>;
type Array3<'py> = Bound<'py, PyArray3<f64>>;
type Array4<'py> = Bound<'py, PyArray4<f64>>;

/// Limit surfaces of patches, each with a coefficient of friction and a normal force.
#[pyclass(frozen, module = "bristle._bristle")]
pub struct Surfaces {
    surfaces: Vec<Surface>,
    mu: Vec<f64>,
    f_n: Vec<f64>,
    at: At,
}

impl Surfaces {
    fn made(patches: Vec<Patch>, mu: Vec<f64>, f_n: Vec<f64>, rule: &str, at: &str) -> Result<Self, Failure> {
        let rule: Rule = rule.parse::<Rule>()?;
        let at = match at {
            "cop" => At::Cop,
            "origin" => At::Origin,
            other => return Err(ParameterError::new("at", other, "\"cop\" or \"origin\"").into()),
        };
        let surfaces = pool::run(|| patches.par_iter().map(|patch| Surface::new(patch, rule)).collect());
        Ok(Self { surfaces, mu, f_n, at })
    }

    /// Number of cells of every grid, for derivatives by the pressure of each cell. Refuses grids that
    /// differ, and arrays of `each` vectors of `numbers` a cell that do not fit into the memory.
    fn cells(&self, each: usize, numbers: usize) -> Result<usize, Failure> {
        let grid = |k: usize| self.surfaces[k].patch().grid();
        let sides = |k: usize| (grid(k).ny, grid(k).nx);
        let n = self.surfaces.len();
        if let Some(k) = (1..n).find(|k| sides(*k) != sides(0)) {
            let ((rows, columns), (wanted_rows, wanted_columns)) = (sides(k), sides(0));
            let found = format!("{rows} x {columns} cells");
            let accepted = format!("{wanted_rows} x {wanted_columns} cells, as table 0 has");
            return Err(Failure::Parameter(ParameterError::new("patch", found, accepted), Some(k)));
        }
        let cells = if n == 0 { 0 } else { grid(0).len() };
        // Of each derivative, what is found and the array that is made of it.
        check(
            || format!("derivatives by {cells} cells under {each} vectors of {n} tables"),
            product([n, each, cells, 2 * numbers * size_of::<f64>()]),
        )?;
        Ok(cells)
    }

    /// What all surfaces make of their vectors, of arrays [surfaces or 1, vectors, 3].
    fn each<T: Send>(
        &self,
        vectors: &PyReadonlyArray3<'_, f64>,
        py: Python<'_>,
        of: impl Fn(usize, &[[f64; 3]]) -> Result<Vec<T>, Failure> + Sync,
    ) -> Result<Vec<Vec<T>>, Failure> {
        let [rows, each, _] = *vectors.shape() else { unreachable!("it has three axes") };
        let n = self.surfaces.len();
        // What is found, and the arrays that are made of it.
        check(|| format!("{each} vectors of {n} tables"), product([n, each, 2 * size_of::<T>() + 32]))?;
        let (vectors, _) = vectors.as_slice().map_err(PyErr::from)?.as_chunks::<3>();
        py.detach(|| {
            let one = |k| of(k, &vectors[if rows == 1 { 0 } else { k * each }..][..each]);
            pool::run(|| (0..self.surfaces.len()).into_par_iter().map(one).collect())
        })
    }
}

#[pymethods]
impl Surfaces {
    /// Those of pressure maps [surfaces, rows, columns], bottom row first, on grids of a size [m].
    #[staticmethod]
    fn of_maps(
        py: Python<'_>,
        maps: PyReadonlyArray3<'_, f64>,
        size: [f64; 2],
        mu: Vec<f64>,
        f_n: Vec<f64>,
        rule: &str,
        at: &str,
    ) -> Result<Self, Failure> {
        let [_, rows, columns] = *maps.shape() else { unreachable!("it has three axes") };
        let maps = maps.as_slice().map_err(PyErr::from)?;
        py.detach(|| {
            let grid = Grid::new(columns, rows, size[0], size[1])?;
            let n = maps.len() / (rows * columns);
            check(|| format!("{n} tables of {rows} x {columns} cells"), product([n, rows * columns * CELL + TABLE]))?;
            let patch = |(k, map): (usize, &[f64])| {
                Patch::from_pressure(grid, map).map_err(|e| match Failure::from(e) {
                    Failure::Parameter(error, _) => Failure::Parameter(error, Some(k)),
                    other => other,
                })
            };
            let maps = maps.par_chunks_exact(rows * columns).enumerate();
            let patches = pool::run(|| maps.map(patch).collect::<Result<_, _>>())?;
            Self::made(patches, mu, f_n, rule, at)
        })
    }

    /// Those of contacts 0 to `n` of a scenario, at the start.
    #[staticmethod]
    fn of_scenario(
        py: Python<'_>,
        scenario: &PyScenario,
        n: usize,
        seed: u64,
        rule: &str,
        at: &str,
    ) -> Result<Self, Failure> {
        py.detach(|| {
            let first = scenario.0.variant(0, seed, &[])?;
            let cells = first.patch.grid().len();
            check(|| format!("{n} tables of {cells} cells"), product([n, cells * CELL + TABLE + size_of_val(&first)]))?;
            let drawn = (0..n as u64).into_par_iter().map(|k| scenario.0.variant(k, seed, &[]));
            let contacts: Vec<_> = pool::run(|| drawn.collect::<Result<_, _>>())?;
            let mu = contacts.iter().map(|c| c.friction.mu_c).collect();
            let f_n = contacts.iter().map(|c| c.normal_force_at(0.0)).collect();
            Self::made(contacts.iter().map(|c| (*c.patch_at(0.0)).clone()).collect(), mu, f_n, rule, at)
        })
    }

    /// The same patches under other coefficients and forces.
    fn under(&self, mu: Vec<f64>, f_n: Vec<f64>) -> Self {
        Self { surfaces: self.surfaces.clone(), mu, f_n, at: self.at }
    }

    fn __len__(&self) -> usize {
        self.surfaces.len()
    }

    /// Coefficients of friction.
    fn mu<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.mu)
    }

    /// Normal forces.
    fn f_n<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.f_n)
    }

    /// Torsional radii by the rule.
    fn radius<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.surfaces.iter().map(Surface::radius))
    }

    /// Centres of pressure.
    fn cop<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f64>>, Failure> {
        let all: Vec<f64> = self.surfaces.iter().flat_map(|s| s.patch().cop()).collect();
        Ok(PyArray1::from_vec(py, all).reshape([self.surfaces.len(), 2])?)
    }

    /// Errors (most, least, mean) of the ellipsoid and of limits of their own, [surfaces, 3] each.
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn torsion<'py>(&self, py: Python<'py>) -> Result<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>), Failure> {
        let one = |(k, surface)| Torsion::new(surface).map_err(|e| Failure::Parameter(e, Some(k)));
        let all: Vec<Torsion> = py.detach(|| {
            interruptible(|goes_on| {
                let each = self.surfaces.par_iter().enumerate().map(|of| goes_on().then(|| one(of)));
                pool::run(|| each.while_some().collect::<Result<_, _>>())
            })?
        })?;
        let array = |of: fn(&Torsion) -> RuleError| {
            let numbers = all.iter().map(of).flat_map(|e| [e.most, e.least, e.mean]);
            PyArray1::from_iter(py, numbers).reshape([all.len(), 3])
        };
        Ok((array(|t| t.ellipsoid)?, array(|t| t.cylinder)?))
    }

    /// Factors [surfaces, loads] and twists at slip [surfaces, loads, 3].
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn margin<'py>(
        &self,
        py: Python<'py>,
        loads: PyReadonlyArray3<'py, f64>,
    ) -> Result<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray3<f64>>), Failure> {
        let shape = [self.surfaces.len(), loads.shape()[1]];
        let all = self.each(&loads, py, |k, loads| {
            let loads: Vec<Wrench> = loads.iter().map(|[fx, fy, tau]| Wrench::new(*fx, *fy, *tau)).collect();
            margins(&self.surfaces[k], &loads, self.at, self.mu[k], self.f_n[k])
                .map_err(|e| Failure::Parameter(e, Some(k)))
        })?;
        let factors = PyArray1::from_iter(py, all.iter().flatten().map(|m| m.factor)).reshape(shape)?;
        let twists = PyArray1::from_iter(py, all.iter().flatten().flat_map(|m| m.twist.to_array()));
        Ok((factors, twists.reshape([shape[0], shape[1], 3])?))
    }

    /// Friction wrenches [surfaces, twists, 3] of twists.
    fn wrench<'py>(
        &self,
        py: Python<'py>,
        twists: PyReadonlyArray3<'py, f64>,
    ) -> Result<Bound<'py, PyArray3<f64>>, Failure> {
        let shape = [self.surfaces.len(), twists.shape()[1], 3];
        let all = self.each(&twists, py, |k, twists| {
            let (surface, mu, f_n) = (&self.surfaces[k], self.mu[k], self.f_n[k]);
            let wrench = |[vx, vy, w]: &[f64; 3]| {
                let twist = Twist::new(*vx, *vy, *w);
                match self.at {
                    At::Cop => surface.wrench(twist, mu, f_n),
                    At::Origin => surface.wrench_at_origin(twist, mu, f_n),
                }
            };
            Ok(twists.iter().map(|twist| wrench(twist).to_array()).collect())
        })?;
        Ok(PyArray1::from_iter(py, all.into_iter().flatten().flatten()).reshape(shape)?)
    }

    /// Margins and their derivatives: factors [surfaces, loads], twists [surfaces, loads, 3], by loads alike,
    /// by pressures [surfaces, loads, cells], bottom row first, by mu and by f_n [surfaces, loads].
    #[allow(clippy::type_complexity, reason = "six arrays")]
    fn margin_gradients<'py>(
        &self,
        py: Python<'py>,
        loads: PyReadonlyArray3<'py, f64>,
    ) -> Result<(Array2<'py>, Array3<'py>, Array3<'py>, Array3<'py>, Array2<'py>, Array2<'py>), Failure> {
        let (n, each, cells) = (self.surfaces.len(), loads.shape()[1], self.cells(loads.shape()[1], 1)?);
        let all: Vec<MarginGradient> = self
            .each(&loads, py, |k, loads| {
                let loads: Vec<Wrench> = loads.iter().map(|load| Wrench::from(*load)).collect();
                self.surfaces[k]
                    .margin_gradients(&loads, self.at.into(), self.mu[k], self.f_n[k])
                    .map_err(|e| Failure::Parameter(e, Some(k)))
            })?
            .into_iter()
            .flatten()
            .collect();
        let numbers = |of: fn(&MarginGradient) -> f64| PyArray1::from_iter(py, all.iter().map(of)).reshape([n, each]);
        let vectors = |of: fn(&MarginGradient) -> [f64; 3]| {
            PyArray1::from_iter(py, all.iter().flat_map(of)).reshape([n, each, 3])
        };
        let pressure = PyArray1::from_iter(py, all.iter().flat_map(|g| g.pressure.iter().copied()));
        Ok((
            numbers(|g| g.margin.factor)?,
            vectors(|g| g.margin.twist.to_array())?,
            vectors(|g| g.load)?,
            pressure.reshape([n, each, cells])?,
            numbers(|g| g.mu)?,
            numbers(|g| g.f_n)?,
        ))
    }

    /// Wrenches and their derivatives: wrenches [surfaces, twists, 3], by twists [surfaces, twists, 3, 3], by
    /// pressures [surfaces, twists, cells, 3], bottom row first, by mu and by f_n [surfaces, twists, 3].
    #[allow(clippy::type_complexity, reason = "five arrays")]
    fn wrench_gradients<'py>(
        &self,
        py: Python<'py>,
        twists: PyReadonlyArray3<'py, f64>,
    ) -> Result<(Array3<'py>, Array4<'py>, Array4<'py>, Array3<'py>, Array3<'py>), Failure> {
        let (n, each, cells) = (self.surfaces.len(), twists.shape()[1], self.cells(twists.shape()[1], 3)?);
        let all: Vec<WrenchGradient> = self
            .each(&twists, py, |k, twists| {
                let twists: Vec<Twist> = twists.iter().map(|twist| Twist::from(*twist)).collect();
                self.surfaces[k]
                    .wrench_gradients(&twists, self.at.into(), self.mu[k], self.f_n[k])
                    .map_err(|e| Failure::Parameter(e, Some(k)))
            })?
            .into_iter()
            .flatten()
            .collect();
        let vectors = |of: fn(&WrenchGradient) -> [f64; 3]| {
            PyArray1::from_iter(py, all.iter().flat_map(of)).reshape([n, each, 3])
        };
        let by_twist = PyArray1::from_iter(py, all.iter().flat_map(|g| g.twist).flatten());
        let pressure = PyArray1::from_iter(py, all.iter().flat_map(|g| g.pressure.iter().flatten().copied()));
        Ok((
            vectors(|g| g.wrench.to_array())?,
            by_twist.reshape([n, each, 3, 3])?,
            pressure.reshape([n, each, cells, 3])?,
            vectors(|g| g.mu)?,
            vectors(|g| g.f_n)?,
        ))
    }

    /// Rows and columns of every grid [surfaces, 2].
    fn grids<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<usize>>, Failure> {
        let all = self.surfaces.iter().flat_map(|s| [s.patch().grid().ny, s.patch().grid().nx]);
        Ok(PyArray1::from_iter(py, all).reshape([self.surfaces.len(), 2])?)
    }

    /// Twists and wrenches at the nodes of tables [surfaces, theta, phi, 3].
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn nodes<'py>(
        &self,
        py: Python<'py>,
        n_ls: usize,
    ) -> Result<(Bound<'py, PyArray4<f64>>, Bound<'py, PyArray4<f64>>), Failure> {
        let n = self.surfaces.len();
        // The nodes of tables, and of two arrays.
        let nodes = product([4, n_ls, n_ls]).saturating_add(1);
        check(|| format!("{n} tables of {nodes} nodes"), product([n, nodes, 9 * size_of::<f64>()]))?;
        let tables: Vec<Table> = py.detach(|| {
            let one = |surface: &Surface| Table::of(surface, n_ls);
            pool::run(|| self.surfaces.par_iter().map(one).collect::<Result<_, _>>())
        })?;
        let shape = [tables.len(), 4 * n_ls + 1, n_ls + 1, 3];
        let place = |surface: &Surface| if self.at == At::Cop { [0.0; 2] } else { surface.patch().cop().map(|c| -c) };
        // Tables are of the isotropic patch, where friction has axes.
        let twists = tables.iter().zip(&self.surfaces).flat_map(|(t, surface)| {
            let (at, axes) = (place(surface), surface.patch().friction_axes());
            let twist = move |v: Twist| axes.map_or(v, |axes| axes.twist(v)).at(at).to_array();
            (0..=4 * n_ls).flat_map(move |i| (0..=n_ls).flat_map(move |j| twist(t.twist(i, j))))
        });
        let twists = PyArray1::from_iter(py, twists).reshape(shape)?;
        let of = self.surfaces.iter().zip(self.mu.iter().zip(&self.f_n));
        let wrenches = tables.iter().zip(of).flat_map(|(t, (surface, (mu, f_n)))| {
            let (at, axes) = (place(surface), surface.patch().friction_axes());
            let most = surface.friction() * mu * f_n;
            t.nodes().iter().flat_map(move |[x, y, z]| {
                let wrench = Wrench::new(most * x, most * y, most * t.radius() * z);
                axes.map_or(wrench, |axes| axes.wrench(wrench)).about(at).to_array()
            })
        });
        Ok((twists, PyArray1::from_iter(py, wrenches).reshape(shape)?))
    }
}
