//! Limit surfaces of many maps on one grid, about its centre: one matrix product.
//!
//! A wrench is linear in the pressure, with factors that depend on the grid and the twist alone. Tables about
//! the centre of pressure cannot share them, as every map has its own centre and radius; about the grid's
//! centre, with the radius of the grid, the twists are the same for all maps, and the factors are made once.

use rayon::prelude::*;

use super::arms::Arms;
use super::cells::FAR_DIAGONALS;
use super::far::Far;
use super::folded::{Folded, MAPS, PARITIES, SUMS, Site, Sums, parts};
use super::lanes::{Block, LANES, vectorised};
use super::points::AT_REST;
use super::rule::Rule;
use super::sample::{node, unit};
use super::table::{Angles, Table};
use crate::error::ParameterError;
use crate::number::real::Real;
use crate::number::simd::{copies, widest};
use crate::patch::{Grid, Patch};

/// Largest memory of the factors [byte].
const MAX_BYTES: usize = 1 << 30;

/// What the wrenches of a table about the centre of a grid are of the pressure of its cells.
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
    /// Radius over the width of a cell: like the factors, it does not depend on the size of the grid.
    radius: f64,
    angles: Angles,
    factors: Factors,
}

/// Factors of `(tau/r, fy, fx)` for the directions of a quarter turn of `theta`, without translation, two of
/// a row after the other, on a quarter of the grid's cells: mirroring the grid mirrors the twists, too.
#[derive(Clone, Debug)]
enum Factors {
    Double(Vec<Folded<f64>>),
    Single(Vec<Folded<f32>>),
}

impl Basis {
    /// The basis of tables with resolution `n_ls` of maps on `grid`.
    ///
    /// # Errors
    /// A grid as in [`Grid::new`], `n_ls` of zero or above [`super::MAX_N_LS`], or such that grid and
    /// resolution ask for more than 1 GiB.
    pub fn new(grid: &Grid, rule: Rule, n_ls: usize) -> Result<Self, ParameterError> {
        Self::of(grid, rule, n_ls, Factors::Double)
    }

    /// As [`Basis::new`], in single precision: nodes within 1e-6 of it, tables in some half of the time.
    ///
    /// # Errors
    /// As [`Basis::new`].
    pub fn single(grid: &Grid, rule: Rule, n_ls: usize) -> Result<Self, ParameterError> {
        Self::of(grid, rule, n_ls, Factors::Single)
    }

    fn of<T: Real<Scalar = T>>(
        grid: &Grid,
        rule: Rule,
        n_ls: usize,
        factors: impl Fn(Vec<Folded<T>>) -> Factors,
    ) -> Result<Self, ParameterError> {
        grid.validate()?;
        let angles = Angles::new(n_ls)?;
        let quarter = grid.nx.div_ceil(2) * grid.ny.div_ceil(2);
        let pairs = (n_ls + 1) * n_ls.div_ceil(2);
        let bytes = (pairs * PARITIES * size_of::<Folded<T>>()).saturating_mul(quarter);
        if bytes > MAX_BYTES {
            let value =
                format!("{n_ls} with {} x {} cells, {:.1} GiB", grid.nx, grid.ny, bytes as f64 / (1 << 30) as f64);
            let accepted = "factors of at most 1 GiB: a coarser table or grid, or single precision, which takes half";
            return Err(ParameterError::new("n_ls", value, accepted));
        }
        let shape = shape(grid);
        let radius = radius(&shape);
        let cell = OneCell::new(&shape, rule);
        let mut folded = vec![[T::of(0.0); SUMS]; pairs * PARITIES * quarter];
        folded.par_chunks_mut(PARITIES * quarter).enumerate().for_each(|(pair, folded): (usize, &mut [Folded<T>])| {
            let (i, first) = (pair / n_ls.div_ceil(2), pair % n_ls.div_ceil(2) * 2);
            let [cos, sin] = angles.directions[i];
            for (which, j) in (first..n_ls.min(first + 2)).enumerate() {
                let d = radius * angles.tangents[j];
                fold(&shape, &cell.wrenches([-sin * d, cos * d]), radius / cell.unit, which, folded);
            }
        });
        Ok(Self { grid: *grid, rule, radius, angles, factors: factors(folded) })
    }

    /// The tables of patches on any grids, each about the centre of its own; patches on grids of one shape
    /// share a basis. `last` is the basis of the last call, if any, and the last of this one afterwards.
    ///
    /// # Errors
    /// As [`Basis::new`].
    pub(crate) fn batch(
        patches: &[Patch],
        new: impl Fn(&Grid) -> Result<Self, ParameterError>,
        last: &mut Option<Self>,
    ) -> Result<Vec<Table>, ParameterError> {
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
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Radius [m] of the tables of maps on that grid: the mean distance of its rectangle from its centre.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.radius * self.grid.dx
    }

    /// Whether maps on a grid have tables of this basis: those on its own, larger or smaller.
    #[must_use]
    pub fn serves(&self, grid: &Grid) -> bool {
        shape(grid) == shape(&self.grid)
    }

    /// The tables of many patches, in parallel. A table does not depend on the others, nor on the size of the
    /// basis's grid.
    ///
    /// # Errors
    /// A patch on a grid of another shape.
    pub fn tables(&self, patches: &[Patch]) -> Result<Vec<Table>, ParameterError> {
        if let Some(k) = patches.iter().position(|p| !self.serves(p.grid())) {
            let of = |g: &Grid| format!("{} x {} cells of {} x {} m", g.nx, g.ny, g.dx, g.dy);
            let accepted = format!("{}, or all of them scaled", of(&self.grid));
            return Err(ParameterError::new(format!("patches[{k}].grid"), of(patches[k].grid()), accepted));
        }
        // Some multiplications a job: they use the same memory.
        let jobs = 2 * rayon::current_num_threads();
        let tables = patches.par_chunks(patches.len().div_ceil(jobs).next_multiple_of(MAPS).max(MAPS)).map(|patches| {
            let maps: Vec<&[f64]> = patches.iter().map(Patch::weights).collect();
            let centre = |p: &Patch| p.cop().map(|x| x / (self.radius * p.grid().dx));
            let centres: Vec<[f64; 2]> = patches.iter().map(centre).collect();
            let nodes = match &self.factors {
                Factors::Double(f) => widest!(products::<f64>(f, &self.grid, &self.angles, &maps, &centres)),
                Factors::Single(f) => widest!(products::<f32>(f, &self.grid, &self.angles, &maps, &centres)),
            };
            patches.iter().zip(nodes).map(|(patch, nodes)| self.table(patch, nodes)).collect::<Vec<_>>()
        });
        Ok(tables.collect::<Vec<_>>().into_iter().flatten().collect())
    }

    /// The table whose nodes are known.
    fn table(&self, patch: &Patch, h: Vec<[f64; 3]>) -> Table {
        let (n_ls, radius) = (self.angles.n_ls(), self.radius * patch.grid().dx);
        let is_single = matches!(self.factors, Factors::Single(_));
        Table {
            rule: self.rule,
            n_ls,
            patch: patch.clone(),
            at_origin: true,
            radius,
            is_single,
            h,
            arms: Arms::default(),
        }
    }
}

/// The grid with cells of width 1.
pub(super) fn shape(grid: &Grid) -> Grid {
    Grid { dx: 1.0, dy: grid.dy / grid.dx, ..*grid }
}

/// Mean distance of a grid's rectangle from its centre, in closed form.
fn radius(grid: &Grid) -> f64 {
    let [a, b] = [grid.nx as f64 * grid.dx, grid.ny as f64 * grid.dy];
    let d = a.hypot(b);
    d / 6.0 + (a * a / b * (b / a).asinh() + b * b / a * (a / b).asinh()) / 12.0
}

/// The row of the first quarter turn whose mirror image row `i` of a table is, and whether it is mirrored, in
/// x and in y. The mirror image of a centre of rotation in x is that of the velocity in y.
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
        factors: &[Folded<R::Scalar>], grid: &Grid, angles: &Angles, maps: &[&[f64]], centres: &[[f64; 2]],
    ) -> Vec<Vec<[f64; 3]>> {
        let n_ls = angles.n_ls();
        let pairs = n_ls.div_ceil(2);
        let quarter = grid.nx.div_ceil(2) * grid.ny.div_ceil(2);
        let mut sums = Sums::<R>::new([grid.nx, grid.ny], (n_ls + 1) * pairs);
        let mut out: Vec<_> = maps.iter().map(|_| Vec::with_capacity((4 * n_ls + 1) * (n_ls + 1))).collect();
        let mut sites = Vec::with_capacity(n_ls);
        for ((maps, out), centres) in maps.chunks(MAPS).zip(out.chunks_mut(MAPS)).zip(centres.chunks(MAPS)) {
            sums.take(maps);
            for (i, factors) in factors.chunks_exact(pairs * PARITIES * quarter).enumerate() {
                sums.multiply(i * pairs, factors);
            }
            for (group, (out, centres)) in out.chunks_mut(R::LANES).zip(centres.chunks(R::LANES)).enumerate() {
                for (i, [cos, sin]) in angles.directions.iter().enumerate() {
                    let (row, mirrored) = image(n_ls, i);
                    sites.clear();
                    for j in 0..n_ls {
                        sites.push(Site { of: 2 * row * pairs + j, mirrored });
                    }
                    for ((out, row), [x, y]) in out.iter_mut().zip(sums.rows(group, &sites, [2, 1, 0])).zip(centres) {
                        // Translation: all of the force at the centre of pressure.
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

/// The parts of `(tau/r, fy, fx)` of all cells about the site `which` of two, for a quarter of the cells.
fn fold<T: Real>(grid: &Grid, wrenches: &[[f64; 3]], radius: f64, which: usize, out: &mut [Folded<T>]) {
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
                    let part = T::of(parts[parity] * scale[component]);
                    out[parity * quarter + j * width + i][3 * which + 2 - component] = part;
                }
            }
        }
    }
}

/// One cell of a grid by a rule, wherever the centre of rotation is.
pub(super) struct OneCell {
    grid: Grid,
    rule: Rule,
    /// Unit of length of the wrenches, in that of the grid.
    pub unit: f64,
    /// Cell centres from the grid's centre, in `unit`.
    places: Vec<[f64; 2]>,
    /// Largest distance of a place.
    span: f64,
    /// Lines of the grid, in `unit`.
    lines: [Vec<f64>; 2],
    far: Far,
    /// Distance of a cell from which its series serves, in `unit`.
    far_from: f64,
}

impl OneCell {
    pub fn new(grid: &Grid, rule: Rule) -> Self {
        let unit = unit(grid);
        let places: Vec<[f64; 2]> = grid.centres().map(|place| place.map(|x| x / unit)).collect();
        let [hx, hy] = [0.5 * grid.dx / unit, 0.5 * grid.dy / unit];
        Self {
            grid: *grid,
            rule,
            unit,
            span: places.iter().map(|[x, y]| x.hypot(*y)).fold(0.0, f64::max),
            places,
            lines: [
                (0..=grid.nx).map(|k| node(grid, k, 0)[0] / unit).collect(),
                (0..=grid.ny).map(|l| node(grid, 0, l)[1] / unit).collect(),
            ],
            far: Far::new(hx, hy),
            far_from: (2.0 * FAR_DIAGONALS + 1.0) * hx.hypot(hy),
        }
    }

    /// Wrenches `(fx, fy, tau)` [-, -, unit] at the grid's centre of all cells with a force of one, for the
    /// rotation with w > 0 about `centre`, in the grid's unit of length.
    pub fn wrenches(&self, centre: [f64; 2]) -> Vec<[f64; 3]> {
        let centre = centre.map(|x| x / self.unit);
        match self.rule {
            Rule::Points => self.points(centre),
            Rule::Bilinear => self.bilinear(centre),
            Rule::Cells => self.exact(centre),
        }
    }

    fn points(&self, [cx, cy]: [f64; 2]) -> Vec<[f64; 3]> {
        let rest = AT_REST * (cx.hypot(cy) + self.span);
        let wrench = |[x, y]: &[f64; 2]| {
            let (a, b) = (x - cx, y - cy);
            let r = (a * a + b * b).sqrt();
            let [fx, fy] = if r > rest { [b / r, -a / r] } else { [0.0; 2] };
            [fx, fy, x * fy - y * fx]
        };
        self.places.iter().map(wrench).collect()
    }

    /// A centre on the very edge of the grid counts as over it on one side alone; its mirror image would not.
    fn bilinear(&self, centre: [f64; 2]) -> Vec<[f64; 3]> {
        let Grid { nx, ny, dx, dy } = self.grid;
        let [gx, gy] =
            [(centre[0] * self.unit / dx, nx), (centre[1] * self.unit / dy, ny)].map(|(c, n)| c + n as f64 / 2.0);
        if !(gx >= 0.0 && gx < nx as f64 && gy >= 0.0 && gy < ny as f64) {
            return self.points(centre);
        }
        let (k, l) = (gx as usize, gy as usize);
        let (s, t) = (gx - k as f64, gy - l as f64);
        let mut out = vec![[0.0; 3]; self.places.len()];
        let corners = [(0, 0, (1.0 - s) * (1.0 - t)), (1, 0, s * (1.0 - t)), (0, 1, (1.0 - s) * t), (1, 1, s * t)];
        for (right, up, share) in corners {
            let node = node(&self.grid, k + right, l + up).map(|x| x / self.unit);
            for (out, wrench) in out.iter_mut().zip(self.points(node)) {
                out.iter_mut().zip(wrench).for_each(|(out, part)| *out += share * part);
            }
        }
        out
    }

    fn exact(&self, centre: [f64; 2]) -> Vec<[f64; 3]> {
        let nx = self.grid.nx;
        let mut out = vec![[0.0; 3]; self.places.len()];
        let (mut far, mut near) = (Vec::new(), Vec::new());
        for (k, place) in self.places.iter().enumerate() {
            let (a, b) = (place[0] - centre[0], place[1] - centre[1]);
            if a * a + b * b >= self.far_from * self.far_from { far.push(k) } else { near.push(k) }
        }
        // Lines from the centre of rotation.
        let [x, y] = [0, 1].map(|axis| self.lines[axis].iter().map(|line| line - centre[axis]).collect::<Vec<_>>());
        let corners = if near.is_empty() { Vec::new() } else { antiderivatives(&x, &y) };
        for k in near {
            let low = k / nx * (nx + 1) + k % nx;
            let high = low + nx + 1;
            let mut means = [0.0; 3];
            for (sum, mean) in means.iter_mut().enumerate() {
                *mean = (corners[high + 1][sum] - corners[high][sum]) - (corners[low + 1][sum] - corners[low][sum]);
            }
            let [i, gx, gy] = means;
            out[k] = [gy, -gx, -i - centre[0] * gx - centre[1] * gy];
        }
        for some in far.chunks(LANES) {
            // Lanes left over repeat the last cell.
            let mut c = [[0.0; LANES]; 2];
            for lane in 0..LANES {
                let place = self.places[some[lane.min(some.len() - 1)]];
                (c[0][lane], c[1][lane]) = (centre[0] - place[0], centre[1] - place[1]);
            }
            let [fx, fy, tau] = self.far.about(&c);
            for (lane, k) in some.iter().enumerate() {
                let [x, y] = self.places[*k];
                out[*k] = [fx[lane], fy[lane], tau[lane] + x * fy[lane] - y * fx[lane]];
            }
        }
        out
    }
}

/// `I`, `Gx` and `Gy` of the exact cells (see [`super::cells`]) at the crossings of lines at `x` and at `y`,
/// row by row.
fn antiderivatives(x: &[f64], y: &[f64]) -> Vec<[f64; 3]> {
    let log = |lines: &[f64]| lines.iter().map(|a| a.abs().max(1e-300).ln()).collect::<Vec<_>>();
    let (log_x, log_y) = (log(x), log(y));
    let mut out = vec![[0.0; 3]; x.len() * y.len()];
    for (block, out) in out.chunks_mut(LANES).enumerate() {
        let mut at = [[1.0; LANES]; 4];
        let first = block * LANES;
        for (lane, crossing) in (first..first + out.len()).enumerate() {
            let (k, l) = (crossing % x.len(), crossing / x.len());
            [at[0][lane], at[1][lane], at[2][lane], at[3][lane]] = [x[k], y[l], log_x[k], log_y[l]];
        }
        let [i, gx, gy] = antiderivative(&at);
        for (lane, out) in out.iter_mut().enumerate() {
            *out = [i[lane], gx[lane], gy[lane]];
        }
    }
    out
}

vectorised! {
    /// `I`, `Gx` and `Gy` at `(a, b)`, whose logarithms are known.
    fn antiderivative<V>(at: &[Block; 4]) -> [Block; 3] {
        let [a, b, log_a, log_b] = [V::load(&at[0]), V::load(&at[1]), V::load(&at[2]), V::load(&at[3])];
        let (a2, b2) = (a.times(a), b.times(b));
        let r = V::root(a2.plus(b2).max(V::splat(1e-34)));
        let one = V::splat(1.0);
        let la = a2.times(V::ln(b.abs().plus(r)).minus(log_a)).times(one.signed(b));
        let lb = b2.times(V::ln(a.abs().plus(r)).minus(log_b)).times(one.signed(a));
        let i = a.times(b).times(r).times(V::splat(2.0)).plus(a.times(la)).plus(b.times(lb));
        let half = V::splat(0.5);
        let (gx, gy) = (b.fma(r, la).times(half), a.fma(r, lb).times(half));
        [i.times(V::splat(1.0 / 6.0)).store(), gx.store(), gy.store()]
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

    /// Largest error of the nodes against the wrenches of their twists, each by itself.
    fn worst(table: &Table) -> f64 {
        let (surface, n_ls) = (Surface::new(table.patch(), table.rule()), table.n_ls());
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
