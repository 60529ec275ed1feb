//! How the state of a reduced bristle is transferred to a new map. Twin:
//! `shaders/models/reduced/transfer.wgsl`.
//!
//! Only here: `new`, whose factors the shader finds in its interval.

/// A reduced bristle counts as sticking when its map changes if its size is at most this share of `mu_c`, and
/// at most the break-away share `s_ba` of it.
pub(crate) const STICK_LIMIT: f64 = 0.7;
/// A map that grows raises the size of a sticking bristle to at most this share of `mu_c`, at which the
/// outermost bristles of a grid begin to slip; the rest of its rotation is kept as the residual.
pub(crate) const SHOWN_LIMIT: f64 = 0.65;

/// Where the state `zeta_x`, `zeta_y` of a reduced bristle goes when its centre of pressure does,
/// `docs/model.md` (75a): to that of the same rigid displacement at the new centre. `radius` [m] and
/// `viscous` [m^2] are those of the map before.
pub(crate) fn move_centre(zeta: [f64; 3], [radius, viscous]: [f64; 2], from: [f64; 2], to: [f64; 2]) -> [f64; 3] {
    let turn = if viscous > 0.0 { zeta[2] * radius / viscous } else { 0.0 };
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    [zeta[0] - turn * dy, zeta[1] + turn * dx, zeta[2]]
}

/// How the state of a reduced bristle is transferred to a new map, `docs/model.md` (74) and (75).
///
/// In general the deflection `z_tau = r zeta_3/sigma0` is kept, as published. A bristle of the `consistent`
/// form that sticks keeps the rotation that has bent it, `theta` of `zeta_3 = sigma0 (u/r) theta`, as a grid
/// does that keeps its bristles: it comes back to the same state however the map changed in between, and
/// nothing creeps. What exceeds the limit of a map is kept as a residual until a map can hold it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemapTransfer {
    /// What `zeta_3` is multiplied by to keep the deflection: `r/r'`.
    pub deflection: f64,
    /// What it is multiplied by to keep the rotation: `(u'/r')/(u/r)`; 0 if that is not kept.
    pub rotation: f64,
    /// Whether the new map has extent, so that a rotation deflects the bristle.
    pub has_arm: bool,
}

impl RemapTransfer {
    /// From a map with radius [m] and viscous factor [m^2] `from` to one with `to`; `consistent` bristles
    /// keep their rotation.
    pub fn new(consistent: bool, from: [f64; 2], to: [f64; 2]) -> Self {
        let has_arm = |[r, u]: [f64; 2]| r > 0.0 && u > 0.0;
        // A map without extent keeps the rotation as the arc at a radius of 1 m.
        let arm = |map: [f64; 2]| if has_arm(map) { map[1] / map[0] } else { 1.0 };
        Self {
            deflection: if to[0] > 0.0 { from[0] / to[0] } else { 0.0 },
            rotation: if consistent { arm(to) / arm(from) } else { 0.0 },
            has_arm: has_arm(to),
        }
    }

    /// `zeta_3` and its residual on the new map, from `zeta` and the residual on the old one; `s_ba` is the
    /// break-away share.
    pub fn apply(self, zeta: [f64; 3], residual: f64, mu_c: f64, s_ba: f64) -> [f64; 2] {
        let [x, y, z] = zeta;
        let planar = x * x + y * y;
        let size2 = planar + z * z;
        let limit = STICK_LIMIT.min(s_ba) * mu_c;
        if self.rotation == 0.0 || size2 > limit * limit {
            return [self.deflection * z, 0.0];
        }
        let whole = self.rotation * (z + residual);
        let most = SHOWN_LIMIT.min(s_ba) * mu_c;
        let largest = if self.has_arm { (size2.max(most * most) - planar).sqrt() } else { 0.0 };
        let shown = whole.clamp(-largest, largest);
        [shown, whole - shown]
    }
}
