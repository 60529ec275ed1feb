//! Two boxes: the axis along which they are furthest apart, and the points in which they touch there.
//!
//! Faces that are parallel, or nearly so, touch in all corners of the polygon in which they overlap: four for
//! two equal cubes, up to eight for faces that are turned. Clipping takes in points that lie outside by
//! rounding, so that edges which coincide are lost in no step.

use nalgebra::{Isometry3, Matrix3, Point3, Vector3};

use super::Touch;

/// Lengths that rounding may have changed, over the longest half side of the smaller box [-].
const ROUNDING: f64 = 1e-9;
/// The cosine of 2.6 degrees: an axis of two edges so near to the normal of a face is that of faces which
/// touch.
const NEARLY_A_FACE: f64 = 0.999;
/// The sine below which two edges are parallel: their cross product is no axis.
const PARALLEL: f64 = 1e-6;

/// A box with half sides, at a pose.
#[derive(Clone, Copy)]
struct Solid<'a> {
    half: &'a [f64; 3],
    pose: &'a Isometry3<f64>,
}

impl Solid<'_> {
    /// Half of its extent along `axis` [m].
    fn extent(&self, axis: &Vector3<f64>, turned: &Matrix3<f64>) -> f64 {
        (0..3).map(|c| self.half[c] * axis.dot(&turned.column(c)).abs()).sum()
    }
}

pub(super) fn boxes(
    a: (&[f64; 3], &Isometry3<f64>),
    b: (&[f64; 3], &Isometry3<f64>),
    reach: f64,
    out: &mut Vec<Touch>,
) {
    let (a, b) = (Solid { half: a.0, pose: a.1 }, Solid { half: b.0, pose: b.1 });
    let (ra, rb) = (a.pose.rotation.to_rotation_matrix(), b.pose.rotation.to_rotation_matrix());
    let (ra, rb) = (ra.matrix(), rb.matrix());
    let between = b.pose.translation.vector - a.pose.translation.vector;
    // The gap of the two extents along an axis from a to b.
    let apart = |axis: &Vector3<f64>| between.dot(axis) - a.extent(axis, ra) - b.extent(axis, rb);
    let towards_b = |axis: Vector3<f64>| if between.dot(&axis) < 0.0 { -axis } else { axis };
    let longest = |half: &[f64; 3]| half.iter().copied().fold(0.0, f64::max);
    let rounding = ROUNDING * longest(a.half).min(longest(b.half));

    let mut face = (f64::NEG_INFINITY, 0, Vector3::zeros());
    for k in 0..6 {
        let axis = towards_b((if k < 3 { ra.column(k) } else { rb.column(k - 3) }).into_owned());
        let gap = apart(&axis);
        if gap > reach {
            return;
        }
        // Of axes that differ by rounding the first is taken in every step.
        if gap > face.0 + rounding {
            face = (gap, k, axis);
        }
    }
    let mut edges = (face.0 + rounding, None);
    for i in 0..3 {
        for j in 0..3 {
            let cross = ra.column(i).cross(&rb.column(j));
            let size = cross.norm();
            if size < PARALLEL {
                continue;
            }
            let axis = towards_b(cross / size);
            let gap = apart(&axis);
            if gap > reach {
                return;
            }
            if gap > edges.0 && axis.dot(&face.2).abs() < NEARLY_A_FACE {
                edges = (gap, Some((i, j, axis)));
            }
        }
    }
    match edges {
        (gap, Some((i, j, axis))) => out.push(edge_on_edge((&a, ra, i), (&b, rb, j), axis, gap)),
        _ if face.1 < 3 => {
            let side = (&a, ra, face.1);
            face_on_face(side, (&b, rb), face.2, reach, rounding, false, out);
        }
        _ => {
            let side = (&b, rb, face.1 - 3);
            face_on_face(side, (&a, ra), -face.2, reach, rounding, true, out);
        }
    }
}

/// The nearest points of two edges that cross, along axis `i` of `a` and `j` of `b`.
fn edge_on_edge(
    (a, ra, i): (&Solid<'_>, &Matrix3<f64>, usize),
    (b, rb, j): (&Solid<'_>, &Matrix3<f64>, usize),
    axis: Vector3<f64>,
    gap: f64,
) -> Touch {
    // The middle of the edge that is furthest along a direction, and which of the four it is.
    let middle = |solid: &Solid<'_>, turned: &Matrix3<f64>, along: usize, towards: Vector3<f64>| {
        let (mut point, mut which) = (solid.pose.translation.vector, 0);
        for c in (0..3).filter(|c| *c != along) {
            let up = towards.dot(&turned.column(c)) > 0.0;
            point += turned.column(c) * if up { solid.half[c] } else { -solid.half[c] };
            which = 2 * which + u64::from(up);
        }
        (point, which)
    };
    let (p, on_a) = middle(a, ra, i, axis);
    let (q, on_b) = middle(b, rb, j, -axis);
    let (d, e) = (ra.column(i), rb.column(j));
    // The points of both lines that are nearest to each other.
    let (de, r) = (d.dot(&e), q - p);
    let s = (r.dot(&d) - de * r.dot(&e)) / (1.0 - de * de);
    let on = p + d * s.clamp(-a.half[i], a.half[i]);
    let t = (on - q).dot(&e).clamp(-b.half[j], b.half[j]);
    let on_other = q + e * t;
    // The gap is that along the axis: both points are put on it.
    let centre = 0.5 * (on + on_other);
    let points = [Point3::from(centre - 0.5 * gap * axis), Point3::from(centre + 0.5 * gap * axis)];
    let feature = 1 << 40 | (((i * 3 + j) as u64) << 4 | on_a << 2 | on_b);
    Touch { points, normal: axis, gap, feature }
}

/// A corner of the polygon in which two faces overlap: its place in the plane of the face, its height over
/// it, and the edges before and after it.
#[derive(Clone, Copy)]
struct Corner {
    at: Vector3<f64>,
    edges: [u64; 2],
}

/// The points of `other` over face `side` of `solid`, whose outward normal is `normal`; `swapped` if `other`
/// is the first body of the pair.
fn face_on_face(
    (solid, turned, side): (&Solid<'_>, &Matrix3<f64>, usize),
    (other, other_turned): (&Solid<'_>, &Matrix3<f64>),
    normal: Vector3<f64>,
    reach: f64,
    rounding: f64,
    swapped: bool,
    out: &mut Vec<Touch>,
) {
    // The face of the other box that looks at this one most.
    let facing = |c: usize| normal.dot(&other_turned.column(c));
    let mut incident = 0;
    for c in 1..3 {
        if facing(c).abs() > facing(incident).abs() + PARALLEL {
            incident = c;
        }
    }
    let outward = if facing(incident) > 0.0 { -1.0 } else { 1.0 };
    let (e, f) = ((incident + 1) % 3, (incident + 2) % 3);
    let corner = |x: f64, y: f64| {
        other.pose.translation.vector
            + other_turned.column(incident) * (outward * other.half[incident])
            + other_turned.column(e) * (x * other.half[e])
            + other_turned.column(f) * (y * other.half[f])
    };
    // In the frame of the face: two coordinates along its sides, and the height over it.
    let (s, t) = ((side + 1) % 3, (side + 2) % 3);
    let origin = solid.pose.translation.vector + normal * solid.half[side];
    let local = |p: Vector3<f64>| {
        let r = p - origin;
        Vector3::new(r.dot(&turned.column(s)), r.dot(&turned.column(t)), r.dot(&normal))
    };
    let mut polygon: Vec<Corner> = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
        .iter()
        .zip(0u64..)
        .map(|((x, y), k)| Corner { at: local(corner(*x, *y)), edges: [(k + 3) % 4, k] })
        .collect();
    for (plane, (axis, sign, limit)) in
        [(0, 1.0, solid.half[s]), (0, -1.0, solid.half[s]), (1, 1.0, solid.half[t]), (1, -1.0, solid.half[t])]
            .into_iter()
            .enumerate()
    {
        polygon = clip(&polygon, |p| sign * p[axis] - limit, rounding, 4 + plane as u64);
    }
    let mut kept: Vec<Corner> = Vec::with_capacity(polygon.len());
    for corner in polygon {
        // Of corners in one place, as where two edges cross in a corner, one is enough.
        if kept.iter().all(|k| (k.at - corner.at).norm() > 2.0 * rounding) {
            kept.push(corner);
        }
    }
    for corner in kept.iter().filter(|c| c.at.z <= reach) {
        let [x, y, gap] = [corner.at.x, corner.at.y, corner.at.z];
        let on_face = origin + turned.column(s) * x + turned.column(t) * y;
        let above = on_face + normal * gap;
        let which =
            (side as u64) << 12 | (incident as u64) << 10 | u64::from(outward > 0.0) << 9 | u64::from(swapped) << 8;
        let sign = u64::from(normal.dot(&turned.column(side)) > 0.0) << 14;
        let feature = sign | which | corner.edges[0] << 4 | corner.edges[1];
        let (points, normal) = if swapped { ([above, on_face], -normal) } else { ([on_face, above], normal) };
        out.push(Touch { points: points.map(Point3::from), normal, gap, feature });
    }
}

/// The part of a convex polygon with `outside(p) <= 0`, by Sutherland and Hodgman; what is outside by
/// `rounding` [m] is kept as it is.
fn clip(polygon: &[Corner], outside: impl Fn(&Vector3<f64>) -> f64, rounding: f64, plane: u64) -> Vec<Corner> {
    let mut out = Vec::with_capacity(8);
    for (k, corner) in polygon.iter().enumerate() {
        let next = &polygon[(k + 1) % polygon.len()];
        let (here, there) = (outside(&corner.at), outside(&next.at));
        if here <= rounding {
            out.push(*corner);
        }
        // One strictly inside and one strictly outside: the edge crosses the plane.
        let crossing = || corner.at + (next.at - corner.at) * (here / (here - there));
        if here < -rounding && there > rounding {
            out.push(Corner { at: crossing(), edges: [corner.edges[1], plane] });
        } else if here > rounding && there < -rounding {
            out.push(Corner { at: crossing(), edges: [plane, corner.edges[1]] });
        }
    }
    out
}
