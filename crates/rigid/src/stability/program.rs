//! The conic programs of stability: the wrench on the bodies of a unit of each force, and the cones of the
//! contacts.

use clarabel::solver::SupportedConeT::{NonnegativeConeT, SecondOrderConeT, ZeroConeT};

use super::assembly::{Assembly, ContactForce, PointContact, SpatialWrench, StabilityError, cross, dot};
use super::conic::{Outcome, Rows, solve};
use crate::cone::{Fit, Section};

/// A load below this share of all that acts is none.
const ZERO: f64 = 1e-9;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Forces that balance the load at factor 1, with the least sum of normal parts.
    Balance,
    /// The least factor >= 0.
    Least,
    /// The largest factor.
    Most,
}

/// Columns of a contact: the components of its force in the axes of the contact, and the moment about its
/// normal.
struct Columns {
    /// None without friction.
    tangential: Option<[usize; 2]>,
    normal: usize,
    /// None for a point.
    torsion: Option<usize>,
}

/// The programs of an assembly in units of its own: forces of `force` [N], lengths of `length` [m], moments
/// of a body about the mean of its contacts.
pub(super) struct Program<'a> {
    of: &'a Assembly,
    force: f64,
    length: f64,
    /// The largest component of a load at factor 1.
    load: f64,
    centres: Vec<[f64; 3]>,
    columns: Vec<Columns>,
    /// The column of the factor, behind all others.
    factor: usize,
    /// Balance of forces and moments without loads, then the cones of the contacts.
    rows: Rows,
}

impl<'a> Program<'a> {
    pub(super) fn new(of: &'a Assembly) -> Self {
        let touches = |contact: &&PointContact, body: usize| contact.body == body || contact.on == Some(body);
        let centre = |body: usize| {
            let places: Vec<[f64; 3]> = of.contacts.iter().filter(|c| touches(c, body)).map(|c| c.position).collect();
            [0, 1, 2].map(|k| places.iter().map(|p| p[k]).sum::<f64>() / places.len().max(1) as f64)
        };
        let centres: Vec<[f64; 3]> = (0..of.bodies.len()).map(centre).collect();
        let arms = of.contacts.iter().map(|c| minus(c.position, centres[c.body]));
        let length = positive(arms.map(|arm| dot(arm, arm).sqrt()).fold(0.0, f64::max));
        let mut program =
            Self { of, force: 1.0, length, load: 1.0, centres, columns: Vec::new(), factor: 0, rows: Rows::default() };
        let sizes = (0..of.bodies.len()).flat_map(|k| {
            let body = &of.bodies[k];
            [&body.fixed, &body.load].map(|w| program.scaled(k, w)).into_iter().flatten().collect::<Vec<_>>()
        });
        program.force = positive(sizes.fold(0.0, |m: f64, v| m.max(v.abs())));
        program.load = positive(program.wrenches(0.0, 1.0).into_iter().fold(0.0, |m: f64, v| m.max(v.abs())));
        for contact in &of.contacts {
            let mut next = || {
                program.factor += 1;
                program.factor - 1
            };
            let tangential = (contact.cone.mu() > 0.0).then(|| [next(), next()]);
            let (normal, torsion) = (next(), (contact.torsion > 0.0).then(&mut next));
            program.columns.push(Columns { tangential, normal, torsion });
        }
        program.rows = program.rows_of_contacts();
        program
    }

    /// Whether no number is too large for its square or product.
    pub(super) fn is_finite(&self) -> bool {
        let units = self.length.is_finite() && self.force.is_finite();
        units && self.rows.is_finite() && self.wrenches(1.0, 1.0).into_iter().all(f64::is_finite)
    }

    /// The unit of forces [N].
    pub(super) const fn force_unit(&self) -> f64 {
        self.force
    }

    /// Whether anything grows with the factor.
    pub(super) fn has_load(&self) -> bool {
        self.of.bodies.iter().any(|body| body.load != SpatialWrench::default())
    }

    /// A wrench on body `k` about its centre, in the program's units.
    fn scaled(&self, k: usize, w: &SpatialWrench) -> [f64; 6] {
        let moment = minus(w.moment, cross(self.centres[k], w.force));
        let [f, m] = [w.force.map(|v| v / self.force), moment.map(|v| v / (self.force * self.length))];
        [f[0], f[1], f[2], m[0], m[1], m[2]]
    }

    /// What acts on the bodies, 6 numbers for each: `fixed` times what is fixed and `factor` times the load.
    fn wrenches(&self, fixed: f64, factor: f64) -> Vec<f64> {
        let of_body = |k: usize| {
            let body = &self.of.bodies[k];
            let (a, b) = (self.scaled(k, &body.fixed), self.scaled(k, &body.load));
            (0..6).map(move |i| fixed * a[i] + factor * b[i])
        };
        (0..self.of.bodies.len()).flat_map(of_body).collect()
    }

    /// What a unit of each column does to the bodies, and the cones.
    fn rows_of_contacts(&self) -> Rows {
        let mut rows = Rows::default();
        let mut entries = vec![Vec::new(); 6 * self.of.bodies.len()];
        for (contact, columns) in self.of.contacts.iter().zip(&self.columns) {
            let [t, b, n] = contact.cone.frame().axes();
            for (column, axis) in columns.tangential.into_iter().flatten().zip([t, b]).chain([(columns.normal, n)]) {
                for (body, sign) in [(Some(contact.body), 1.0), (contact.on, -1.0)] {
                    let Some(body) = body else { continue };
                    let moment = cross(minus(contact.position, self.centres[body]), axis);
                    for k in 0..3 {
                        entries[6 * body + k].push((column, sign * axis[k]));
                        entries[6 * body + 3 + k].push((column, sign * moment[k] / self.length));
                    }
                }
            }
            for (body, sign) in [(Some(contact.body), 1.0), (contact.on, -1.0)] {
                let (Some(body), Some(column)) = (body, columns.torsion) else { continue };
                for k in 0..3 {
                    entries[6 * body + 3 + k].push((column, sign * n[k]));
                }
            }
        }
        entries.iter().for_each(|entries| rows.push(entries, 0.0));
        rows.cones.push(ZeroConeT(entries.len()));
        for (contact, columns) in self.of.contacts.iter().zip(&self.columns) {
            self.push_cone(&mut rows, contact, columns);
        }
        rows
    }

    /// The rows that keep a contact's force in its cone, (205), (207) and (210).
    fn push_cone(&self, rows: &mut Rows, contact: &PointContact, columns: &Columns) {
        let (normal, torsion) = (columns.normal, contact.torsion / self.length);
        let mut linear: Vec<(Vec<(usize, f64)>, f64)> = vec![(vec![(normal, -1.0)], 0.0)];
        if contact.most.is_finite() {
            linear.push((vec![(normal, 1.0)], contact.most / self.force));
        }
        let mu = contact.cone.mu();
        let alone = |linear: &mut Vec<_>, column| {
            linear.extend([1.0, -1.0].map(|sign| (vec![(column, sign), (normal, -torsion)], 0.0)));
        };
        match (contact.cone.section(), columns.tangential, columns.torsion) {
            (_, None, None) => {}
            (_, None, Some(column)) => alone(&mut linear, column),
            (Section::Circle, Some([t, b]), column) => {
                rows.push(&[(normal, -mu)], 0.0);
                rows.push(&[(t, -1.0)], 0.0);
                rows.push(&[(b, -1.0)], 0.0);
                if let Some(column) = column {
                    rows.push(&[(column, -mu / torsion)], 0.0);
                }
                rows.cones.push(SecondOrderConeT(3 + usize::from(column.is_some())));
            }
            (Section::Polygon(polygon), Some([t, b]), column) => {
                let slope = polygon.share() * mu;
                for [x, y] in (0..polygon.sides).map(|k| polygon.facet(k)) {
                    let face = vec![(t, x), (b, y), (normal, -slope)];
                    match column {
                        Some(column) if polygon.fit == Fit::Inner => {
                            let shared = |sign: f64| ([&face[..], &[(column, sign * slope / torsion)]].concat(), 0.0);
                            linear.extend([shared(1.0), shared(-1.0)]);
                        }
                        _ => linear.push((face, 0.0)),
                    }
                }
                if let Some(column) = column.filter(|_| polygon.fit == Fit::Outer) {
                    alone(&mut linear, column);
                }
            }
        }
        linear.iter().for_each(|(entries, b)| rows.push(entries, *b));
        rows.cones.push(NonnegativeConeT(linear.len()));
    }

    /// Solves a program; the motion is that of the multipliers of the balance, which prove what is not found.
    pub(super) fn solve(&self, goal: Goal) -> Result<(Outcome, Vec<[f64; 6]>), StabilityError> {
        let mut rows = self.rows.clone();
        let grows = goal != Goal::Balance;
        for (k, w) in self.wrenches(1.0, if grows { 0.0 } else { 1.0 }).into_iter().enumerate() {
            rows.b[k] = -w;
        }
        let mut q = vec![0.0; self.factor + usize::from(grows)];
        if grows {
            q[self.factor] = if goal == Goal::Most { -1.0 } else { 1.0 };
            for (k, w) in self.wrenches(0.0, 1.0).into_iter().enumerate().filter(|(_, w)| *w != 0.0) {
                rows.add(k, self.factor, w / self.load);
            }
            rows.push(&[(self.factor, -1.0)], 0.0);
            rows.cones.push(NonnegativeConeT(1));
        } else {
            self.columns.iter().for_each(|columns| q[columns.normal] = 1.0);
        }
        let (outcome, z) = solve(&rows, &q, 6 * self.of.bodies.len())?;
        Ok((outcome, self.twists(&z)))
    }

    /// The motions of the bodies, at the origin, that the multipliers of the balance are, made of order one.
    fn twists(&self, z: &[f64]) -> Vec<[f64; 6]> {
        let z = &z[..6 * self.of.bodies.len()];
        let unit = positive(z.iter().fold(0.0, |m: f64, v| m.max(v.abs())));
        let of_body = |k: usize| {
            let y = &z[6 * k..6 * k + 6];
            let (v, w) = ([y[0], y[1], y[2]].map(|v| v / unit), [y[3], y[4], y[5]].map(|v| v / (unit * self.length)));
            let v = minus(v, cross(w, self.centres[k]));
            [v[0], v[1], v[2], w[0], w[1], w[2]]
        };
        (0..self.of.bodies.len()).map(of_body).collect()
    }

    /// The contact forces of a solution.
    pub(super) fn forces(&self, x: &[f64]) -> Vec<ContactForce> {
        let force = |(contact, columns): (&PointContact, &Columns)| {
            let [t, b] = columns.tangential.map_or([0.0; 2], |of| of.map(|column| x[column]));
            ContactForce {
                force: contact.cone.frame().to_world([t, b, x[columns.normal]].map(|v| v * self.force)),
                torsion: columns.torsion.map_or(0.0, |column| x[column]) * self.force * self.length,
            }
        };
        self.of.contacts.iter().zip(&self.columns).map(force).collect()
    }

    /// The factor of a solution.
    pub(super) fn factor(&self, x: &[f64]) -> f64 {
        let grown = x[self.factor];
        if grown.abs() < ZERO { 0.0 } else { grown / self.load }
    }

    /// The largest force or moment, in the program's units, that `forces` leave of what is fixed and `factor`
    /// times the load.
    pub(super) fn residual(&self, forces: &[ContactForce], factor: f64) -> f64 {
        self.left_over(forces, self.wrenches(1.0, factor))
    }

    /// The same of the load alone.
    pub(super) fn residual_of_growth(&self, forces: &[ContactForce], factor: f64) -> f64 {
        self.left_over(forces, self.wrenches(0.0, factor))
    }

    fn left_over(&self, forces: &[ContactForce], mut sum: Vec<f64>) -> f64 {
        for (contact, force) in self.of.contacts.iter().zip(forces) {
            let moment = contact.cone.frame().axes()[2].map(|v| v * force.torsion);
            let wrench = SpatialWrench::at(contact.position, force.force, moment);
            for (body, sign) in [(Some(contact.body), 1.0), (contact.on, -1.0)] {
                let Some(body) = body else { continue };
                let part = self.scaled(body, &wrench);
                (0..6).for_each(|k| sum[6 * body + k] += sign * part[k]);
            }
        }
        sum.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
    }
}

/// `v`, or 1 if it is zero.
fn positive(v: f64) -> f64 {
    if v > 0.0 { v } else { 1.0 }
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| a[k] - b[k])
}
