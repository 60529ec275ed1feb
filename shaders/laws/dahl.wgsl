// Dahl (1968), with the exponent 1: the bristle of LuGre under a limit that does not depend on the speed.
// Twin: src/solver/laws/dahl.rs.

const DIRECTED = false;
const CUTS = false;

fn law_travel(a_sigma0: f32, speed: Real, along: Real) -> Real {
    return a_sigma0 * speed;
}

fn law_slip(k: Consts, t: Trial) -> Slip {
    let r = 1.0 / (t.g + t.travel);
    // Near rest by what is lost, which is nothing at rest: see the twin.
    let d = select(t.g * r, 1.0 - t.travel * r, t.travel < t.g);
    return Slip(d, r, Real(0.0), Real(0.0));
}

fn law_relaxation(t: Trial, z: Slip) -> Real {
    return t.travel / t.g;
}

fn law_sensitivity(a_sigma0: f32, t: Trial, z: Slip, speed: Real, along: Real) -> Sensitivity {
    let c = z.stiff * z.stiff * a_sigma0;
    return Sensitivity(a_sigma0 * z.d, Real(0.0), -(c * t.g), c * speed);
}

fn law_decay(k: Consts, g: Real, speed: Real, along: Real, size: Real) -> Real {
    return speed / g;
}
