//! Directions of twists and loads.

use nalgebra::Vector3;

/// `n` directions spread evenly over the sphere (a Fibonacci spiral); the first half is the upper half.
pub fn sphere(n: usize) -> Vec<Vector3<f64>> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let point = |k: usize| {
        let z: f64 = 1.0 - (2 * k + 1) as f64 / n as f64;
        let rho = (1.0 - z * z).sqrt();
        let (sin, cos) = (golden * k as f64).sin_cos();
        Vector3::new(rho * cos, rho * sin, z)
    };
    (0..n).map(point).collect()
}
