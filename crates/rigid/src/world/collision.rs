//! Finds where two bodies touch: points, gaps and normals.

mod boxes;

use nalgebra::{Isometry3, Point3, Vector3};

use super::body::WorldShape;
use boxes::boxes;

/// A place where two bodies touch, or may soon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Touch {
    /// The nearest point of each body, in the world [m].
    pub points: [Point3<f64>; 2],
    /// Unit vector from the first body to the second.
    pub normal: Vector3<f64>,
    /// Distance of the points along the normal [m], negative where bodies overlap.
    pub gap: f64,
    /// Which corners or faces these are: the same from step to step as long as they touch.
    pub feature: u64,
}

/// All places where `b` is within `reach` [m] of `a`, or inside.
pub(super) fn touches(
    a: (&WorldShape, &Isometry3<f64>),
    b: (&WorldShape, &Isometry3<f64>),
    reach: f64,
    out: &mut Vec<Touch>,
) {
    let from = out.len();
    match (a.0, b.0) {
        (WorldShape::Plane, WorldShape::Sphere(radius)) => plane(a.1, b.1, &[[0.0; 3]], *radius, reach, out),
        (WorldShape::Plane, WorldShape::Points(points)) => plane(a.1, b.1, points, 0.0, reach, out),
        (WorldShape::Plane, WorldShape::Box(half)) => plane(a.1, b.1, &corners(half), 0.0, reach, out),
        (WorldShape::Sphere(ra), WorldShape::Sphere(rb)) => {
            balls((a.1 * Point3::origin(), *ra), (b.1 * Point3::origin(), *rb), reach, 0, out);
        }
        (WorldShape::Sphere(radius), WorldShape::Points(points)) => {
            for (k, p) in (0..).zip(points) {
                balls((a.1 * Point3::origin(), *radius), (b.1 * Point3::from(*p), 0.0), reach, k, out);
            }
        }
        (WorldShape::Box(half), WorldShape::Sphere(radius)) => box_ball(half, a.1, b.1, *radius, reach, 0, out),
        (WorldShape::Box(half), WorldShape::Points(points)) => {
            for (k, p) in (0..).zip(points) {
                let at = b.1 * Isometry3::translation(p[0], p[1], p[2]);
                box_ball(half, a.1, &at, 0.0, reach, k, out);
            }
        }
        (WorldShape::Box(ha), WorldShape::Box(hb)) => boxes((ha, a.1), (hb, b.1), reach, out),
        _ if can_touch(b.0, a.0) => {
            touches(b, a, reach, out);
            for touch in &mut out[from..] {
                touch.points.swap(0, 1);
                touch.normal = -touch.normal;
            }
        }
        _ => {}
    }
}

/// Whether balls of these `radii` [m] about two shapes are further than `reach` [m] from each other, so that
/// there are no touches.
pub(super) fn are_apart(
    a: (&WorldShape, &Isometry3<f64>),
    b: (&WorldShape, &Isometry3<f64>),
    radii: [f64; 2],
    reach: f64,
) -> bool {
    let between = b.1.translation.vector - a.1.translation.vector;
    let over = |plane: &Isometry3<f64>, away: Vector3<f64>| (plane.rotation * Vector3::z()).dot(&away);
    let distance = match (a.0, b.0) {
        (WorldShape::Plane, _) => over(a.1, between),
        (_, WorldShape::Plane) => over(b.1, -between),
        _ => between.norm(),
    };
    // Shapes that are at the reach to rounding may have a touch; poses that are no numbers are looked at.
    distance > (radii[0] + radii[1] + reach) * (1.0 + 1e-12)
}

/// Whether two shapes can touch with the first of them first.
fn can_touch(a: &WorldShape, b: &WorldShape) -> bool {
    match a {
        WorldShape::Plane => *b != WorldShape::Plane,
        WorldShape::Sphere(_) => matches!(b, WorldShape::Sphere(_) | WorldShape::Points(_)),
        WorldShape::Box(_) => *b != WorldShape::Plane,
        WorldShape::Points(_) => false,
    }
}

/// Whether there are contacts between two shapes, in whatever order: not between two planes, nor between
/// points.
pub(super) fn is_pair(a: &WorldShape, b: &WorldShape) -> bool {
    can_touch(a, b) || can_touch(b, a)
}

fn corners(half: &[f64; 3]) -> [[f64; 3]; 8] {
    std::array::from_fn(|k| std::array::from_fn(|c| if k >> c & 1 == 1 { half[c] } else { -half[c] }))
}

/// Points of a body with spheres of `radius` [m] about them, over a plane.
fn plane(
    plane: &Isometry3<f64>,
    body: &Isometry3<f64>,
    points: &[[f64; 3]],
    radius: f64,
    reach: f64,
    out: &mut Vec<Touch>,
) {
    let normal = plane.rotation * Vector3::z();
    for (feature, point) in (0..).zip(points) {
        let lowest = body * Point3::from(*point) - radius * normal;
        let gap = normal.dot(&(lowest - plane.translation.vector).coords);
        if gap <= reach {
            out.push(Touch { points: [lowest - gap * normal, lowest], normal, gap, feature });
        }
    }
}

fn balls(a: (Point3<f64>, f64), b: (Point3<f64>, f64), reach: f64, feature: u64, out: &mut Vec<Touch>) {
    let between = b.0 - a.0;
    let distance = between.norm();
    let gap = distance - a.1 - b.1;
    if gap > reach {
        return;
    }
    // Two centres in one place may part in any direction.
    let normal = if distance > 0.0 { between / distance } else { Vector3::z() };
    out.push(Touch { points: [a.0 + a.1 * normal, b.0 - b.1 * normal], normal, gap, feature });
}

/// A box and a ball. A ball whose centre is in the box leaves it through the nearest face.
fn box_ball(
    half: &[f64; 3],
    a: &Isometry3<f64>,
    b: &Isometry3<f64>,
    radius: f64,
    reach: f64,
    feature: u64,
    out: &mut Vec<Touch>,
) {
    let centre = b.translation.vector;
    let local = a.rotation.inverse() * (centre - a.translation.vector);
    let nearest = Vector3::from_fn(|c, _| local[c].clamp(-half[c], half[c]));
    let out_of = local - nearest;
    let distance = out_of.norm();
    let (on, normal, gap) = if distance > 0.0 {
        (nearest, out_of / distance, distance - radius)
    } else {
        let depth = |c: usize| half[c] - local[c].abs();
        let side = (1..3).fold(0, |best, c| if depth(c) < depth(best) { c } else { best });
        let sign = if local[side] < 0.0 { -1.0 } else { 1.0 };
        let normal = Vector3::from_fn(|c, _| if c == side { sign } else { 0.0 });
        (local + depth(side) * normal, normal, -depth(side) - radius)
    };
    if gap <= reach {
        let normal = a.rotation * normal;
        let points = [a * Point3::from(on), Point3::from(centre - radius * normal)];
        out.push(Touch { points, normal, gap, feature });
    }
}
