//! The inputs of the contacts in lanes over their intervals. Twin: `shaders/inputs.wgsl`.
//!
//! Only here: `new`, `start`, `start_tangent`, `of_part`, `force_of_parts`, `clear`, `surface`,
//! `add_sinusoids`, `add_sinusoids_of_surface`, `refill`.

use super::bristles::Bits;
use super::lanes::set_bit;
use crate::number::real::Real;
use crate::schedule::{Interval, Term, slot};

/// The interval of the contact in each lane: valid from its start to its end.
pub struct LaneInterval<R: Real> {
    /// Polynomials of the inputs.
    c: [[R; 3]; slot::COUNT],
    /// Their sinusoids with their lanes, and the lanes that have some.
    terms: Vec<(usize, Term)>,
    waves: Bits,
    /// Sinusoids of surfaces that move, whose slots are counted from [`slot::SURFACE`].
    terms_of_surface: Vec<(usize, Term)>,
    waves_of_surface: Bits,
    /// Polynomials and sinusoids of several patches with inputs of their own, whose contact is alone in its
    /// solver.
    parts: Vec<[[R; 3]; slot::OF_PART]>,
    terms_of_parts: Vec<Term>,
    /// Sinusoids in the derivatives of the inputs, by the number of the derivative; of numbers with
    /// derivatives.
    tangent_terms: Vec<(usize, Term)>,
    /// Length, and the time that is left [s].
    pub length: R::Each<f64>,
    pub left: R::Each<f64>,
}

impl<R: Real> LaneInterval<R> {
    /// No interval in any lane.
    pub fn new() -> Self {
        Self {
            c: [[R::splat(0.0); 3]; slot::COUNT],
            terms: Vec::new(),
            waves: 0,
            terms_of_surface: Vec::new(),
            waves_of_surface: 0,
            parts: Vec::new(),
            terms_of_parts: Vec::new(),
            tangent_terms: Vec::new(),
            length: R::each(0.0),
            left: R::each(0.0),
        }
    }

    /// Puts a lane at the start of an interval.
    pub fn start(&mut self, l: usize, interval: &Interval) {
        for (to, from) in self.c.iter_mut().zip(&interval.c) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = to.without_tangents();
                to.set(l, *from);
            }
        }
        self.tangent_terms.clear();
        let terms = |from: usize, to: usize| {
            let own = interval.terms.iter().filter(move |term| (from..to).contains(&term.slot));
            own.map(move |term| Term { slot: term.slot - from, ..*term })
        };
        refill(&mut self.terms, &mut self.waves, l, terms(0, slot::SURFACE));
        refill(&mut self.terms_of_surface, &mut self.waves_of_surface, l, terms(slot::SURFACE, slot::COUNT));
        (self.length[l], self.left[l]) = (interval.length, interval.length);
        self.parts.clear();
        if !interval.parts.is_empty() {
            self.parts.extend(interval.parts.iter().map(|part| part.map(|c| c.map(R::splat))));
            self.terms_of_parts.clear();
            self.terms_of_parts.extend(terms(slot::COUNT, usize::MAX));
        }
    }

    /// Inputs of part `k` a time `dt` [s] after local times `tau` [s].
    pub fn of_part(&self, k: usize, tau: R, dt: R) -> [R; slot::OF_PART] {
        let mut v = self.parts[k].map(|c| polynomial_ahead(c, tau, dt));
        for term in self.terms_of_parts.iter().filter(|term| term.slot / slot::OF_PART == k) {
            v[term.slot % slot::OF_PART] += R::splat(wave_ahead(term, tau.lane(0), dt.lane(0)));
        }
        v[0] = v[0].max(R::splat(0.0));
        v
    }

    /// The normal force [N] of all parts at local times `tau` [s].
    #[inline(never)]
    fn force_of_parts(&self, tau: R) -> R {
        (0..self.parts.len()).fold(R::splat(0.0), |sum, k| sum + self.of_part(k, tau, R::splat(0.0))[0])
    }

    /// For a number type with one lane that carries derivatives: puts derivative `k` of the inputs, a
    /// function of time as the inputs are, beside those that were put there since the start.
    pub fn start_tangent(&mut self, k: usize, tangent: &Interval) {
        for (to, from) in self.c.iter_mut().zip(&tangent.c) {
            to.iter_mut().zip(from).for_each(|(to, from)| to.add_tangent(k, *from));
        }
        self.tangent_terms.extend(tangent.terms.iter().map(|term| (k, *term)));
    }

    /// Empties a lane.
    pub fn clear(&mut self, l: usize) {
        refill(&mut self.terms, &mut self.waves, l, std::iter::empty());
        refill(&mut self.terms_of_surface, &mut self.waves_of_surface, l, std::iter::empty());
        self.parts.clear();
    }

    /// The twist of the surface that moves [m/s, m/s, rad/s], a time `dt` [s] after local times `tau` [s], in
    /// `lanes`.
    #[inline(always)]
    pub fn surface(&self, tau: R, dt: R, lanes: Bits) -> [R; 3] {
        let mut v = [R::splat(0.0); 3];
        for (v, c) in v.iter_mut().zip(&self.c[slot::SURFACE..]) {
            *v = polynomial_ahead(*c, tau, dt);
        }
        if self.waves_of_surface & lanes != 0 {
            self.add_sinusoids_of_surface(tau, dt, lanes, &mut v);
        }
        v
    }

    /// Adds the sinusoids of the surfaces of those of `lanes` that have some.
    #[inline(never)]
    fn add_sinusoids_of_surface(&self, tau: R, dt: R, lanes: Bits, v: &mut [R; 3]) {
        for (l, term) in self.terms_of_surface.iter().filter(|(l, _)| lanes >> l & 1 == 1) {
            let v = &mut v[term.slot];
            v.set(*l, v.lane(*l) + wave_ahead(term, tau.lane(*l), dt.lane(*l)));
        }
    }

    /// Inputs but those of surfaces at local times `tau` [s], without sinusoids in lanes that are not among
    /// `lanes`.
    #[inline(always)]
    pub fn inputs(&self, tau: R, lanes: Bits) -> [R; slot::COUNT] {
        let mut v = [R::splat(0.0); slot::COUNT];
        for (v, c) in v[..slot::SURFACE].iter_mut().zip(&self.c) {
            *v = tau.fma(tau.fma(c[2], c[1]), c[0]);
        }
        if self.waves & lanes != 0 {
            self.add_sinusoids(tau, lanes, &mut v);
        }
        if R::HAS_TANGENTS {
            for (k, term) in &self.tangent_terms {
                v[term.slot].add_tangent(*k, term.amplitude * (term.omega * tau.lane(0) + term.phase).sin());
            }
        }
        if !self.parts.is_empty() {
            v[slot::F_N] = self.force_of_parts(tau);
        }
        v[slot::F_N] = v[slot::F_N].max(R::splat(0.0));
        v
    }

    /// Adds the sinusoids of those of `lanes` that have some.
    #[inline(never)]
    fn add_sinusoids(&self, tau: R, lanes: Bits, v: &mut [R; slot::COUNT]) {
        for (l, q) in self.terms.iter().filter(|(l, _)| lanes >> l & 1 == 1) {
            let wave = q.amplitude * (q.omega * tau.lane(*l) + q.phase).sin();
            let v = &mut v[q.slot];
            v.set(*l, v.lane(*l) + wave);
        }
    }
}

/// Replaces the terms of a lane, and notes among the lanes with terms whether it has some.
fn refill(all: &mut Vec<(usize, Term)>, with_terms: &mut Bits, l: usize, terms: impl Iterator<Item = Term>) {
    if *with_terms >> l & 1 == 1 {
        all.retain(|(lane, _)| *lane != l);
    }
    let before = all.len();
    all.extend(terms.map(|term| (l, term)));
    set_bit(with_terms, l, all.len() > before);
}

/// A polynomial a time `dt` after `tau`. The estimates of the errors compare velocities of surfaces within
/// one step. In single precision the rounding of `tau + dt` would be most of their differences.
fn polynomial_ahead<R: Real>(c: [R; 3], tau: R, dt: R) -> R {
    let slope = (tau + tau + dt).fma(c[2], c[1]);
    dt.fma(slope, tau.fma(tau.fma(c[2], c[1]), c[0]))
}

/// A sinusoid a time `dt` after `tau`, as [`polynomial_ahead`].
fn wave_ahead(term: &Term, tau: f64, dt: f64) -> f64 {
    term.amplitude * (term.omega * (tau + dt) + term.phase).sin()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;
    use crate::number::baseline::F64;

    #[test]
    fn a_lane_has_the_sinusoids_of_its_own_interval_alone() {
        // At its crest at all times.
        let crest = |slot: usize, amplitude: f64| Term { slot, amplitude, omega: 0.0, phase: FRAC_PI_2 };
        let with = |amplitude: f64| Interval {
            terms: vec![crest(slot::F_N, amplitude), crest(slot::SURFACE, -amplitude), crest(slot::F_N, amplitude)],
            ..Interval::default()
        };
        let mut all = LaneInterval::<F64>::new();
        let expect = |all: &LaneInterval<F64>, wanted: [f64; 2]| {
            let zero = F64::splat(0.0);
            let (inputs, surface) = (all.inputs(zero, 0b11), all.surface(zero, zero, 0b11));
            assert_eq!([0, 1].map(|l| inputs[slot::F_N].lane(l)), wanted);
            assert_eq!([0, 1].map(|l| -2.0 * surface[0].lane(l)), wanted);
        };
        all.start(0, &with(1.0));
        all.start(1, &with(2.0));
        expect(&all, [2.0, 4.0]);
        all.start(0, &with(3.0));
        expect(&all, [6.0, 4.0]);
        all.clear(0);
        expect(&all, [0.0, 4.0]);
        all.start(1, &Interval::default());
        expect(&all, [0.0, 0.0]);
        all.start(0, &with(0.5));
        expect(&all, [1.0, 0.0]);
    }
}
