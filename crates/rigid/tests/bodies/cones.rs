//! Tests friction cones against independent numbers, and against the laws of projections onto convex cones.

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::path::Path;

use bristle_rigid::cone::{Cone, ContactFrame, Fit, Polygon, Section, contains, margins, projections};
use nalgebra::{Rotation3, Vector3};
use proptest::prelude::*;

/// Of independent numbers in double precision.
const TOLERANCE: f64 = 1e-12;

fn rows(file: &str) -> Vec<BTreeMap<String, String>> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("tests/fixtures/cones").join(file);
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

fn number(row: &BTreeMap<String, String>, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|e| panic!("{name} = {}: {e}", row[name]))
}

fn numbers(row: &BTreeMap<String, String>, names: [&str; 3]) -> [f64; 3] {
    names.map(|name| number(row, name))
}

fn polygon(sides: usize, fit: Fit, angle: f64) -> Section {
    Section::Polygon(Polygon { sides, fit, angle })
}

fn cone(section: Section, mu: f64) -> Cone {
    Cone::new(section, mu, ContactFrame::identity()).unwrap()
}

/// The inner and the outer pyramid of a row.
fn pyramids(row: &BTreeMap<String, String>) -> [Cone; 2] {
    let (sides, mu) = (number(row, "sides") as usize, number(row, "mu"));
    let angle = if number(row, "half_turn") == 1.0 { PI / sides as f64 } else { 0.0 };
    [Fit::Inner, Fit::Outer].map(|fit| cone(polygon(sides, fit, angle), mu))
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn size_of(v: [f64; 3]) -> f64 {
    Vector3::from(v).norm()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (Vector3::from(a) - Vector3::from(b)).norm()
}

#[test]
fn circular_cones_are_those_of_the_data() {
    let rows = rows("circle.csv");
    assert!(rows.len() > 100);
    for row in &rows {
        let (cone, f) = (cone(Section::Circle, number(row, "mu")), numbers(row, ["ft", "fb", "fn"]));
        assert_eq!(cone.contains(f), row["inside"] == "1", "{row:?}");
        assert!((cone.margin(f) - number(row, "margin")).abs() <= TOLERANCE, "{row:?}: {}", cone.margin(f));
        let wanted = numbers(row, ["pt", "pb", "pn"]);
        assert!(distance(cone.project(f), wanted) <= TOLERANCE, "{row:?}: {:?}", cone.project(f));
    }
}

#[test]
fn pyramids_contain_the_forces_that_the_data_say() {
    let rows = rows("pyramids.csv");
    assert!(rows.len() > 200);
    for row in &rows {
        let f = numbers(row, ["ft", "fb", "fn"]);
        assert_eq!(cone(Section::Circle, number(row, "mu")).contains(f), row["in_circle"] == "1", "{row:?}");
        for (cone, [inside, largest]) in
            pyramids(row).iter().zip([["in_inner", "row_inner"], ["in_outer", "row_outer"]])
        {
            assert_eq!(cone.contains(f), row[inside] == "1", "{row:?}");
            let rows = cone.inequalities().unwrap();
            let most = rows.iter().map(|a| dot(*a, f)).fold(f64::NEG_INFINITY, f64::max);
            assert!((most - number(row, largest)).abs() <= TOLERANCE, "{row:?}: {most}");
            // The margin is of the sides alone; a force that pulls is outside by more than its normal part.
            assert!((cone.margin(f) + most).abs() <= TOLERANCE, "{row:?}: {}", cone.margin(f));
        }
    }
}

/// The rows of a matrix stand in any order.
#[test]
fn inequalities_and_rays_are_those_of_the_data() {
    let mut groups: BTreeMap<String, Vec<BTreeMap<String, String>>> = BTreeMap::new();
    for row in rows("matrices.csv") {
        let key = format!("{} {} {} {}", row["sides"], row["mu"], row["half_turn"], row["matrix"]);
        groups.entry(key).or_default().push(row);
    }
    assert_eq!(groups.len(), 5 * 2 * 2 * 4);
    for (key, rows) in &groups {
        let [inner, outer] = pyramids(&rows[0]);
        let found = match rows[0]["matrix"].as_str() {
            "inner_A" => inner.inequalities(),
            "outer_A" => outer.inequalities(),
            "inner_rays" => inner.rays(),
            _ => outer.rays(),
        }
        .unwrap();
        assert_eq!(found.len(), rows.len(), "{key}");
        for row in rows {
            let wanted = numbers(row, ["a", "b", "c"]);
            let near = found.iter().filter(|v| distance(**v, wanted) <= TOLERANCE).count();
            assert_eq!(near, 1, "{key}: {wanted:?} in {found:?}");
        }
    }
}

/// The pyramid of Caron's page, `|f_t|, |f_b| <= mu f_n`, is around the cone, and inside it with `mu/sqrt 2`.
#[test]
fn four_sides_are_the_pyramid_of_the_page() {
    let outer = cone(polygon(4, Fit::Outer, 0.0), 0.6);
    let inner = cone(polygon(4, Fit::Inner, PI / 4.0), 0.6);
    for (cone, mu) in [(outer, 0.6), (inner, 0.6 / 2f64.sqrt())] {
        for (f, margin) in
            [([0.3, -0.1, 1.0], mu - 0.3), ([-0.1, 0.7, 1.0], mu - 0.7), ([0.5, 0.5, 2.0], 2.0 * mu - 0.5)]
        {
            assert!((cone.margin(f) - margin).abs() < 1e-15);
            assert_eq!(cone.contains(f), margin >= 0.0);
        }
    }
}

#[test]
fn what_is_no_cone_is_refused() {
    let frame = ContactFrame::identity();
    for (section, mu, part) in [
        (Section::Circle, -0.1, "mu = -0.1: expected a finite number from 0 to 1e6"),
        (Section::Circle, f64::NAN, "mu = NaN"),
        (polygon(2, Fit::Inner, 0.0), 0.5, "sides = 2: expected 3 to 1024"),
        (polygon(5, Fit::Outer, f64::INFINITY), 0.5, "angle = inf"),
    ] {
        let message = Cone::new(section, mu, frame).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let circle = cone(Section::Circle, 0.5);
    assert!(circle.rays().unwrap_err().to_string().starts_with("section = circle: expected a polygon, which has rays"));
    assert!(circle.inequalities().is_err());
    let forces = [[0.0, 0.0, 1.0]; 3];
    for (mu, part) in [(vec![0.1, 0.2], "mu = 2 numbers: expected 1 or 3"), (vec![0.1, 0.2, -1.0], "mu.2 = -1")] {
        let message = margins(&Section::Circle, &mu, &forces).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        assert!(projections(&Section::Circle, &mu, &forces).is_err());
    }
    assert!(contains(&polygon(1, Fit::Inner, 0.0), &[0.5], &forces).is_err());
}

#[test]
fn a_contact_without_friction_transmits_the_normal_force_alone() {
    for section in [Section::Circle, polygon(3, Fit::Inner, 0.1), polygon(8, Fit::Outer, 0.0)] {
        let cone = cone(section, 0.0);
        assert!(cone.contains([0.0, 0.0, 2.0]) && !cone.contains([0.0, 0.0, -2.0]));
        assert!(!cone.contains([1e-9, 0.0, 2.0]) && cone.margin([0.3, 0.4, 1.0]) < -0.2);
        for (f, wanted) in
            [([1.0, 2.0, 3.0], [0.0, 0.0, 3.0]), ([1.0, 2.0, -3.0], [0.0; 3]), ([0.0, 0.0, -1.0], [0.0; 3])]
        {
            assert!(distance(cone.project(f), wanted) < 1e-15, "{section:?} {f:?}: {:?}", cone.project(f));
        }
    }
}

fn component() -> impl Strategy<Value = f64> {
    prop_oneof![-3.0..3.0, Just(0.0), -1e-6..1e-6, -1e3..1e3]
}

fn vector() -> impl Strategy<Value = [f64; 3]> {
    [component(), component(), component()]
}

fn frame() -> impl Strategy<Value = ContactFrame> {
    (vector(), vector()).prop_filter_map("axes", |(normal, tangent)| ContactFrame::new(normal, Some(tangent)).ok())
}

fn section() -> impl Strategy<Value = Section> {
    let polygon = (3..40usize, any::<bool>(), -4.0..4.0)
        .prop_map(|(sides, inner, angle)| polygon(sides, if inner { Fit::Inner } else { Fit::Outer }, angle));
    prop_oneof![Just(Section::Circle), polygon]
}

fn any_cone() -> impl Strategy<Value = Cone> {
    (section(), 0.0..2.5, frame()).prop_map(|(section, mu, frame)| Cone::new(section, mu, frame).unwrap())
}

/// Largest of `v . f` over the forces of the cone with a normal part of 1.
fn support(cone: &Cone, v: [f64; 3]) -> f64 {
    match cone.rays() {
        Ok(rays) => rays.iter().map(|ray| dot(*ray, v)).fold(f64::NEG_INFINITY, f64::max),
        Err(_) => {
            let [t, b, n] = cone.frame().to_contact(v);
            n + cone.mu() * t.hypot(b)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Moreau: `f = p + r` with `p` in the cone, `r` in its polar cone, `p . r = 0`; that is what makes `p`
    /// nearest.
    #[test]
    fn projections_split_a_force_into_cone_and_polar_cone(cone in any_cone(), f in vector()) {
        let p = cone.project(f);
        let r: [f64; 3] = (Vector3::from(f) - Vector3::from(p)).into();
        let size = 1e-300 + size_of(f);
        let local = cone.frame().to_contact(p);
        prop_assert!(cone.margin(p) >= -1e-14 * size && local[2] >= -1e-14 * size, "{p:?} is outside");
        prop_assert!(support(&cone, r) <= 1e-13 * size, "{r:?} is not polar");
        prop_assert!(dot(p, r).abs() <= 1e-13 * size * size);
    }

    #[test]
    fn projections_are_idempotent_and_bring_forces_no_further_apart(cone in any_cone(), f in vector(), g in vector()) {
        let (p, q) = (cone.project(f), cone.project(g));
        let size = size_of(f) + size_of(g);
        prop_assert!(distance(cone.project(p), p) <= 1e-14 * size);
        prop_assert!(distance(p, q) <= distance(f, g) + 1e-13 * size);
    }

    #[test]
    fn margins_are_positive_inside_zero_on_the_cone_and_negative_outside(
        cone in any_cone(), f in vector(), inside in 0.0..0.999,
    ) {
        prop_assume!(cone.mu() > 1e-3);
        let p = cone.project(f);
        let [t, b, n] = cone.frame().to_contact(p);
        let size = size_of(f);
        if distance(p, f) > 1e-9 * size {
            prop_assert!(cone.margin(f) < 0.0 && !cone.contains(f));
            prop_assert!(cone.margin(p).abs() <= 1e-13 * size);
        } else if distance(p, f) == 0.0 {
            prop_assert!(cone.margin(f) >= 0.0 && cone.contains(f));
        }
        let within = cone.frame().to_world([inside * t, inside * b, n]);
        prop_assert!(n <= 1e-9 * size || cone.margin(within) > 0.0);
    }

    #[test]
    fn the_circle_is_between_its_pyramids(
        sides in 3..60usize, angle in -4.0..4.0, mu in 0.0..2.5, frame in frame(), f in vector(),
    ) {
        let [inner, circle, outer] =
            [polygon(sides, Fit::Inner, angle), Section::Circle, polygon(sides, Fit::Outer, angle)]
                .map(|section| Cone::new(section, mu, frame).unwrap());
        let size = 1e-14 * size_of(f);
        prop_assert!(outer.margin(f) >= circle.margin(f) - size);
        // A side of the inner one is nearer; where the force is not inside, its margin may be the larger one.
        prop_assert!(!inner.contains(f) || circle.margin(f) >= -size);
        for ray in inner.rays().unwrap() {
            prop_assert!(circle.margin(ray).abs() <= 1e-14 * (1.0 + mu), "corners are on the circle");
        }
        let [p, c, q] = [inner, circle, outer].map(|cone| distance(cone.project(f), f));
        prop_assert!(p >= c - 10.0 * size && c >= q - 10.0 * size, "{p} {c} {q}");
    }

    /// A circular cone has no tangent: turned about its normal, or with the force about any axis, it answers
    /// alike.
    #[test]
    fn circular_cones_do_not_depend_on_axes(mu in 0.0..2.5, frame in frame(), f in vector(), turn in vector()) {
        let rotation = Rotation3::new(turn.into());
        let of = |v: [f64; 3]| -> [f64; 3] { (rotation * Vector3::from(v)).into() };
        let [t, b, n] = frame.axes();
        let cone = Cone::new(Section::Circle, mu, frame).unwrap();
        let other = Cone::new(Section::Circle, mu, ContactFrame::new(n, Some(b)).unwrap()).unwrap();
        let turned = Cone::new(Section::Circle, mu, ContactFrame::new(of(n), Some(of(t))).unwrap()).unwrap();
        let size = 1e-13 * size_of(f) * (1.0 + mu);
        prop_assert!((cone.margin(f) - other.margin(f)).abs() <= size);
        prop_assert!((cone.margin(f) - turned.margin(of(f))).abs() <= size);
        prop_assert!(distance(cone.project(f), other.project(f)) <= size);
        prop_assert!(distance(of(cone.project(f)), turned.project(of(f))) <= size);
    }
}

/// Forces of all sizes about the cone, in numbers that fill no whole number of vector registers.
fn queries(count: usize) -> (Vec<f64>, Vec<[f64; 3]>) {
    let at = |k: usize, name: &str| bristle::random::Draw::new(3, k as u64).normal(name);
    let mu = (0..count).map(|k| at(k, "mu").abs()).collect();
    let forces = (0..count).map(|k| [at(k, "t"), at(k, "b"), at(k, "n")]).collect();
    (mu, forces)
}

fn sections() -> Vec<Section> {
    let polygons =
        [3, 4, 5, 8, 33].into_iter().flat_map(|n| [Fit::Inner, Fit::Outer].map(|fit| polygon(n, fit, 0.1 * n as f64)));
    std::iter::once(Section::Circle).chain(polygons).collect()
}

#[test]
fn batches_are_single_queries() {
    let (mu, forces) = queries(10_007);
    for section in sections() {
        let (found, inside) = (margins(&section, &mu, &forces).unwrap(), contains(&section, &mu, &forces).unwrap());
        let nearest = projections(&section, &mu, &forces).unwrap();
        for (k, f) in forces.iter().enumerate() {
            let cone = cone(section, mu[k]);
            assert!((found[k] - cone.margin(*f)).abs() <= 1e-14, "{section:?} {k}");
            assert!(inside[k] == cone.contains(*f) || cone.margin(*f).abs() <= 1e-14, "{section:?} {k}");
            assert!(distance(nearest[k], cone.project(*f)) <= 1e-14, "{section:?} {k}");
        }
        // One coefficient for all, and no force at all.
        let one = margins(&section, &mu[..1], &forces).unwrap();
        assert!((one[10_006] - cone(section, mu[0]).margin(forces[10_006])).abs() <= 1e-14);
        assert_eq!(projections::<f64>(&section, &[0.5], &[]).unwrap(), [[0.0; 3]; 0]);
    }
}

/// Single precision against double: share of the force.
const SINGLE: f64 = 1e-6;

fn single(mu: &[f64], forces: &[[f64; 3]]) -> (Vec<f32>, Vec<[f32; 3]>) {
    (mu.iter().map(|v| *v as f32).collect(), forces.iter().map(|f| f.map(|c| c as f32)).collect())
}

/// Compares answers in single precision with those in double precision to the same rounded queries.
fn agrees(section: &Section, mu: &[f32], forces: &[[f32; 3]], margins_of: &[f32], nearest: &[[f32; 3]]) {
    let wide: Vec<f64> = mu.iter().map(|v| f64::from(*v)).collect();
    let of: Vec<[f64; 3]> = forces.iter().map(|f| f.map(f64::from)).collect();
    let (margin, projection) = (margins(section, &wide, &of).unwrap(), projections(section, &wide, &of).unwrap());
    assert_eq!((margins_of.len(), nearest.len()), (of.len(), of.len()));
    for k in 0..of.len() {
        let size = SINGLE * size_of(of[k]) * (1.0 + wide[k % wide.len()]);
        assert!((f64::from(margins_of[k]) - margin[k]).abs() <= size, "{section:?} {k}: {}", margins_of[k]);
        let found = nearest[k].map(f64::from);
        assert!(distance(found, projection[k]) <= size, "{section:?} {k}: {found:?}, wanted {:?}", projection[k]);
    }
}

#[test]
fn single_precision_agrees_with_double() {
    let (mu, forces) = queries(5000);
    let (mu, forces) = single(&mu, &forces);
    for section in sections() {
        let (found, nearest) = (margins(&section, &mu, &forces), projections(&section, &mu, &forces));
        agrees(&section, &mu, &forces, &found.unwrap(), &nearest.unwrap());
    }
}

/// The comparison above is one that can fail.
#[test]
fn a_wrong_answer_is_noticed() {
    let (mu, forces) = queries(64);
    let (mu, forces) = single(&mu, &forces);
    let section = polygon(5, Fit::Inner, 0.3);
    let right = (margins(&section, &mu, &forces).unwrap(), projections(&section, &mu, &forces).unwrap());
    let mut wrong = [right.clone(), right];
    wrong[0].0[7] += 1e-3;
    wrong[1].1[9][2] -= 1e-3;
    for (margin, nearest) in &wrong {
        assert!(std::panic::catch_unwind(|| agrees(&section, &mu, &forces, margin, nearest)).is_err());
    }
}

#[cfg(feature = "gpu")]
mod on_a_gpu {
    use super::*;
    use bristle::gpu::{Choice, Gpu};
    use bristle_rigid::gpu::RigidGpu;

    /// No adapter is a failure that says how to install one.
    fn gpu() -> RigidGpu {
        RigidGpu::new(&Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")))
    }

    #[test]
    fn devices_agree_with_double_precision() {
        let gpu = gpu();
        let (mu, forces) = queries(5000);
        let (mu, forces) = single(&mu, &forces);
        for section in sections() {
            for mu in [&mu[..], &mu[..1]] {
                let found = gpu.cone_margins(&section, mu, &forces).unwrap();
                let nearest = gpu.cone_projections(&section, mu, &forces).unwrap();
                agrees(&section, mu, &forces, &found, &nearest);
                let inside = gpu.cone_contains(&section, mu, &forces).unwrap();
                let pushes = |k: usize| found[k] >= 0.0 && forces[k][2] >= 0.0;
                assert!((0..forces.len()).all(|k| inside[k] == pushes(k)));
            }
        }
    }

    /// What a device whose shader has `from` replaced by `to` answers is not right.
    fn caught(edit: fn(String) -> String) {
        let gpu = RigidGpu::new(&Gpu::with_edit(Choice::Any, edit).unwrap_or_else(|e| panic!("{e}")));
        let (mu, forces) = queries(500);
        let (mu, forces) = single(&mu, &forces);
        let wrong = |section: &Section| {
            let found = gpu.cone_margins(section, &mu, &forces).unwrap();
            let nearest = gpu.cone_projections(section, &mu, &forces).unwrap();
            std::panic::catch_unwind(|| agrees(section, &mu, &forces, &found, &nearest)).is_err()
        };
        assert!([Section::Circle, polygon(5, Fit::Inner, 0.3)].iter().any(wrong), "the comparison lets it pass");
    }

    /// A wrong kernel: the text that is replaced, and by what.
    macro_rules! mutants {
        ($($name:ident: $from:expr => $to:expr;)*) => {
            $(#[test]
            fn $name() {
                caught(|text| {
                    assert!(text.contains($from), "the shader has no {:?}: renew the mutant", $from);
                    text.replace($from, $to)
                });
            })*
        };
    }

    mutants! {
        a_face_too_few_is_caught: "for (var k = 1u; k < cones.sides; k++)" => "for (var k = 2u; k < cones.sides; k++)";
        a_wrong_side_of_the_faces_is_caught: "let nearer = most < a;" => "let nearer = a < most;";
        a_forgotten_distance_of_faces_is_caught: "return cones.share * mu_of * f.z" => "return mu_of * f.z";
        a_wrong_normal_part_is_caught:
            "(slope * a + f.z) / (1.0 + slope * slope)" => "(slope * a + f.z) / (1.0 + slope)";
        a_forgotten_edge_is_caught: "let beyond = side * on_face < abs(c);" => "let beyond = false;";
        a_wrong_turn_of_the_part_along_the_face_is_caught:
            "towards * e.x - along * e.y" => "towards * e.x + along * e.y";
        a_pulling_force_without_friction_is_caught: "slope * f.z < a || f.z < 0.0" => "slope * f.z < a && f.z < 0.0";
    }

    /// Dispatches are of at most as many tests of faces as a software driver takes in a short time.
    #[test]
    fn batches_of_any_size_are_answered() {
        let gpu = gpu();
        let section = polygon(1000, Fit::Inner, 0.0);
        let (mu, forces) = queries(50_001);
        let (mu, forces) = single(&mu, &forces);
        let found = gpu.cone_margins(&section, &mu, &forces).unwrap();
        agrees(&section, &mu, &forces, &found, &gpu.cone_projections(&section, &mu, &forces).unwrap());
        assert!(gpu.cone_margins(&section, &[0.5], &[]).unwrap().is_empty());
        assert!(gpu.cone_contains(&section, &[-1.0], &forces).unwrap_err().to_string().starts_with("mu.0 = -1"));
    }
}
