//! The named pressure maps: those of the paper (Figs. 8 and 33) and the true disc.

use super::Grid;

/// A named pressure map over the whole grid. Rows and columns scale with the grid, so every shape
/// works on any `nx` x `ny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Uniform pressure on every cell.
    Square,
    /// One uniform column in the middle.
    Line,
    /// One column, pressure falling linearly from +y (heaviest) to -y.
    LineGradient,
    /// One row, pressure falling linearly from -x (heaviest) to +x.
    LineGradientX,
    /// The paper's circle: whole cells with `(ix-c)^2 + (iy-c)^2 <= c^2`, `c = n div 2`. At 21 x 21
    /// over 20 mm it has the area of a 9.57 mm disc, not 10 mm: torque comes out 4 % low.
    Circle,
    /// A disc (ellipse, on a grid that is not square) that touches the grid's edges; cells on the
    /// rim count by the share of their area inside. Right for any number of cells.
    Disc,
    /// Two blocks at the left and right ends of the middle band.
    NonConvex1,
    /// A middle band from the left, and an upright bar at the right.
    NonConvex2,
}

impl Shape {
    /// Pressures [arbitrary unit], one a cell, bottom row first.
    pub fn pressure(self, grid: &Grid) -> Vec<f64> {
        let Grid { nx, ny, .. } = *grid;
        let mut map = vec![0.0; grid.len()];
        for iy in 0..ny {
            for ix in 0..nx {
                map[iy * nx + ix] = self.cell(nx, ny, ix, iy);
            }
        }
        map
    }

    fn cell(self, nx: usize, ny: usize, ix: usize, iy: usize) -> f64 {
        let on = |inside: bool| f64::from(u8::from(inside));
        match self {
            Self::Square => 1.0,
            Self::Line => on(ix == nx / 2),
            Self::LineGradient => on(ix == nx / 2) * (iy + 1) as f64 / ny as f64,
            Self::LineGradientX => on(iy == ny / 2) * (nx - ix) as f64 / nx as f64,
            Self::Circle => {
                // Multiplied out, so that cells exactly on the rim are decided in integers.
                let (cx, cy) = ((nx / 2) as i128, (ny / 2) as i128);
                let (x, y) = ((ix as i128 - cx) * cy.max(1), (iy as i128 - cy) * cx.max(1));
                on(x * x + y * y <= (cx.max(1) * cy.max(1)).pow(2))
            }
            Self::Disc => {
                let edge = |i: usize, n: usize| 2.0 * i as f64 / n as f64 - 1.0;
                let (x0, x1, y0, y1) = (edge(ix, nx), edge(ix + 1, nx), edge(iy, ny), edge(iy + 1, ny));
                let area =
                    disc_quadrant(x1, y1) - disc_quadrant(x0, y1) - disc_quadrant(x1, y0) + disc_quadrant(x0, y0);
                // The four terms cancel outside the disc; what is left there is rounding.
                let share = area / ((x1 - x0) * (y1 - y0));
                if share < 1e-12 { 0.0 } else { share }
            }
            Self::NonConvex1 => on(in_band(iy, ny, block(ny)) && (ix < block(nx) || ix + block(nx) >= nx)),
            Self::NonConvex2 => {
                on(in_band(iy, ny, block(ny)) && ix < bar(nx) || in_band(iy, ny, bar(ny)) && ix + block(nx) >= nx)
            }
        }
    }
}

/// Side of a block of the non-convex shapes, in cells.
fn block(n: usize) -> usize {
    (0.15 * n as f64) as usize
}

/// Length of a bar of the non-convex shapes, in cells.
fn bar(n: usize) -> usize {
    (0.70 * n as f64) as usize
}

/// Whether row `iy` is in the middle band of `m` of `n` rows (rows of the band are counted from the top).
fn in_band(iy: usize, n: usize, m: usize) -> bool {
    let row = (n - 1 - iy) as f64;
    let (n, m) = (n as f64, m as f64);
    row >= (n / 2.0 - m / 2.0).round_ties_even() && row < (n / 2.0 + m / 2.0).round_ties_even()
}

/// Area of the part of the unit disc inside the rectangle with corners at the origin and at `(x, y)`, with
/// the sign of `x y`; differences of it give the part of a cell inside the disc.
fn disc_quadrant(x: f64, y: f64) -> f64 {
    let (a, b) = (x.abs().min(1.0), y.abs().min(1.0));
    let half_segment = |t: f64| 0.5 * (t * (1.0 - t * t).max(0.0).sqrt() + t.asin());
    let corner = (1.0 - b * b).max(0.0).sqrt();
    let area = if a <= corner { a * b } else { corner * b + half_segment(a) - half_segment(corner) };
    area * x.signum() * y.signum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::Patch;
    use approx::assert_relative_eq;

    #[test]
    fn the_disc_has_the_area_and_radius_of_a_disc_at_any_size() {
        for (nx, ny) in [(1, 1), (2, 2), (7, 7), (20, 20), (21, 13), (64, 64)] {
            let grid = Grid::new(nx, ny, 0.02, 0.02).unwrap();
            let map = Shape::Disc.pressure(&grid);
            let area: f64 = map.iter().sum::<f64>() * grid.dx * grid.dy;
            assert_relative_eq!(area, std::f64::consts::PI * 1e-4, max_relative = 1e-12);
        }
        let fine = Patch::shape(Grid::new(200, 200, 0.02, 0.02).unwrap(), Shape::Disc).unwrap();
        assert_relative_eq!(fine.radius(), 2.0 / 3.0 * 0.01, max_relative = 1e-4);
    }

    #[test]
    fn every_shape_has_pressure_on_ordinary_grids_and_the_smallest_that_can_hold_it() {
        let shapes =
            [Shape::Square, Shape::Line, Shape::LineGradient, Shape::LineGradientX, Shape::Circle, Shape::Disc];
        for shape in shapes {
            for (nx, ny) in [(1, 1), (1, 9), (8, 3), (21, 21)] {
                Patch::shape(Grid::new(nx, ny, 0.01, 0.01).unwrap(), shape).unwrap();
            }
        }
        for shape in [Shape::NonConvex1, Shape::NonConvex2] {
            Patch::shape(Grid::new(7, 7, 0.01, 0.01).unwrap(), shape).unwrap();
            assert!(
                Patch::shape(Grid::new(6, 6, 0.01, 0.01).unwrap(), shape).is_err(),
                "no block of 0.15 n cells fits"
            );
        }
    }
}
