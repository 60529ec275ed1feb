//! A force against a cone, in the axes of the contact: how much friction is left, and the nearest force of
//! the cone. Twin: `crates/rigid/shaders/cone.wgsl`.
//!
//! A regular polygon is its own mirror image about the middle of each side and through each corner. So the
//! nearest force lies on the face in whose sector the force is, or on that face's nearer edge; a circle has a
//! face of no width in every direction. See `docs/model.md` section 11.

use super::section::Facets;
pub use bristle::number::real::Real;

/// Direction across the normal of the face in whose sector the force is.
#[inline(always)]
pub(super) fn facing<R: Real>(facets: &Facets, [x, y, _]: [R; 3]) -> [R; 2] {
    let Some(&[ex, ey]) = facets.directions.first() else {
        let length = (x * x + y * y).sqrt().max(R::splat(R::TINY));
        return [x / length, y / length];
    };
    let mut best = [R::splat(ex), R::splat(ey)];
    let mut most = x * best[0] + y * best[1];
    for &[ex, ey] in &facets.directions[1..] {
        let e = [R::splat(ex), R::splat(ey)];
        let a = x * e[0] + y * e[1];
        let nearer = most.lt(a);
        best = [R::select(nearer, e[0], best[0]), R::select(nearer, e[1], best[1])];
        most = R::select(nearer, a, most);
    }
    best
}

/// `share mu f_n - a` [N], where `a` is the part of the force towards the face: docs/model.md (203).
#[inline(always)]
pub(super) fn margin<R: Real>(facets: &Facets, mu: R, f: [R; 3]) -> R {
    let e = facing(facets, f);
    R::splat(facets.share) * mu * f[2] - (e[0] * f[0] + e[1] * f[1])
}

/// The nearest force of the cone [N]: docs/model.md (204).
#[inline(always)]
pub(super) fn project<R: Real>(facets: &Facets, mu: R, f: [R; 3]) -> [R; 3] {
    let (zero, one, half) = (R::splat(0.0), R::splat(1.0), R::splat(facets.half));
    let e = facing(facets, f);
    let slope = R::splat(facets.share) * mu;
    // Towards the face and along it.
    let a = e[0] * f[0] + e[1] * f[1];
    let c = e[0] * f[1] - e[1] * f[0];
    let on_face = ((slope * a + f[2]) / (one + slope * slope)).max(zero);
    // The edges of the face are (slope, +-side, 1).
    let side = slope * half;
    let on_edge = ((slope * a + side * c.abs() + f[2]) / (one + slope * slope + side * side)).max(zero);
    let beyond = (side * on_face).lt(c.abs());
    let normal = R::select(beyond, on_edge, on_face);
    let along = R::select(beyond, (side * on_edge).times_sign(c), c);
    let towards = slope * normal;
    let nearest = [towards * e[0] - along * e[1], towards * e[1] + along * e[0], normal];
    // Of what is inside nothing is changed. Pushing is asked for as well, since without friction the first
    // does not tell it from pulling.
    let outside = (slope * f[2]).lt(a);
    let pulls = f[2].lt(zero);
    [0, 1, 2].map(|k| R::select(outside, nearest[k], R::select(pulls, nearest[k], f[k])))
}
