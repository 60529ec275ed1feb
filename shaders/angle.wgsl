// Cosine and sine of any angle. Vulkan allows a driver's own an error of 2^-11, and SwiftShader makes use of
// that: the bristles under a body that turns were 2e-4 off after one step.

// Cosine and sine of an angle [rad]: within 2e-7, and the rounding of the angle.
fn turned(angle: f32) -> vec2f {
    // The nearest multiple of a right angle is subtracted in three parts, the first two of which have so few
    // digits that their products are exact where a driver multiplies and adds apart.
    let n = round(angle * (2.0 / PI));
    let r = fma(-n, 7.54979013e-08, fma(-n, 0.0004837512969970703, fma(-n, 1.5703125, angle)));
    let r2 = r * r;
    let sine = fma(fma(fma(fma(1.0 / 362880.0, r2, -1.0 / 5040.0), r2, 1.0 / 120.0), r2, -1.0 / 6.0), r2 * r, r);
    let cosine = fma(fma(fma(fma(1.0 / 40320.0, r2, -1.0 / 720.0), r2, 1.0 / 24.0), r2, -1.0 / 2.0), r2, 1.0);
    let quarter = u32(i32(n)) & 3u;
    let swapped = select(vec2f(cosine, sine), vec2f(-sine, cosine), (quarter & 1u) != 0u);
    return select(swapped, -swapped, (quarter & 2u) != 0u);
}
