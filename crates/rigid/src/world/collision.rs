//! Finds where two bodies touch: points, gaps and normals. `parry` does pairs of boxes, and boxes with
//! spheres.

use nalgebra::{Isometry3, Point3, Vector3};

use parry3d_f64::math::{Pose, Rotation, Vector};
use parry3d_f64::query::ContactManifold;
use parry3d_f64::query::details::{contact_manifold_convex_ball, contact_manifold_cuboid_cuboid};
use parry3d_f64::shape::{Ball, Cuboid};

use super::body::WorldShape;

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

/// A pose in the types of `parry`.
fn pose(of: &Isometry3<f64>) -> Pose {
    let (t, q) = (&of.translation.vector, &of.rotation.coords);
    Pose::from_parts(Vector::new(t.x, t.y, t.z), Rotation::from_xyzw(q.x, q.y, q.z, q.w))
}

/// The contacts that `parry` has found between bodies at poses `a` and `b`.
fn push(
    manifold: &ContactManifold<(), ()>,
    a: &Isometry3<f64>,
    b: &Isometry3<f64>,
    reach: f64,
    first: u64,
    out: &mut Vec<Touch>,
) {
    let n = &manifold.local_n1;
    let normal = a.rotation * Vector3::new(n.x, n.y, n.z);
    for (k, p) in (0..).zip(&manifold.points) {
        if p.dist <= reach {
            let points = [
                a * Point3::new(p.local_p1.x, p.local_p1.y, p.local_p1.z),
                b * Point3::new(p.local_p2.x, p.local_p2.y, p.local_p2.z),
            ];
            let feature = if first > 0 { first + k } else { u64::from(p.fid1.0) << 32 | u64::from(p.fid2.0) };
            out.push(Touch { points, normal, gap: p.dist, feature });
        }
    }
}

fn box_ball(
    half: &[f64; 3],
    a: &Isometry3<f64>,
    b: &Isometry3<f64>,
    radius: f64,
    reach: f64,
    feature: u64,
    out: &mut Vec<Touch>,
) {
    let mut manifold = ContactManifold::new();
    let cuboid = Cuboid::new(Vector::new(half[0], half[1], half[2]));
    let relative = pose(&(a.inverse() * b));
    contact_manifold_convex_ball(&relative, &cuboid, &Ball::new(radius), None, None, reach, &mut manifold, false);
    push(&manifold, a, b, reach, feature + 1, out);
}

fn boxes(a: (&[f64; 3], &Isometry3<f64>), b: (&[f64; 3], &Isometry3<f64>), reach: f64, out: &mut Vec<Touch>) {
    let mut manifold = ContactManifold::new();
    let cuboid = |half: &[f64; 3]| Cuboid::new(Vector::new(half[0], half[1], half[2]));
    let relative = pose(&(a.1.inverse() * b.1));
    contact_manifold_cuboid_cuboid(&relative, &cuboid(a.0), &cuboid(b.0), reach, &mut manifold);
    push(&manifold, a.1, b.1, reach, 0, out);
}
