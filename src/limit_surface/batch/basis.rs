//! Tables of many maps on one grid about its centre, as one matrix product.
//!
//! A wrench is linear in the pressure, with coefficients that depend on the grid and the twist alone. Tables
//! about the centre of pressure cannot share them, as every map has its own centre and radius. About the
//! grid's centre, with the radius of the grid, the twists are the same for all maps, and the coefficients are
//! made once.

use rayon::prelude::*;

use super::parity_product::{Coefficients, MAPS, PARITIES, SUMS, Site, Sums, parts};
use crate::error::ParameterError;
use crate::limit_surface::nodes::Angles;
use crate::limit_surface::quadrature::{OneCell, Rule, unit_shape};
use crate::limit_surface::radius_basis::RadiusBasis;
use crate::limit_surface::table::{Converted, Table};
use crate::number::real::Real;
use crate::number::simd::{copies, widest};
use crate::patch::{Grid, Patch, isotropic_in_pressure};
use crate::pool;

/// Largest memory of the coefficients [byte].
const MAX_BYTES: usize = 1 << 30;

/// The wrenches of all twists of a table about the centre of a grid, as linear functions of the pressure of
/// its cells.
///
/// Its tables have twists and wrenches AT THE CENTRE OF THE GRID ([`Table::centre`]), as a planner wants them
/// that works in the frame of a sensor, and the radius of the grid ([`Basis::radius`]). A table costs a
/// matrix product, whatever the rule: 21 x 21 random pressures by exact cells, many at once, a thirtieth of
/// the time of [`Table::new`]. Making the basis costs as much as some three such tables. Look-ups are as
/// exact as about the centre of pressure if the pressure is all over the grid; of a small spot in a large
/// grid, which has a radius of its own, they are less.
///
/// ```
/// use bristle::limit_surface::{Basis, Rule};
/// use bristle::patch::{Grid, Patch};
///
/// let sensor = Grid::new(16, 16, 0.016, 0.016)?;
/// let basis = Basis::new(&sensor, Rule::Cells, 20)?;
/// let frames: Vec<Patch> = (0..3)
///     .map(|k| Patch::from_fn(sensor, |x, y| (1.0 - 1e5 * (x - 0.001 * f64::from(k)).powi(2) - 5e4 * y * y).max(0.0)))
///     .collect::<Result<_, _>>()?;
/// let tables = basis.tables(&frames)?;
/// assert_eq!(tables[2].centre(), [0.0; 2]);
/// # Ok::<(), bristle::error::PatchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Basis {
    grid: Grid,
    rule: Rule,
    /// Radius over the width of a cell. Like the coefficients it does not depend on the size of the grid.
    radius: f64,
    angles: Angles,
    coefficients: Precision,
}

/// Coefficients of `(tau/r, fy, fx)` for the directions of a quarter turn of `theta`, without translation,
/// for pairs of a row's nodes. They are those of a quarter of the grid's cells, because mirroring the grid
/// mirrors the twists, too.
#[derive(Clone, Debug)]
enum Precision {
    Double(Vec<Coefficients<f64>>),
    Single(Vec<Coefficients<f32>>),
}

impl Basis {
    /// The basis of tables with resolution `n_ls` for maps on `grid`.
    ///
    /// # Errors
    /// A grid as in [`Grid::new`], `n_ls` of zero or above [`MAX_N_LS`](crate::limit_surface::MAX_N_LS), or
    /// such that grid and resolution ask for more than 1 GiB.
    pub fn new(grid: &Grid, rule: Rule, n_ls: usize) -> Result<Self, ParameterError> {
        Self::of(grid, rule, n_ls, Precision::Double)
    }

    /// As [`Basis::new`], in single precision: nodes within 1e-6 of it, tables in some half of the time.
    ///
    /// # Errors
    /// As [`Basis::new`].
    pub fn single(grid: &Grid, rule: Rule, n_ls: usize) -> Result<Self, ParameterError> {
        Self::of(grid, rule, n_ls, Precision::Single)
    }

    fn of<T: Real<Scalar = T>>(
        grid: &Grid,
        rule: Rule,
        n_ls: usize,
        precision: impl Fn(Vec<Coefficients<T>>) -> Precision,
    ) -> Result<Self, ParameterError> {
        grid.validate()?;
        let angles = Angles::new(n_ls)?;
        let quarter = grid.nx.div_ceil(2) * grid.ny.div_ceil(2);
        let pairs = (n_ls + 1) * n_ls.div_ceil(2);
        let bytes = (pairs * PARITIES * size_of::<Coefficients<T>>()).saturating_mul(quarter);
        if bytes > MAX_BYTES {
            let value =
                format!("{n_ls} with {} x {} cells, {:.1} GiB", grid.nx, grid.ny, bytes as f64 / (1 << 30) as f64);
            let accepted = "factors of at most 1 GiB: a coarser table or grid, or single precision, which takes half";
            return Err(ParameterError::new("n_ls", value, accepted));
        }
        let shape = unit_shape(grid);
        let radius = radius(&shape);
        let cell = OneCell::new(&shape, rule);
        let mut coefficients = vec![[T::splat(0.0); SUMS]; pairs * PARITIES * quarter];
        let fill = |(pair, out): (usize, &mut [Coefficients<T>])| {
            let (i, first) = (pair / n_ls.div_ceil(2), pair % n_ls.div_ceil(2) * 2);
            let [cos, sin] = angles.directions[i];
            for (which, j) in (first..n_ls.min(first + 2)).enumerate() {
                let d = radius * angles.tangents[j];
                set_parts(&shape, &cell.wrenches([-sin * d, cos * d]), radius / cell.unit, which, out);
            }
        };
        pool::run(|| coefficients.par_chunks_mut(PARITIES * quarter).enumerate().for_each(fill));
        Ok(Self { grid: *grid, rule, radius, angles, coefficients: precision(coefficients) })
    }

    /// The tables of patches on any grids, each about the centre of its own; patches on grids of one shape
    /// share a basis. `last` is the basis of the last call, if any, and the last of this one afterwards.
    ///
    /// # Errors
    /// As [`Basis::new`].
    pub fn batch(
        patches: &[Patch],
        new: impl Fn(&Grid) -> Result<Self, ParameterError>,
        last: &mut Option<Self>,
    ) -> Result<Vec<Table>, ParameterError> {
        let patches = &*isotropic_in_pressure(patches);
        let mut tables = vec![None; patches.len()];
        while let Some(first) = tables.iter().position(Option::is_none) {
            let kept = last.take().filter(|basis| basis.serves(patches[first].grid()));
            let basis = match kept {
                Some(basis) => basis,
                None => new(patches[first].grid())?,
            };
            let served: Vec<usize> = (first..patches.len()).filter(|k| basis.serves(patches[*k].grid())).collect();
            let group: Vec<Patch> = served.iter().map(|k| patches[*k].clone()).collect();
            for (k, table) in served.into_iter().zip(basis.tables(&group)?) {
                tables[k] = Some(table);
            }
            *last = Some(basis);
        }
        Ok(tables.into_iter().flatten().collect())
    }

    /// The grid.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Radius \[m\] of the tables of maps on that grid: the mean distance of its rectangle from its centre.
    pub fn radius(&self) -> f64 {
        self.radius * self.grid.dx
    }

    /// Whether maps on a grid have tables of this basis: those on its own, larger or smaller.
    pub fn serves(&self, grid: &Grid) -> bool {
        unit_shape(grid) == unit_shape(&self.grid)
    }

    /// The tables of many patches, in parallel. A table does not depend on the others, nor on the size of the
    /// basis's grid.
    ///
    /// # Errors
    /// A patch on a grid of another shape.
    pub fn tables(&self, patches: &[Patch]) -> Result<Vec<Table>, ParameterError> {
        let patches = &*isotropic_in_pressure(patches);
        if let Some(k) = patches.iter().position(|p| p.is_irregular() || !self.serves(p.grid())) {
            let of = |g: &Grid| format!("{} x {} cells of {} x {} m", g.nx, g.ny, g.dx, g.dy);
            let accepted = format!("{}, or all of them scaled", of(&self.grid));
            return Err(ParameterError::new(format!("patches[{k}].grid"), of(patches[k].grid()), accepted));
        }
        // A job makes several products in the same memory.
        let jobs = 2 * pool::threads();
        let tables = patches.par_chunks(patches.len().div_ceil(jobs).next_multiple_of(MAPS).max(MAPS)).map(|patches| {
            let maps: Vec<&[f64]> = patches.iter().map(Patch::weights).collect();
            let centre = |p: &Patch| p.cop().map(|x| x / (self.radius * p.grid().dx));
            let centres: Vec<[f64; 2]> = patches.iter().map(centre).collect();
            let nodes = match &self.coefficients {
                Precision::Double(c) => widest!(products::<f64>(c, &self.grid, &self.angles, &maps, &centres)),
                Precision::Single(c) => widest!(products::<f32>(c, &self.grid, &self.angles, &maps, &centres)),
            };
            patches.iter().zip(nodes).map(|(patch, nodes)| self.table(patch, nodes)).collect::<Vec<_>>()
        });
        Ok(pool::run(|| tables.collect::<Vec<_>>()).into_iter().flatten().collect())
    }

    /// The table of `patch` with the nodes `h`.
    fn table(&self, patch: &Patch, h: Vec<[f64; 3]>) -> Table {
        let (n_ls, radius) = (self.angles.n_ls(), self.radius * patch.grid().dx);
        let is_single = matches!(self.coefficients, Precision::Single(_));
        Table {
            rule: self.rule,
            n_ls,
            patch: patch.clone(),
            at_origin: true,
            radius,
            is_single,
            h,
            radius_basis: RadiusBasis::default(),
            converted: Converted::default(),
        }
    }
}

/// Mean distance of a grid's rectangle from its centre, in closed form.
fn radius(grid: &Grid) -> f64 {
    let [a, b] = [grid.nx as f64 * grid.dx, grid.ny as f64 * grid.dy];
    let d = a.hypot(b);
    d / 6.0 + (a * a / b * (b / a).asinh() + b * b / a * (a / b).asinh()) / 12.0
}

/// The row of the first quarter turn of which row `i` of a table is the mirror image, and whether it is
/// mirrored in x and in y. Mirroring a centre of rotation in x mirrors the velocity in y.
const fn image(n_ls: usize, i: usize) -> (usize, [bool; 2]) {
    match i / n_ls {
        0 => (i, [false, false]),
        1 => (2 * n_ls - i, [false, true]),
        2 => (i - 2 * n_ls, [true, true]),
        _ => (4 * n_ls - i, [true, false]),
    }
}

copies! {
    /// The nodes of the tables of `maps`, with their centres of pressure over the radius.
    fn products<R>(
        coefficients: &[Coefficients<R::Scalar>], grid: &Grid, angles: &Angles, maps: &[&[f64]], centres: &[[f64; 2]],
    ) -> Vec<Vec<[f64; 3]>> {
        let n_ls = angles.n_ls();
        let pairs = n_ls.div_ceil(2);
        let quarter = grid.nx.div_ceil(2) * grid.ny.div_ceil(2);
        let mut sums = Sums::<R>::new([grid.nx, grid.ny], (n_ls + 1) * pairs);
        let mut out: Vec<_> = maps.iter().map(|_| Vec::with_capacity((4 * n_ls + 1) * (n_ls + 1))).collect();
        let mut sites = Vec::with_capacity(n_ls);
        for ((maps, out), centres) in maps.chunks(MAPS).zip(out.chunks_mut(MAPS)).zip(centres.chunks(MAPS)) {
            sums.take(maps);
            for (i, row) in coefficients.chunks_exact(pairs * PARITIES * quarter).enumerate() {
                sums.multiply(i * pairs, row);
            }
            for (group, (out, centres)) in out.chunks_mut(R::LANES).zip(centres.chunks(R::LANES)).enumerate() {
                for (i, [cos, sin]) in angles.directions.iter().enumerate() {
                    let (row, mirrored) = image(n_ls, i);
                    sites.clear();
                    for j in 0..n_ls {
                        sites.push(Site { of: 2 * row * pairs + j, mirrored });
                    }
                    for ((out, row), [x, y]) in out.iter_mut().zip(sums.rows(group, &sites, [2, 1, 0])).zip(centres) {
                        // The last node is translation, whose force is at the centre of pressure.
                        row[3 * n_ls..][..3].copy_from_slice(&[-cos, -sin, y * cos - x * sin]);
                        out.extend_from_slice(row[..3 * (n_ls + 1)].as_chunks().0);
                    }
                }
                for out in out {
                    out.extend_from_within(..=n_ls);
                }
            }
        }
        out
    }
}

/// Sets the even and odd parts of `(tau/r, fy, fx)` of all cells about the site `which` of two.
fn set_parts<T: Real>(grid: &Grid, wrenches: &[[f64; 3]], radius: f64, which: usize, out: &mut [Coefficients<T>]) {
    let (nx, ny) = (grid.nx, grid.ny);
    let (width, quarter) = (nx.div_ceil(2), nx.div_ceil(2) * ny.div_ceil(2));
    let scale = [1.0, 1.0, 1.0 / radius];
    for j in 0..ny.div_ceil(2) {
        let (low, high) = (&wrenches[j * nx..][..nx], &wrenches[(ny - 1 - j) * nx..][..nx]);
        for i in 0..width {
            let cells = [&low[i], &low[nx - 1 - i], &high[i], &high[nx - 1 - i]];
            for component in 0..3 {
                let parts = parts([cells[0][component], cells[1][component], cells[2][component], cells[3][component]]);
                for parity in 0..PARITIES {
                    let part = T::splat(parts[parity] * scale[component]);
                    out[parity * quarter + j * width + i][3 * which + 2 - component] = part;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::Surface;
    use crate::patch::Shape;
    use crate::random::Draw;

    fn random(grid: Grid, seed: u64) -> Patch {
        let map: Vec<f64> = (0..grid.len() as u64).map(|k| Draw::new(seed, k).uniform("p").powi(3)).collect();
        Patch::from_pressure(grid, &map).unwrap()
    }

    /// The same pressure on cells that are nearly square: narrow ones cost the closed form of
    /// [`Surface`] digits, as far from them as six of their diagonals.
    fn in_squares(patch: &Patch) -> Patch {
        let Grid { nx, ny, dx, dy } = *patch.grid();
        let [m, n] = [dx / dy, dy / dx].map(|ratio| (ratio.round() as usize).max(1));
        let fine = Grid { nx: m * nx, ny: n * ny, dx: dx / m as f64, dy: dy / n as f64 };
        let of = |k: usize| patch.weights()[k / (m * nx) / n * nx + k % (m * nx) / m];
        Patch::from_pressure(fine, &(0..fine.len()).map(of).collect::<Vec<_>>()).unwrap()
    }

    /// Largest error of the nodes against the wrenches of their twists, each by itself.
    fn worst(table: &Table) -> f64 {
        // Of exact integrals the cells make no difference.
        let patch = if table.rule() == Rule::Cells { in_squares(table.patch()) } else { table.patch().clone() };
        let (surface, n_ls) = (Surface::new(&patch, table.rule()), table.n_ls());
        let mut worst = 0.0f64;
        for (k, h) in table.nodes().iter().enumerate() {
            let w = surface.wrench_at_origin(table.twist(k / (n_ls + 1), k % (n_ls + 1)), 1.0, 1.0);
            let errors = [h[0] - w.fx, h[1] - w.fy, h[2] - w.tau / table.radius()];
            assert!(errors.iter().all(|e| e.is_finite()));
            worst = errors.iter().fold(worst, |worst, e| worst.max(e.abs()));
        }
        worst
    }

    #[test]
    fn nodes_are_the_wrenches_of_their_twists() {
        let grids =
            [(21, 21, 0.02, 0.02), (8, 5, 0.01, 0.03), (5, 8, 0.02, 0.01), (1, 4, 1e-3, 4e-3), (2, 1, 0.2, 0.01)];
        for (nx, ny, width, height) in grids {
            let grid = Grid::new(nx, ny, width, height).unwrap();
            let patches: Vec<Patch> = (1..=37).map(|seed| random(grid, seed)).collect();
            for rule in Rule::ALL {
                for n_ls in [1, 2, 7, 20] {
                    let found = |basis: Result<Basis, ParameterError>, some: usize| {
                        basis.unwrap().tables(&patches[..some]).unwrap().iter().map(worst).fold(0.0, f64::max)
                    };
                    let some = if n_ls == 7 { 37 } else { 3 };
                    let double = found(Basis::new(&grid, rule, n_ls), some);
                    let single = found(Basis::single(&grid, rule, n_ls), some);
                    assert!(double < 5e-12, "{nx} x {ny}, {} {n_ls}: {double:e}", rule.name());
                    assert!(single < 1e-6, "{nx} x {ny}, {} {n_ls}: {single:e}", rule.name());
                }
            }
        }
    }

    /// A map whose centre of pressure is the grid's centre and whose radius is the grid's has the same table
    /// either way.
    #[test]
    fn uniform_pressure_has_the_table_about_its_centre_of_pressure() {
        let grid = Grid::new(9, 6, 0.02, 0.01).unwrap();
        let square = Patch::shape(grid, Shape::Square).unwrap();
        let about_cop = Table::new(&square, Rule::Cells, 12).unwrap();
        let table = &Basis::new(&grid, Rule::Cells, 12).unwrap().tables(&[square]).unwrap()[0];
        assert!((table.radius() - about_cop.radius()).abs() < 1e-15);
        for (a, b) in table.nodes().iter().zip(about_cop.nodes()) {
            assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-11), "{a:?}, {b:?}");
        }
    }

    #[test]
    fn grids_of_one_shape_share_a_basis() {
        let grid = |side: f64| Grid::new(6, 4, 3.0 * side, 1.0 * side).unwrap();
        let (small, large) = (random(grid(0.01), 1), random(grid(0.02), 1));
        let other = random(Grid::new(6, 4, 0.03, 0.02).unwrap(), 1);
        let new = |grid: &Grid| Basis::new(grid, Rule::Cells, 5);
        let mut last = None;
        let tables =
            Basis::batch(&[small.clone(), other.clone(), large.clone(), other.clone()], new, &mut last).unwrap();
        assert!(last.as_ref().is_some_and(|basis| basis.serves(other.grid()) && !basis.serves(small.grid())));
        for (table, patch) in tables.iter().zip([&small, &other, &large, &other]) {
            assert_eq!(*table, new(patch.grid()).unwrap().tables(std::slice::from_ref(patch)).unwrap()[0]);
            assert!(worst(table) < 5e-12);
        }
        assert_eq!(tables[0].nodes(), tables[2].nodes());
        assert!((tables[2].radius() - 2.0 * tables[0].radius()).abs() < 1e-15);
    }

    #[test]
    fn a_table_does_not_depend_on_the_others() {
        let grid = Grid::new(10, 7, 0.02, 0.02).unwrap();
        let patches: Vec<Patch> = (1..=150).map(|seed| random(grid, seed)).collect();
        // With one thread the jobs are of several multiplications, the last of fewer maps.
        let threads = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        for basis in [Basis::new(&grid, Rule::Cells, 5), Basis::single(&grid, Rule::Cells, 5)].map(Result::unwrap) {
            let [tables, others] = [1, 16].map(|n| threads(n).install(|| basis.tables(&patches).unwrap()));
            assert_eq!(tables, others);
            for k in [0, 1, MAPS - 1, MAPS, 149] {
                assert_eq!(basis.tables(&patches[k..=k]).unwrap()[0], tables[k]);
            }
        }
    }

    #[test]
    fn other_grids_and_huge_ones_are_refused() {
        let grid = Grid::new(10, 7, 0.02, 0.02).unwrap();
        let basis = Basis::new(&grid, Rule::Cells, 5).unwrap();
        let other = Grid::new(10, 7, 0.02, 0.03).unwrap();
        let error = basis.tables(&[random(grid, 1), random(other, 1)]).unwrap_err().to_string();
        assert!(error.contains("patches[1].grid") && error.contains("10 x 7 cells"), "{error}");
        let error = Basis::new(&Grid::new(400, 400, 0.1, 0.1).unwrap(), Rule::Points, 20).unwrap_err().to_string();
        assert!(
            error.contains("n_ls = 20 with 400 x 400 cells, 1.5 GiB") && error.contains("single precision"),
            "{error}"
        );
        let error = Basis::new(&Grid::new(4096, 4096, 0.1, 0.1).unwrap(), Rule::Points, 1000).unwrap_err().to_string();
        assert!(error.contains("1 GiB"), "{error}");
    }
}
