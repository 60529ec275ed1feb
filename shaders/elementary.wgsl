// Elementary functions of a Real.
//
// The polynomials of src/number/real.rs, split into even and odd powers: two short chains of operations,
// which overlap, in place of a long one.

// e^x for -80 <= x <= 0: relative error below (1 + |x|) 2e-7.
fn exp_negative(x: Real) -> Real {
    let k = round(x * LOG2_E);
    let r = fma(-k, Real(LN_2), x);
    let r2 = r * r;
    let even = fma(fma(fma(Real(1.0 / 720.0), r2, Real(1.0 / 24.0)), r2, Real(1.0 / 2.0)), r2, Real(1.0));
    let odd = fma(fma(Real(1.0 / 120.0), r2, Real(1.0 / 6.0)), r2, Real(1.0));
    return bitcast<Real>((Int(k) + 127) << Uint(23u)) * fma(odd, r, even);
}

// sin t for |t| <= pi/2: within 2e-7.
fn sine(t: Real) -> Real {
    let t2 = t * t;
    let t4 = t2 * t2;
    let even = fma(fma(Real(1.0 / 362880.0), t4, Real(1.0 / 120.0)), t4, Real(1.0));
    let odd = fma(fma(Real(1.0 / 39916800.0), t4, Real(1.0 / 5040.0)), t4, Real(1.0 / 6.0));
    return t * fma(-t2, odd, even);
}

// cos t for |t| <= pi/2: within 7e-7.
fn cosine(t: Real) -> Real {
    let t2 = t * t;
    let t4 = t2 * t2;
    let even = fma(fma(Real(1.0 / 40320.0), t4, Real(1.0 / 24.0)), t4, Real(1.0));
    let odd = fma(fma(Real(1.0 / 3628800.0), t4, Real(1.0 / 720.0)), t4, Real(1.0 / 2.0));
    return fma(-t2, odd, even);
}

