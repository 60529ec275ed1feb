//! The friction cone of a contact: impulses `(p_n, p_t, p_o)` whose friction lies in `mu p_n` times a
//! polygon.

use nalgebra::{Matrix3, Vector3};

use crate::lcp::ContactProblem;

/// The part of its cone on which an impulse lies, and with it what the contact does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The tip: no impulse; the contact separates.
    #[default]
    Separate,
    /// The inside: no velocity.
    Stick,
    /// An edge of the cone: it slides against this direction.
    Along(u8),
    /// A face of the cone, between this direction and the next: it slides against none of its own, but does
    /// not along the side of the polygon.
    Between(u8),
}

/// The directions of a polygon, and of its sides.
pub(crate) struct Polygon {
    corners: Vec<[f64; 2]>,
    /// Unit vectors: the middle of a side, and along the side.
    middles: Vec<[f64; 2]>,
    sides: Vec<[f64; 2]>,
    /// Cosine of half the angle between two directions.
    cosine: f64,
}

impl Polygon {
    /// With so many corners, evenly spaced from the first tangent on.
    pub(crate) fn new(directions: usize) -> Self {
        let corners: Vec<[f64; 2]> = (0..directions).map(|j| ContactProblem::direction(directions, j)).collect();
        let middle = |j: usize| {
            let (d, e) = (corners[j], corners[(j + 1) % directions]);
            let (x, y) = (d[0] + e[0], d[1] + e[1]);
            [x / x.hypot(y), y / x.hypot(y)]
        };
        let middles: Vec<[f64; 2]> = (0..directions).map(middle).collect();
        let sides = middles.iter().map(|[x, y]| [-y, *x]).collect();
        let cosine = (std::f64::consts::PI / directions as f64).cos();
        Self { corners, middles, sides, cosine }
    }

    /// Number of directions.
    fn count(&self) -> usize {
        self.corners.len()
    }

    /// The directions.
    pub(crate) fn corners(&self) -> &[[f64; 2]] {
        &self.corners
    }

    /// The two directions between which a vector lies: the first of them.
    pub(crate) fn sector(&self, t: [f64; 2]) -> usize {
        let mut found = (0, f64::NEG_INFINITY);
        for (j, m) in self.middles.iter().enumerate() {
            let along = m[0] * t[0] + m[1] * t[1];
            if along > found.1 {
                found = (j, along);
            }
        }
        found.0
    }

    fn corner(&self, j: usize) -> [f64; 2] {
        self.corners[j % self.count()]
    }

    /// The least `s` for which all `d_j t + s >= 0`.
    pub(crate) fn support(&self, t: [f64; 2]) -> f64 {
        self.corners.iter().map(|d| -(d[0] * t[0] + d[1] * t[1])).fold(0.0, f64::max)
    }

    /// The impulse of the cone that is nearest to `q`, and where on the cone it lies.
    pub(crate) fn nearest(&self, mu: f64, q: Vector3<f64>) -> (Vector3<f64>, Mode) {
        let nothing = (Vector3::zeros(), Mode::Separate);
        if !(mu > 0.0) {
            return if q.x > 0.0 { (Vector3::new(q.x, 0.0, 0.0), Mode::Along(0)) } else { nothing };
        }
        let j = self.sector([q.y, q.z]);
        let (m, g) = (self.middles[j], self.sides[j]);
        let (along, across) = (q.y * m[0] + q.z * m[1], q.y * g[0] + q.z * g[1]);
        // The outward normal of the face is (-mu cos, m), not of unit length.
        let slope = mu * self.cosine;
        let over = along - slope * q.x;
        if over <= 0.0 {
            return if q.x > 0.0 { (q, Mode::Stick) } else { nothing };
        }
        let shift = over / (1.0 + slope * slope);
        let pn = q.x + slope * shift;
        if pn > 0.0 && across.abs() <= mu * pn * (1.0 - self.cosine * self.cosine).sqrt() {
            let t = slope * pn;
            return (Vector3::new(pn, t * m[0] + across * g[0], t * m[1] + across * g[1]), Mode::Between(j as u8));
        }
        let corner = if across > 0.0 { (j + 1) % self.count() } else { j };
        let d = self.corner(corner);
        let share = (q.x + mu * (q.y * d[0] + q.z * d[1])) / (1.0 + mu * mu);
        if share > 0.0 {
            return (share * Vector3::new(1.0, mu * d[0], mu * d[1]), Mode::Along(corner as u8));
        }
        nothing
    }

    /// What a contact does whose normal impulse is that of `q`, and whose friction the nearest to that of `q`
    /// that the normal impulse allows.
    pub(crate) fn nearest_friction(&self, mu: f64, q: Vector3<f64>) -> Mode {
        if !(q.x > 0.0) {
            return Mode::Separate;
        }
        if !(mu > 0.0) {
            return Mode::Along(0);
        }
        let j = self.sector([q.y, q.z]);
        let (m, g) = (self.middles[j], self.sides[j]);
        let (along, across) = (q.y * m[0] + q.z * m[1], q.y * g[0] + q.z * g[1]);
        if along <= mu * q.x * self.cosine {
            Mode::Stick
        } else if across.abs() < mu * q.x * (1.0 - self.cosine * self.cosine).sqrt() {
            Mode::Between(j as u8)
        } else {
            Mode::Along(((j + usize::from(across > 0.0)) % self.count()) as u8)
        }
    }

    /// Visits the borders of those `q` of which [`Polygon::nearest_friction`] makes `mode`: each as a vector
    /// whose product with `q` is >= 0 inside, and the mode that is behind it at `q`.
    pub(crate) fn borders(&self, mu: f64, mode: Mode, q: Vector3<f64>, mut visit: impl FnMut(Vector3<f64>, Mode)) {
        let n = self.count();
        let (slope, width) = (mu * self.cosine, mu * (1.0 - self.cosine * self.cosine).sqrt());
        let of = |normal: f64, sign: f64, t: [f64; 2]| Vector3::new(normal, sign * t[0], sign * t[1]);
        match mode {
            Mode::Separate => {
                let along = |j: usize| self.corners[j][0] * q.y + self.corners[j][1] * q.z;
                let first = (1..n).fold(0, |best, j| if along(j) > along(best) { j } else { best });
                visit(-Vector3::x(), Mode::Along(if mu > 0.0 { first as u8 } else { 0 }));
            }
            Mode::Stick => {
                self.middles.iter().enumerate().for_each(|(j, m)| visit(of(slope, -1.0, *m), Mode::Between(j as u8)));
            }
            Mode::Along(j) => {
                visit(Vector3::x(), Mode::Separate);
                if mu > 0.0 {
                    let (next, last) = (usize::from(j), (usize::from(j) + n - 1) % n);
                    visit(of(-width, -1.0, self.sides[next]), Mode::Between(j));
                    visit(of(-width, 1.0, self.sides[last]), Mode::Between(last as u8));
                }
            }
            Mode::Between(j) => {
                let k = usize::from(j);
                visit(of(-slope, 1.0, self.middles[k]), Mode::Stick);
                visit(of(width, 1.0, self.sides[k]), Mode::Along(j));
                visit(of(width, -1.0, self.sides[k]), Mode::Along(((k + 1) % n) as u8));
            }
        }
    }

    /// The impulse nearest to `q` of those that lie on this part of the cone or on its border; for
    /// [`Mode::Stick`] that is the whole cone.
    pub(crate) fn nearest_on(&self, mu: f64, part: Mode, q: Vector3<f64>) -> (Vector3<f64>, Mode) {
        let on_edge = |j: usize| {
            let d = self.corner(j);
            let share = (q.x + mu * (q.y * d[0] + q.z * d[1])) / (1.0 + mu * mu);
            (share > 0.0)
                .then(|| (share * Vector3::new(1.0, mu * d[0], mu * d[1]), Mode::Along((j % self.count()) as u8)))
        };
        let nothing = (Vector3::zeros(), Mode::Separate);
        match part {
            Mode::Separate => nothing,
            Mode::Stick => self.nearest(mu, q),
            Mode::Along(j) => on_edge(j.into()).unwrap_or(nothing),
            Mode::Between(j) => {
                let p = self.projector(mu, part) * q;
                let (g, sine) = (self.sides[usize::from(j)], (1.0 - self.cosine * self.cosine).sqrt());
                let across = p.y * g[0] + p.z * g[1];
                if p.x > 0.0 && across.abs() <= mu * p.x * sine {
                    return (p, part);
                }
                on_edge(usize::from(j) + usize::from(across > 0.0)).unwrap_or(nothing)
            }
        }
    }

    /// `P`, the derivative of [`Polygon::nearest`]: the projection on what a part of the cone spans.
    pub(crate) fn projector(&self, mu: f64, mode: Mode) -> Matrix3<f64> {
        match mode {
            Mode::Separate => Matrix3::zeros(),
            Mode::Stick => Matrix3::identity(),
            Mode::Along(j) => {
                let d = self.corner(j.into());
                let r = Vector3::new(1.0, mu * d[0], mu * d[1]);
                r * r.transpose() / (1.0 + mu * mu)
            }
            Mode::Between(j) => {
                let m = self.middles[usize::from(j)];
                let slope = mu * self.cosine;
                let n = Vector3::new(-slope, m[0], m[1]);
                Matrix3::identity() - n * n.transpose() / (1.0 + slope * slope)
            }
        }
    }

    /// `|P q|^2`, with [`Polygon::projector`].
    pub(crate) fn square_on(&self, mu: f64, mode: Mode, q: Vector3<f64>) -> f64 {
        match mode {
            Mode::Separate => 0.0,
            Mode::Stick => q.norm_squared(),
            Mode::Along(j) => {
                let d = self.corner(j.into());
                (q.x + mu * (d[0] * q.y + d[1] * q.z)).powi(2) / (1.0 + mu * mu)
            }
            Mode::Between(j) => {
                let m = self.middles[usize::from(j)];
                let slope = mu * self.cosine;
                let along = m[0] * q.y + m[1] * q.z - slope * q.x;
                q.norm_squared() - along * along / (1.0 + slope * slope)
            }
        }
    }

    /// `F`, the impulses that a contact may have in a mode, and `T`, the directions in which it then has no
    /// velocity; a column each, zeros where there are fewer.
    pub(crate) fn span(&self, mu: f64, mode: Mode) -> [Matrix3<f64>; 2] {
        let zero = Vector3::zeros();
        let of = |j: u8| {
            let d = self.corner(j.into());
            Vector3::new(1.0, mu * d[0], mu * d[1])
        };
        match mode {
            Mode::Separate => [Matrix3::zeros(); 2],
            Mode::Stick => [Matrix3::identity(); 2],
            Mode::Along(j) => {
                [Matrix3::from_columns(&[of(j), zero, zero]), Matrix3::from_columns(&[Vector3::x(), zero, zero])]
            }
            Mode::Between(j) => {
                let g = self.sides[usize::from(j)];
                let g = Vector3::new(0.0, g[0], g[1]);
                let m = self.middles[usize::from(j)];
                let slope = mu * self.cosine;
                let f = Vector3::new(1.0, slope * m[0], slope * m[1]);
                [Matrix3::from_columns(&[f, g, zero]), Matrix3::from_columns(&[Vector3::x(), g, zero])]
            }
        }
    }
}
