//! The pressure of an indenter on an elastic layer, `docs/model.md` (20i) and (20j).

use std::f64::consts::FRAC_2_PI;
use std::sync::Arc;

use super::Grid;
use crate::error::{ParameterError, check};
use crate::parameter::{INDENTER_LENGTH, INDENTER_RADIUS, LAYER_MODULUS, LAYER_STIFFNESS};
use crate::range;

/// The shape of a rigid body that presses on a layer. Its own frame has the origin at its lowest point, or at
/// the middle of its face.
#[derive(Clone, Debug, PartialEq)]
pub enum Indenter {
    /// A sphere of this radius \[m\].
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A cylinder that lies on the layer, with its axis along the indenter's y.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Length along the axis \[m\].
        length: f64,
    },
    /// The flat face of a box.
    Box {
        /// Width and height of the face \[m\].
        size: [f64; 2],
    },
    /// A face with a relief.
    Heights(Heights),
}

/// A relief: heights above a plane, over a rectangle; the highest of them touches first.
#[derive(Clone, Debug, PartialEq)]
pub struct Heights {
    columns: usize,
    /// Depths below the highest \[m\], at the middles of the cells, bottom row first.
    below: Arc<[f64]>,
    /// Width and height of the rectangle \[m\].
    size: [f64; 2],
}

impl Heights {
    /// Heights \[m\] at the middles of the cells of `columns` x rows over a rectangle of `size` \[m\], bottom
    /// row first. Between the middles they are bilinear, beyond the outermost ones constant.
    ///
    /// # Errors
    /// Another number of heights than whole rows, fewer than one, one that is not finite, or a size out of
    /// range.
    pub fn new(columns: usize, heights: &[f64], size: [f64; 2]) -> Result<Self, ParameterError> {
        let found = format!("{} values in {columns} columns", heights.len());
        let whole = columns > 0 && !heights.is_empty() && heights.len().is_multiple_of(columns);
        if !whole {
            return Err(ParameterError::new("patch.indenter.file", found, "whole rows of heights [m]"));
        }
        heights.iter().try_for_each(|height| range::POSITION.check("patch.indenter.file", *height))?;
        size.iter().try_for_each(|side| range::SIZE.check("patch.indenter.size", *side))?;
        let top = heights.iter().copied().fold(f64::MIN, f64::max);
        Ok(Self { columns, below: heights.iter().map(|height| top - height).collect(), size })
    }

    /// How far the face is below its highest point at a place \[m\].
    fn below(&self, u: f64, v: f64) -> f64 {
        let [width, height] = self.size;
        let (columns, rows) = (self.columns, self.below.len() / self.columns);
        let place = |x: f64, size: f64, n: usize| {
            let x = ((x / size + 0.5) * n as f64 - 0.5).clamp(0.0, (n - 1) as f64);
            let first = (x as usize).min(n.saturating_sub(2));
            (first, (first + 1).min(n - 1), x - first as f64)
        };
        let ((i, next_i, s), (j, next_j, t)) = (place(u, width, columns), place(v, height, rows));
        let at = |i: usize, j: usize| self.below[j * columns + i];
        let along = |j: usize| at(i, j) + s * (at(next_i, j) - at(i, j));
        along(j) + t * (along(next_j) - along(j))
    }
}

/// How a layer resists an indenter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Foundation {
    /// Springs side by side, `docs/model.md` (20i): pressure is the stiffness times how deep the indenter is.
    Winkler {
        /// Stiffness per area [N/m^3]: of a layer of thickness `h` on a hard ground about its modulus for
        /// uniaxial strain over `h`.
        stiffness: f64,
    },
    /// A half-space under a sphere, `docs/model.md` (20j): Hertz' pressure, force and radius.
    Hertz {
        /// Effective modulus `E* = E/(1 - nu^2)` \[Pa\].
        modulus: f64,
    },
}

/// Where an indenter is, and how deep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Press {
    /// Where its origin is on the layer \[m\].
    pub at: [f64; 2],
    /// By how much it is turned \[rad\].
    pub turn: f64,
    /// How far its lowest point is below the surface of the layer at rest \[m\]; without contact if not > 0.
    pub depth: f64,
}

impl Press {
    /// Checks all numbers.
    ///
    /// # Errors
    /// The number that is out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let Self { at: [x, y], turn, depth } = *self;
        range::POSITION.check("patch.indenter.at.0", x)?;
        range::POSITION.check("patch.indenter.at.1", y)?;
        range::POSITION.check("patch.indenter.depth", depth)?;
        check("patch.indenter.turn", turn, "a finite angle [rad]", turn.is_finite())
    }
}

/// An indenter over the cells of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Indentation {
    grid: Grid,
    indenter: Indenter,
    foundation: Foundation,
}

impl Indentation {
    /// An indenter on a layer over `grid`.
    ///
    /// # Errors
    /// Numbers out of range, or Hertz' pressure of another shape than a sphere.
    pub fn new(grid: Grid, indenter: Indenter, foundation: Foundation) -> Result<Self, ParameterError> {
        grid.validate()?;
        match &indenter {
            Indenter::Sphere { radius } => INDENTER_RADIUS.check(*radius)?,
            Indenter::Cylinder { radius, length } => {
                INDENTER_RADIUS.check(*radius)?;
                INDENTER_LENGTH.check(*length)?;
            }
            Indenter::Box { size: [width, height] } => {
                range::SIZE.check("patch.indenter.size.0", *width)?;
                range::SIZE.check("patch.indenter.size.1", *height)?;
            }
            Indenter::Heights(_) => {}
        }
        match foundation {
            Foundation::Winkler { stiffness } => LAYER_STIFFNESS.check(stiffness)?,
            Foundation::Hertz { modulus } => {
                let is_sphere = matches!(indenter, Indenter::Sphere { .. });
                let accepted = "a sphere: other shapes press on springs, with `stiffness`";
                check("patch.layer.modulus", modulus, accepted, is_sphere)?;
                LAYER_MODULUS.check(modulus)?;
            }
        }
        Ok(Self { grid, indenter, foundation })
    }

    /// Checks the numbers of a press: no ball or roller is in the layer beyond its middle.
    pub fn check(&self, press: &Press) -> Result<(), ParameterError> {
        press.validate()?;
        let (Indenter::Sphere { radius } | Indenter::Cylinder { radius, .. }) = self.indenter else { return Ok(()) };
        let accepted = format!("at most the radius, {radius} m");
        check("patch.indenter.depth", press.depth, accepted, press.depth <= radius)
    }

    /// The grid of the layer.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Calls `with` for every cell under pressure, with its index on the grid, bottom row first, and its
    /// pressure \[Pa\] in the middle. Sides of a face that is flat there cut cells: a cell has the pressure
    /// of the share of it that is covered.
    pub fn cells(&self, press: &Press, mut with: impl FnMut(usize, f64)) {
        if !(press.depth > 0.0) {
            return;
        }
        let Grid { nx, ny, dx, dy } = self.grid;
        let (sin, cos) = press.turn.sin_cos();
        // The width of a cell along the axes of the indenter.
        let [du, dv] = [dx * cos.abs() + dy * sin.abs(), dx * sin.abs() + dy * cos.abs()];
        let covered = |x: f64, side: f64, width: f64| {
            let overlap = (0.5 * side).min(x + 0.5 * width) - (-0.5 * side).max(x - 0.5 * width);
            (overlap / width).max(0.0)
        };
        let gap = |below: f64| (press.depth - below).max(0.0);
        let reach = self.reach(press.depth);
        let [columns, rows] = [(0, nx, dx), (1, ny, dy)].map(|(k, n, d)| {
            let middle = press.at[k] / d + 0.5 * n as f64;
            let [low, high] = [middle - reach / d - 1.0, middle + reach / d + 1.0].map(|x| x.clamp(0.0, n as f64));
            low as usize..high.ceil() as usize
        });
        for iy in rows {
            for ix in columns.clone() {
                let [x, y] = self.grid.centre(ix, iy);
                let (x, y) = (x - press.at[0], y - press.at[1]);
                let (u, v) = (cos * x + sin * y, cos * y - sin * x);
                let pressure = match (&self.indenter, self.foundation) {
                    // The profile whose springs reach as far as Hertz' contact.
                    (Indenter::Sphere { radius }, Foundation::Hertz { modulus }) => {
                        FRAC_2_PI * modulus * (gap((u * u + v * v) / radius) / radius).sqrt()
                    }
                    (_, Foundation::Hertz { .. }) => unreachable!("Hertz' pressure is that of a sphere"),
                    (indenter, Foundation::Winkler { stiffness }) => {
                        stiffness
                            * match indenter {
                                Indenter::Sphere { radius } => cap(*radius, u * u + v * v).map_or(0.0, gap),
                                Indenter::Cylinder { radius, length } => {
                                    cap(*radius, u * u).map_or(0.0, gap) * covered(v, *length, dv)
                                }
                                Indenter::Box { size: [width, height] } => {
                                    press.depth * covered(u, *width, du) * covered(v, *height, dv)
                                }
                                Indenter::Heights(heights) => {
                                    let [width, height] = heights.size;
                                    gap(heights.below(u, v)) * covered(u, width, du) * covered(v, height, dv)
                                }
                            }
                    }
                };
                if pressure > 0.0 {
                    with(iy * nx + ix, pressure);
                }
            }
        }
    }

    /// How far from its origin an indenter may touch \[m\].
    fn reach(&self, depth: f64) -> f64 {
        let round = |radius: f64| (2.0 * radius * depth).sqrt().min(radius);
        match &self.indenter {
            Indenter::Sphere { radius } => round(*radius),
            Indenter::Cylinder { radius, length } => round(*radius).hypot(0.5 * length),
            Indenter::Box { size: [width, height] } | Indenter::Heights(Heights { size: [width, height], .. }) => {
                0.5 * width.hypot(*height)
            }
        }
    }

    /// The shares of the normal force of all cells; they are equal where nothing presses.
    pub fn shares(&self, press: &Press) -> Arc<[f64]> {
        let (mut shares, mut sum) = (vec![0.0; self.grid.len()], 0.0);
        self.cells(press, |i, pressure| {
            shares[i] = pressure;
            sum += pressure;
        });
        if sum == 0.0 {
            return vec![1.0 / self.grid.len() as f64; self.grid.len()].into();
        }
        shares.iter().map(|p| p / sum).collect()
    }

    /// The normal force \[N\].
    fn normal_force(&self, press: &Press) -> f64 {
        let mut sum = 0.0;
        self.cells(press, |_, pressure| sum += pressure);
        sum * self.grid.dx * self.grid.dy
    }

    /// Memory \[byte\].
    pub fn memory(&self) -> usize {
        let relief = if let Indenter::Heights(heights) = &self.indenter { size_of_val(&*heights.below) } else { 0 };
        size_of::<Self>() + relief
    }
}

/// How far a ball or roller is below its lowest point at a distance from it, of which this is the square
/// \[m\]; none beyond its side.
fn cap(radius: f64, square: f64) -> Option<f64> {
    // The difference of radius and root, without cancellation.
    (square < radius * radius).then(|| square / (radius + (radius * radius - square).sqrt()))
}

impl Press {
    /// The same place at the depth at which an `indenter` presses on a layer over `grid` with a force of
    /// `f_n` \[N\]; a force that is not > 0 lifts it.
    ///
    /// # Errors
    /// As [`Sequence::indented`](super::Sequence::indented), or a force that no depth below 1e3 m has,
    /// because the indenter is beside the grid or a sphere is in the layer up to its middle.
    pub fn under(
        self,
        f_n: f64,
        grid: Grid,
        indenter: &Indenter,
        foundation: Foundation,
    ) -> Result<Self, ParameterError> {
        self.validate()?;
        let by = Indentation::new(grid, indenter.clone(), foundation)?;
        if !(f_n > 0.0) {
            return Ok(Self { depth: 0.0, ..self });
        }
        let force = |depth: f64| by.normal_force(&Self { depth, ..self });
        // Forces grow with the depth. The first guess is the depth that it has; then it is doubled.
        let mut high = if self.depth > 0.0 { self.depth } else { 1e-6 };
        let most = match indenter {
            Indenter::Sphere { radius } | Indenter::Cylinder { radius, .. } => *radius,
            Indenter::Box { .. } | Indenter::Heights(_) => 1e3,
        };
        while force(high.min(most)) < f_n {
            if high >= most {
                let accepted = format!("a force that the indenter has on the grid, at most {:e} N", force(most));
                return Err(ParameterError::new("inputs.normal_force", f_n, accepted));
            }
            high *= 2.0;
        }
        let (mut low, mut high) = (0.0, high.min(most));
        // Bisection, with the place where the line between the ends has the force.
        let [mut at_low, mut at_high] = [-f_n, force(high) - f_n];
        for k in 0..100 {
            if high - low <= 1e-13 * high || at_high == 0.0 {
                break;
            }
            let along = low - at_low * (high - low) / (at_high - at_low);
            let depth = if k % 3 == 2 { 0.5 * (low + high) } else { along.clamp(low, high) };
            let at = force(depth) - f_n;
            if at < 0.0 {
                (low, at_low) = (depth, at);
            } else {
                (high, at_high) = (depth, at);
            }
            if at.abs() <= 1e-12 * f_n {
                return Ok(Self { depth, ..self });
            }
        }
        Ok(Self { depth: high, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use std::f64::consts::PI;

    const SPRINGS: Foundation = Foundation::Winkler { stiffness: 5e7 };

    fn grid(n: usize) -> Grid {
        Grid::new(n, n, 0.02, 0.02).unwrap()
    }

    fn force(grid: Grid, indenter: Indenter, foundation: Foundation, press: Press) -> f64 {
        let by = Indentation::new(grid, indenter, foundation).unwrap();
        by.normal_force(&press)
    }

    #[test]
    fn springs_under_a_sphere_carry_the_volume_of_its_cap() {
        let (radius, depth) = (0.03, 4e-4);
        let exact = 5e7 * PI * depth * depth * (radius - depth / 3.0);
        for at in [[0.0, 0.0], [1.3e-3, -0.7e-3]] {
            let found = force(grid(200), Indenter::Sphere { radius }, SPRINGS, Press { at, turn: 0.3, depth });
            assert_relative_eq!(found, exact, max_relative = 2e-4);
        }
    }

    #[test]
    fn a_sphere_on_a_half_space_has_the_force_and_the_radius_of_hertz() {
        let (radius, depth, modulus) = (0.03f64, 4e-4f64, 1e6);
        let (a, exact) = ((radius * depth).sqrt(), 4.0 / 3.0 * modulus * radius.sqrt() * depth.powf(1.5));
        let hertz = Foundation::Hertz { modulus };
        let by = Indentation::new(grid(400), Indenter::Sphere { radius }, hertz).unwrap();
        let press = Press { depth, ..Press::default() };
        let found = by.normal_force(&press);
        let mut pressure = Vec::new();
        by.cells(&press, |_, p| pressure.push(p));
        assert_relative_eq!(found, exact, max_relative = 2e-4);
        let loaded = pressure.len() as f64 * (0.02f64 / 400.0).powi(2);
        assert_relative_eq!(loaded, PI * a * a, max_relative = 5e-3);
        // The greatest pressure is 1.5 times the mean one.
        let peak = pressure.iter().copied().fold(0.0, f64::max);
        assert_relative_eq!(peak, 1.5 * exact / (PI * a * a), max_relative = 1e-4);
    }

    #[test]
    fn a_box_keeps_its_force_wherever_it_is_between_cells() {
        let indenter = Indenter::Box { size: [0.0063, 0.0041] };
        let exact = 5e7 * 2e-4 * 0.0063 * 0.0041;
        for shift in [0.0, 0.17e-3, 0.5e-3, 0.93e-3] {
            let at = [shift, -0.3 * shift];
            let found = |turn| force(grid(20), indenter.clone(), SPRINGS, Press { at, turn, depth: 2e-4 });
            assert_relative_eq!(found(0.0), exact, max_relative = 1e-12);
            assert_relative_eq!(found(-PI / 2.0), exact, max_relative = 1e-12);
            // Turned cells are cut at their sides only, not at their corners.
            assert_relative_eq!(found(0.4), exact, max_relative = 2e-2);
        }
    }

    #[test]
    fn a_roller_and_a_relief_of_it_press_alike() {
        let (radius, depth, length) = (0.02f64, 3e-4f64, 0.01);
        let press = Press { at: [1e-3, 2e-3], turn: 0.5, depth };
        let roller = force(grid(160), Indenter::Cylinder { radius, length }, SPRINGS, press);
        // The section of a circle, without that of its chord.
        let half = (depth * (2.0 * radius - depth)).sqrt();
        let section = radius * radius * (half / radius).asin() - half * (radius - depth);
        assert_relative_eq!(roller, 5e7 * section * length, max_relative = 2e-3);
        let n = 401;
        let heights: Vec<f64> = (0..n)
            .flat_map(|_| {
                (0..n).map(|i| -cap(radius, (((f64::from(i) + 0.5) / f64::from(n) - 0.5) * 0.012).powi(2)).unwrap())
            })
            .collect();
        let relief = Heights::new(n as usize, &heights, [0.012, length]).unwrap();
        let found = force(grid(160), Indenter::Heights(relief), SPRINGS, press);
        assert_relative_eq!(found, roller, max_relative = 5e-3);
    }

    #[test]
    fn a_force_has_its_depth() {
        let sphere = Indenter::Sphere { radius: 0.03 };
        for foundation in [SPRINGS, Foundation::Hertz { modulus: 1e6 }] {
            for f_n in [1e-3, 0.5, 20.0] {
                let press = Press { at: [1e-3, 0.0], ..Press::default() };
                let found = press.under(f_n, grid(20), &sphere, foundation).unwrap();
                assert_relative_eq!(force(grid(20), sphere.clone(), foundation, found), f_n, max_relative = 1e-9);
            }
        }
        let far = Press { at: [1.0, 0.0], ..Press::default() };
        let message = far.under(1.0, grid(20), &sphere, SPRINGS).unwrap_err().to_string();
        assert!(message.starts_with("inputs.normal_force = 1: expected a force that the indenter has"), "{message}");
        assert_eq!(far.under(0.0, grid(20), &sphere, SPRINGS).unwrap(), far);
    }

    #[test]
    fn bad_numbers_say_what_would_be_accepted() {
        let wrong = |indenter, foundation| Indentation::new(grid(5), indenter, foundation).unwrap_err().to_string();
        let sphere = |radius| Indenter::Sphere { radius };
        assert!(wrong(sphere(-1.0), SPRINGS).starts_with("patch.indenter.radius = -1: expected"));
        let none = Foundation::Winkler { stiffness: f64::NAN };
        assert!(wrong(sphere(0.1), none).starts_with("patch.layer.stiffness = NaN: expected"));
        let face = Indenter::Box { size: [0.01, 0.01] };
        assert!(wrong(face, Foundation::Hertz { modulus: 1e6 }).contains("expected a sphere"));
        assert!(Heights::new(3, &[0.0; 4], [0.01; 2]).unwrap_err().to_string().contains("4 values in 3 columns"));
        let deep = Press { depth: f64::INFINITY, ..Press::default() };
        assert!(deep.validate().unwrap_err().to_string().starts_with("patch.indenter.depth = inf: expected"));
    }
}
