//! The bristles of one contact with a grid: its cells, at rest as one or swept.

use nalgebra::Vector3;

use super::bristles::Bristles;
use super::distributed::{Cells, Rate, Sums, moved, settle, sweep, wrench};
use super::friction::{Consts, Stage};
use super::rest::Rest;
use crate::contact::Contact;
use crate::number::real::Real;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};

/// The cells of a contact that carry pressure at some time.
pub struct Grid<R: Real> {
    /// The cells.
    pub cells: Cells<R>,
    /// Friction constants.
    pub k: Consts<R>,
    /// Their indices into the map.
    active: Vec<usize>,
    /// While all of them are elastic; never of single numbers, which are the reference.
    rest: Option<Rest>,
    kept_rest: Option<Rest>,
    /// Sweeps until the next look whether they are, and after that one.
    look: [u32; 2],
}

/// Sweeps between two looks whether a grid rests: soon after it did, and at most.
const LOOKS: [u32; 2] = [8, 64];

impl<R: Real> Grid<R> {
    /// The cells `active` of `contact`'s map.
    pub fn new(contact: &Contact, active: Vec<usize>) -> Self {
        let (patch, grid) = (&contact.patch, contact.patch.grid());
        let centres: Vec<[f64; 2]> = active.iter().map(|i| grid.centre(i % grid.nx, i / grid.nx)).collect();
        let weights: Vec<f64> = active.iter().map(|&i| patch.weights()[i]).collect();
        let zetas = contact.first_bristles(&active).unwrap_or_else(|| vec![[0.0; 2]; active.len()].into());
        Self {
            cells: Cells::new(&centres, &weights, &zetas),
            k: Consts::new(&contact.friction),
            active,
            rest: None,
            kept_rest: None,
            look: [LOOKS[0]; 2],
        }
    }

    /// Gives every cell its bristle again.
    fn wake(&mut self) {
        let Some(rest) = self.rest.take() else { return };
        self.cells.shift(rest.shift.into());
        self.look = [LOOKS[0]; 2];
    }
}

impl<R: Real> Bristles for Grid<R> {
    fn sweep(&mut self, u: Twist, finish: Option<&Stage<f64>>, next: Option<&Stage<f64>>) -> Sums {
        if self.k.elasto_plastic && R::LANES > 1 {
            self.look[0] -= 1;
            if self.look[0] == 0 {
                self.look = [self.look[1], LOOKS[1].min(2 * self.look[1])];
                if self.rest.is_none() {
                    let mu = finish.or(next).map_or(0.0, |st| st.mu_c.min(st.mu_c + st.mu_d));
                    self.rest = settle(&self.cells, &self.k, mu);
                }
            }
            if let Some(sums) = self.rest.as_mut().and_then(|rest| rest.sweep(u, finish, next)) {
                return sums;
            }
            if self.rest.is_some() {
                self.wake();
            }
        }
        sweep(&mut self.cells, &self.k, u, finish, next)
    }

    fn wrench(&self, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, f64) {
        if let Some(rest) = &self.rest {
            let w = -f_n * rest.resist(u, rate.sigma1 + self.k.sigma2.lane(0));
            return (Wrench::new(w[0], w[1], w[2]), 0.0);
        }
        wrench(&self.cells, &self.k, u, rate, f_n)
    }

    fn keep(&mut self) {
        self.cells.keep();
        self.kept_rest = self.rest;
    }

    fn restore(&mut self) {
        self.cells.restore();
        self.rest = self.kept_rest;
    }

    fn moved(&self) -> Vector3<f64> {
        let shifted = |rest: Option<&Rest>| rest.map_or_else(Vector3::zeros, Rest::shifted);
        let whole = shifted(self.rest.as_ref()) - shifted(self.kept_rest.as_ref());
        // The cells of a grid that rests keep still.
        let still = self.rest.is_some() && self.kept_rest.is_some();
        if still { whole } else { whole + moved(&self.cells) }
    }

    fn states(&self) -> Vec<[f64; 2]> {
        self.cells.bristles(self.rest.as_ref().map_or([0.0; 3], |rest| rest.shift.into()))
    }

    fn arm2(&self, patch: &Patch) -> f64 {
        patch.arm2()
    }

    fn remap(&mut self, patch: &Patch, _: f64) {
        self.wake();
        self.cells.set_weights(&self.active.iter().map(|&i| patch.weights()[i]).collect::<Vec<_>>());
    }

    fn holds_map(&self) -> bool {
        false
    }
}
