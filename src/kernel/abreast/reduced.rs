//! The bristles of contacts side by side, one in each lane: the equations of [`crate::kernel::reduced`] over
//! the number type.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Abreast, Bits, add3};
use crate::contact::reshapes;
use crate::kernel::bristles::{Bristles, LEAST_REACH, STRAIGHT};
use crate::kernel::friction::{Consts, Stage, motion, ramp, ramp_root};
use crate::kernel::reduced::{ROOT_ITERATIONS, Reduced};
use crate::kernel::three::{Mat3, Vec3};
use crate::limit_surface::Table;
use crate::number::real::{LANES, Real};
use crate::patch::Patch;

/// The bristles and the patches they stand for.
#[derive(Clone, Debug)]
pub struct Reduceds<R: Real> {
    kind: Kind,
    /// States `zeta` [-]; bases of the stages during a step.
    zeta: Vec3<R>,
    /// What `zeta` cannot hold: without it, motion slower than its last bit would leave no trace and creep.
    zeta_low: Vec3<R>,
    /// Where the last root was: the next one is near.
    tau: R,
    /// `|zeta*|` over its limit when they last answered [-].
    loading: R,
    /// States that were kept.
    kept: [Vec3<R>; 2],
    /// Centres of pressure [m].
    cop: [R; 2],
    /// Torsional radii `r` [m].
    radius: R,
    /// Viscous factors `u` [m^2].
    viscous: R,
    /// `u/r^2`; 0 where `r` is 0.
    elastic: R,
    /// Resolutions of the tables, where they start in `tables`, and the ones that are there.
    n_ls: R,
    table: [u32; LANES],
    tables: Vec<R::Scalar>,
    known: HashMap<*const Table, u32>,
    /// Where a lane has room for the tables of maps that change their shape.
    own: [Option<u32>; LANES],
    /// The tables that were made of new maps: contacts that are gripped alike ask for the same ones.
    made: Made,
    /// Friction constants.
    k: Consts<R>,
}

/// Tables that were made in a run, by the viscous factors of their maps.
#[derive(Clone, Debug, Default)]
struct Made {
    tables: HashMap<u64, Arc<Table>>,
    /// What they take [byte].
    memory: usize,
}

/// Memory that tables which were made, and their maps, may take [byte].
const KEPT: usize = 16 << 20;

impl Made {
    /// The table of `patch` by the rule and of the resolution of `like`, if it was made.
    fn of(&self, patch: &Patch, like: &Table) -> Option<Arc<Table>> {
        let made = self.tables.get(&patch.viscous().to_bits())?;
        let same = made.patch() == patch && (made.rule(), made.n_ls()) == (like.rule(), like.n_ls());
        same.then(|| Arc::clone(made))
    }

    fn keep(&mut self, table: &Arc<Table>) {
        let bytes = size_of_val(table.nodes()) + size_of_val(table.patch().weights());
        if self.memory + bytes > KEPT {
            *self = Self::default();
        }
        self.memory += bytes;
        self.tables.insert(table.patch().viscous().to_bits(), Arc::clone(table));
    }
}

/// What the contacts have in common.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Whether they have no table of a limit surface.
    ellipsoid: bool,
    /// Whether their Elasto-Plastic form is the consistent one.
    consistent: bool,
}

/// What a twist decides, whatever the stage; names as in [`crate::kernel::reduced`].
#[derive(Clone, Copy, Debug)]
struct Drive<R> {
    s: R,
    bell: R,
    bell_slope: R,
    e: Vec3<R>,
    v_e: Vec3<R>,
    d: Vec3<R>,
    d_hat: Vec3<R>,
    /// `|D|` and its inverse.
    d_norm: (R, R),
    j: Mat3<R>,
    h: R,
    h_slope: Vec3<R>,
}

/// The bristle at the end of a stage; names as in [`crate::kernel::reduced`].
#[derive(Clone, Copy, Debug)]
struct Bristle<R> {
    /// `zeta*` [-].
    zeta: Vec3<R>,
    /// `zeta* - zeta_b`, without taking the difference.
    step: Vec3<R>,
    y: Vec3<R>,
    l: R,
    x: R,
    b: R,
    b_slope: R,
    d: R,
    /// Consistent form: the root.
    tau: R,
}

impl<R: Real> Reduceds<R> {
    /// Empty lanes for bristles of the law, the form and the kind of surface of `like`.
    pub fn new(like: &Reduced) -> Self {
        let (zero, one, none) = (R::of(0.0), R::of(1.0), Vec3::zero());
        let consistent = like.form.is_elastic(like.k.elasto_plastic);
        Self {
            kind: Kind { ellipsoid: like.table.is_none(), consistent },
            zeta: none,
            zeta_low: none,
            tau: zero,
            loading: zero,
            kept: [none; 2],
            cop: [zero; 2],
            radius: one,
            elastic: one,
            viscous: one,
            n_ls: one,
            table: [0; LANES],
            tables: Vec::new(),
            known: HashMap::new(),
            own: [None; LANES],
            made: Made::default(),
            k: like.k.wide(),
        }
    }
}

impl<R: Real> Abreast<R> for Reduceds<R> {
    type Alone = Reduced;

    fn seat(&mut self, l: usize, alone: &Reduced) {
        self.k.set(l, &alone.k);
        self.tau.set(l, 0.0);
        self.place(l, alone);
        let Some(table) = &alone.table else { return };
        self.n_ls.set(l, table.n_ls() as f64);
        let next = self.tables.len() as u32;
        self.table[l] = *self.known.entry(Arc::as_ptr(table)).or_insert(next);
        if self.table[l] == next {
            self.tables.extend(numbers::<R>(table));
        }
    }

    fn remap(&mut self, l: usize, patch: &Patch, mu_c: f64, alone: &mut Reduced) {
        let before = alone.table.clone();
        if let Some(table) = &mut alone.table
            && reshapes(patch)
            && table.patch() != patch
            && let Some(made) = self.made.of(patch, table)
        {
            *table = made;
        }
        self.state(l, alone);
        alone.remap(patch, mu_c);
        self.place(l, alone);
        let (Some(before), Some(table)) = (before, &alone.table) else { return };
        if Arc::ptr_eq(&before, table) {
            return;
        }
        self.made.keep(table);
        let next = self.tables.len() as u32;
        self.table[l] = *self.own[l].get_or_insert(next);
        if self.table[l] == next {
            self.tables.extend(numbers::<R>(table));
        } else {
            self.tables[self.table[l] as usize..].iter_mut().zip(numbers::<R>(table)).for_each(|(to, h)| *to = h);
        }
    }

    fn leave(&mut self, l: usize) {
        self.zeta.set(l, [0.0; 3]);
    }

    fn state(&self, l: usize, alone: &mut Reduced) {
        let (high, low) = (self.zeta.lane(l), self.zeta_low.lane(l));
        alone.zeta = [0, 1, 2].map(|i| high[i] + low[i]).into();
    }

    fn cop(&self) -> [R; 2] {
        self.cop
    }

    #[inline(always)]
    fn sweep(
        &mut self,
        v: Vec3<R>,
        (done, finishing): (&Stage<R>, Bits),
        (st, answering): (&Stage<R>, Bits),
    ) -> (Vec3<R>, Mat3<R>) {
        let one = R::of(1.0);
        let drive = self.drive(v);
        let finishing = R::mask(finishing);
        let z = self.bristle(done, &drive, finishing);
        let (high, low) = add3(self.zeta, self.zeta_low, z.step * done.pull);
        self.zeta = Vec3::select(finishing, high, self.zeta);
        self.zeta_low = Vec3::select(finishing, low, self.zeta_low);
        self.tau = R::select(finishing, z.tau, self.tau);
        let answering = R::mask(answering);
        let z = self.bristle(st, &drive, answering);
        self.tau = R::select(answering, z.tau, self.tau);
        self.loading = z.x;
        let scale = Vec3::new(one, one, self.radius);
        let viscous = Vec3::new(self.k.sigma2, self.k.sigma2, self.k.sigma2 * self.viscous);
        let resist = z.zeta.plus(st.damping, z.step).times(scale) + viscous.times(v);
        let gain = self.sensitivity(st, &drive, &z).between(scale, scale) * (one + st.damping);
        (resist, gain.plus_diagonal(viscous))
    }

    #[inline(always)]
    fn reach(&self, v: Vec3<R>) -> R {
        if self.kind.ellipsoid || !self.k.elasto_plastic {
            return R::of(f64::from(f32::MAX));
        }
        let (s, _) = Vec3::new(v.x, v.y, self.radius * v.z).norm();
        (R::of(STRAIGHT) * s).max(R::of(LEAST_REACH))
    }

    #[inline(always)]
    fn loading(&self) -> R {
        self.loading
    }

    #[inline(always)]
    fn keep(&mut self, who: R::Mask) {
        self.kept = [Vec3::select(who, self.zeta, self.kept[0]), Vec3::select(who, self.zeta_low, self.kept[1])];
    }

    #[inline(always)]
    fn restore(&mut self, who: R::Mask) {
        self.zeta = Vec3::select(who, self.kept[0], self.zeta);
        self.zeta_low = Vec3::select(who, self.kept[1], self.zeta_low);
    }

    /// At the centres of pressure.
    #[inline(always)]
    fn moved(&self) -> Vec3<R> {
        let (one, [high, low]) = (R::of(1.0), self.kept);
        ((self.zeta - high) + (self.zeta_low - low)).times(Vec3::new(one, one, self.radius))
    }
}

impl<R: Real> Reduceds<R> {
    /// Puts a bristle and what its patch is into lane `l`.
    fn place(&mut self, l: usize, alone: &Reduced) {
        self.zeta.set(l, alone.zeta.into());
        // What the numbers of the lanes have rounded off.
        let rounded = self.zeta.lane(l);
        self.zeta_low.set(l, [0, 1, 2].map(|i| alone.zeta[i] - rounded[i]));
        self.cop[0].set(l, alone.cop[0]);
        self.cop[1].set(l, alone.cop[1]);
        let r = alone.radius;
        self.radius.set(l, r);
        self.viscous.set(l, alone.viscous);
        self.elastic.set(l, if r > 0.0 { alone.viscous / (r * r) } else { 0.0 });
    }

    /// What twists `v` at the centres of pressure decide.
    #[inline(always)]
    fn drive(&self, v: Vec3<R>) -> Drive<R> {
        let (zero, one) = (R::of(0.0), R::of(1.0));
        let v_s = Vec3::new(v.x, v.y, self.radius * v.z);
        let (s, inv_s) = v_s.norm();
        let m = motion(&self.k, s, zero);
        let e = v_s * inv_s;
        let v_e = Vec3::new(v.x, v.y, self.elastic * v_s.z);
        let identity = Mat3::diagonal(Vec3::new(one, one, one));
        let still = Drive {
            s,
            bell: m.bell,
            bell_slope: m.bell_slope,
            e,
            v_e,
            d: v_s,
            d_hat: e,
            d_norm: (s, inv_s),
            j: identity,
            h: one,
            h_slope: Vec3::zero(),
        };
        if self.kind.ellipsoid {
            return still;
        }
        let vt2 = v.x.fma(v.x, v.y * v.y);
        let tiny = R::of(R::TINY);
        let inv_vt = (vt2 + tiny).rsqrt();
        let look = self.look_up(v_s, vt2 * inv_vt);
        let (h, inv_h) = look.h.norm();
        let moves = tiny.lt(v_s.dot(v_s));
        let d_hat = -(look.h * inv_h);
        // s dphi/dv_S and s dtheta/dv_S. In this order no square of a small speed underflows.
        let (ex, ey) = (v.x * inv_vt, v.y * inv_vt);
        let (away, up) = (look.z * inv_s, vt2 * inv_vt * inv_s);
        let dphi = Vec3::new(away * ex, away * ey, -(look.sign * up));
        let far = s * inv_vt;
        let dtheta = Vec3::new(-(far * ey), far * ex, zero);
        let j = Mat3::diagonal(Vec3::zero())
            .plus_outer(-look.h, e)
            .plus_outer(-look.h_phi, dphi)
            .plus_outer(-look.h_theta, dtheta);
        let turns = tiny.lt(vt2);
        let h_slope = (j.turned(d_hat) - e * h) * inv_s;
        Drive {
            d: Vec3::select(moves, -(look.h * s), v_s),
            d_hat: Vec3::select(moves, d_hat, e),
            d_norm: (R::select(moves, s * h, s), R::select(moves, inv_s * inv_h, inv_s)),
            j: Mat3::select(turns, j, identity),
            h: R::select(moves, h, one),
            h_slope: Vec3::select(turns, h_slope, Vec3::zero()),
            ..still
        }
    }

    /// The bristles at the end of stage `st`; `live` says which lanes matter.
    #[inline(always)]
    fn bristle(&self, st: &Stage<R>, m: &Drive<R>, live: R::Mask) -> Bristle<R> {
        let (zero, one, half) = (R::of(0.0), R::of(1.0), R::of(0.5));
        let k = &self.k;
        let inv_g = st.mu_d.fma(m.bell, st.mu_c).recip();
        let inv_big_g = inv_g * m.h.recip();
        let push = m.d * st.a_sigma0;
        let y = self.zeta + push;
        if !k.elasto_plastic {
            let l = st.a_sigma0 * m.s * inv_g;
            let d = (one + l).recip();
            let (zeta, step) = (y * d, push.plus(-l, self.zeta) * d);
            return Bristle { zeta, step, y, l, x: zeta.norm().0 * inv_big_g, b: one, b_slope: zero, d, tau: zero };
        }
        if !self.kind.consistent {
            let (len, inv_len) = y.norm();
            let along = m.d_norm.0 + m.d.dot(y) * inv_len;
            let l = (st.a_sigma0 * half * along * inv_big_g).max(zero);
            let ratio = len * inv_big_g;
            let stretched = one + l;
            let (plastic, below) = (k.s_ba.lt(ratio), ratio.lt(stretched));
            let on_ramp = R::and(R::and(plastic, below), live);
            let mut x = R::select(below, ratio, ratio * stretched.recip());
            let mut b = R::select(below, zero, one);
            let mut b_slope = zero;
            if R::any(on_ramp) {
                let root = ramp_root(k, ratio, l).end(k);
                x = R::select(on_ramp, root[0], x);
                b = R::select(on_ramp, root[1], b);
                b_slope = R::select(on_ramp, root[2], b_slope);
            }
            let d = l.fma(b, one).recip();
            let step = push.plus(-(l * b), self.zeta) * d;
            return Bristle { zeta: y * d, step, y, l, x, b, b_slope, d, tau: zero };
        }
        let q = st.a_sigma0 * m.s * inv_g;
        let pull = m.v_e * st.a_sigma0;
        let z0 = self.zeta + pull;
        let slide = (one + q).recip();
        let z1 = y * slide;
        let tau = self.consistent_root(m, inv_big_g, q, z0, z1, live);
        let rest = one - tau;
        let zeta = Vec3::select(tau.lt(one), z1.plus(tau, z0 - z1), z0);
        let share = rest * q.fma(tau, one).recip();
        let (len, _) = zeta.norm();
        let x = len * inv_big_g;
        let (b, b_slope) = ramp(k, x);
        let step = (pull * tau).plus(rest * slide, push.plus(-q, self.zeta));
        let d = share.fma(q, one).recip();
        Bristle { zeta, step, y: Vec3::new(b, zero, zero), l: q, x, b: share, b_slope, d, tau }
    }

    /// The root of `F(tau)`, as [`Reduced`] finds it, but from where the last one was; lanes that have theirs
    /// wait for the others.
    #[inline(always)]
    fn consistent_root(&self, m: &Drive<R>, inv_big_g: R, q: R, z0: Vec3<R>, z1: Vec3<R>, live: R::Mask) -> R {
        let (zero, one, half) = (R::of(0.0), R::of(1.0), R::of(0.5));
        let k = &self.k;
        let slips = R::and(k.s_ba.lt(z0.norm().0 * inv_big_g), live);
        // A root of 0 is one only if `F` is not above 0 there, which is looked at when the search leaves on
        // that side.
        let mut tau = R::select(slips, self.tau.min(one), one);
        let mut active = R::bits(slips);
        let (mut low, mut high, mut last) = (zero, one, one);
        let way = z0 - z1;
        let minus = -(one + q);
        for _ in 0..ROOT_ITERATIONS {
            if active == 0 {
                break;
            }
            let z = z1.plus(tau, way);
            let (len, inv) = z.norm();
            let (b, b_slope) = ramp(k, len * inv_big_g);
            let along = z.dot(way) * inv;
            let c = m.d_hat.dot(z) * inv;
            let (half_b, more) = (half * b, one + c);
            let r = q.fma(tau, one).recip();
            let f = (one - tau).fma(r, -(half_b * more));
            let turn = (m.d_hat.dot(way) - c * along) * inv;
            let slope = (minus * r * r) - (half * b_slope * along * inv_big_g).fma(more, half_b * turn);
            let above = zero.lt(f);
            let goes_on = R::bits(zero.lt(tau)) | R::bits(above);
            low = R::select(above, tau, low);
            high = R::select(above, high, tau);
            let change = -(f * slope.recip_rough());
            let newton = tau + change;
            let size = change.max(-change);
            // A step that rounds to none stays on a bound.
            let outside = R::bits(newton.lt(low)) | R::bits(high.lt(newton));
            let good = R::mask(!outside & R::bits(size.lt(R::of(0.500_001) * last)));
            let next = R::select(good, newton, half * (low + high));
            let below = R::and(newton.lt(R::of(R::TINY)), low.lt(R::of(R::TINY)));
            let next = R::select(R::and(below, zero.lt(tau)), zero, next);
            let change = next - tau;
            last = change.max(-change);
            // At tau = 0 and f <= 0 it slides: that is the root.
            tau = R::select(R::mask(active & goes_on), next, tau);
            let near = f.max(-f).lt(R::of(R::ROOT_RESIDUAL));
            active &= goes_on & !R::bits(R::and(good, near));
        }
        tau
    }

    /// `d zeta*/dv_S` [s/m].
    #[inline(always)]
    fn sensitivity(&self, st: &Stage<R>, m: &Drive<R>, z: &Bristle<R>) -> Mat3<R> {
        let (one, half) = (R::of(1.0), R::of(0.5));
        let g = st.mu_d.fma(m.bell, st.mu_c);
        let inv_g = g.recip();
        let g_slope = st.chi * st.mu_d * m.bell_slope;
        let a = st.a_sigma0;
        // d(a sigma0 s/g)/dv_S
        let dq = m.e * (a * inv_g * (-(m.s * g_slope)).fma(inv_g, one));
        if !self.k.elasto_plastic {
            return (m.j * a).plus_outer(-z.zeta, dq) * z.d;
        }
        let inv_big_g = inv_g * m.h.recip();
        let d_big_g = (m.h_slope * g).plus(m.h * g_slope, m.e);
        if !self.kind.consistent {
            let (_, inv_len) = z.y.norm();
            let n = z.y * inv_len;
            let across = m.d.plus(-m.d.dot(n), n) * inv_len;
            let deps = m.j.turned((m.d_hat + n).plus(a, across)) * half;
            let steep = z.l * z.x.fma(z.b_slope, z.b);
            let turned = m.j.turned(n);
            // d(G x)/dv_S: G dx + x dG, with what cancels in it taken out.
            let row = (turned.plus(-(z.x * z.b), deps) * a).plus(z.x * steep, d_big_g) * (one + steep).recip();
            return (m.j * (a * z.d)).plus_outer(n, row.plus(-(a * z.d), turned));
        }
        let (share, q, b, b_slope) = (z.b, z.l, z.y.x, z.b_slope);
        let elastic = a * z.d * (one - share);
        let direct = (m.j * (a * z.d * share))
            .plus_diagonal(Vec3::new(elastic, elastic, elastic * self.elastic))
            .plus_outer(-(z.zeta * (z.d * share)), dq);
        let p = ((m.d - m.v_e) * a).plus(-q, z.zeta) * z.d;
        let (_, inv_len) = z.zeta.norm();
        let z_hat = z.zeta * inv_len;
        let c = m.d_hat.dot(z_hat);
        let turn = m.d_hat.plus(-c, z_hat) * inv_len;
        let (by_x, by_c) = (half * b_slope * (one + c) * inv_big_g, half * b);
        let hb = (-by_x).fma(z_hat.dot(p), (-by_c).fma(turn.dot(p), one));
        let turn_d = z_hat.plus(-c, m.d_hat) * m.d_norm.1;
        let hv = direct.turned((z_hat * by_x).plus(by_c, turn)).plus(-(by_x * z.x), d_big_g);
        let hv = hv.plus(by_c, m.j.turned(turn_d));
        direct.plus_outer(p * hb.recip(), hv)
    }

    /// The look-up at `v_S`, whose translation is `vt` fast, `docs/model.md` (103); anything at 0.
    #[inline(always)]
    fn look_up(&self, v_s: Vec3<R>, vt: R) -> LookUp<R> {
        use std::f64::consts::{FRAC_2_PI, PI, TAU};
        let (zero, one) = (R::of(0.0), R::of(1.0));
        let below = v_s.z.lt(zero);
        let sign = R::select(below, -one, one);
        let z = sign * v_s.z;
        let phi = angle(vt, z);
        // theta of the twist, or of its opposite below, in [0, 2 pi).
        let (wx, wy) = (sign * v_s.x, sign * v_s.y);
        let theta = angle(wy.max(-wy), wx.max(-wx));
        let theta = R::select(wx.lt(zero), R::of(PI) - theta, theta);
        let theta = R::select(wy.lt(zero), R::of(TAU) - theta, theta);
        let n = self.n_ls;
        let (p, q) = (theta * R::of(FRAC_2_PI) * n, phi * R::of(FRAC_2_PI) * n);
        let i = p.floor().min(R::of(4.0) * n - one);
        let j = q.floor().min(n - one);
        let (s, t) = (p - i, q - j);
        let row = n + one;
        let mut at = [0; LANES];
        (R::of(3.0) * i.fma(row, j)).add_to_indices(&self.table, &mut at);
        let mut next = [0; LANES];
        (R::of(3.0) * row).add_to_indices(&at, &mut next);
        let (s_rest, t_rest) = (one - s, one - t);
        let per_step = sign * R::of(FRAC_2_PI) * n;
        let (mut h, mut h_phi, mut h_theta) = ([zero; 3], [zero; 3], [zero; 3]);
        for k in 0..3 {
            let (aa, ab) = (R::gather(&self.tables, &at, k), R::gather(&self.tables, &at, k + 3));
            let (ba, bb) = (R::gather(&self.tables, &next, k), R::gather(&self.tables, &next, k + 3));
            h[k] = sign * s_rest.fma(t_rest.fma(aa, t * ab), s * t_rest.fma(ba, t * bb));
            h_phi[k] = per_step * s_rest.fma(ab - aa, s * (bb - ba));
            h_theta[k] = per_step * t_rest.fma(ba - aa, t * (bb - ab));
        }
        LookUp { h: Vec3::from(h), h_phi: Vec3::from(h_phi), h_theta: Vec3::from(h_theta), sign, z }
    }
}

/// All numbers of a table.
fn numbers<R: Real>(table: &Table) -> impl Iterator<Item = R::Scalar> {
    table.nodes().as_flattened().iter().map(|h| R::Scalar::of(*h))
}

/// A look-up of the table and how it changes with the table's angles.
struct LookUp<R> {
    h: Vec3<R>,
    h_phi: Vec3<R>,
    h_theta: Vec3<R>,
    /// The sign of the rotation, and `|r w|` [m/s].
    sign: R,
    z: R,
}

/// `atan(y/x)` for x, y >= 0; 0 at 0.
#[inline(always)]
fn angle<R: Real>(y: R, x: R) -> R {
    let (small, large) = (x.min(y), x.max(y));
    let a = (small / large.max(R::of(R::TINY))).atan();
    R::select(x.lt(y), R::of(std::f64::consts::FRAC_PI_2) - a, a)
}
