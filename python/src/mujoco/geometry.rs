//! What positions move beyond the twists `J v`, which are of first order in the step: hands on arcs, bodies
//! that the user moves. Left out, an object in a hand that swings would creep by half of `r w^2 dt` a second.

use super::Pad;
use super::abi::Handle;

/// Share of the displacement by which patches and geometry differ that one step takes back.
const FEEDBACK: f64 = 0.5;

#[derive(Clone, Default)]
pub struct Geometry {
    /// Site and object of each pad at the start of the last step: positions, and axes by rows.
    poses: Vec<[f64; 24]>,
    /// Positions at the end of the last step.
    end: Vec<f64>,
    /// Displacements `dt J v` of the last step, given beyond them, and by which the patches are behind.
    moved: Vec<f64>,
    given: Vec<f64>,
    behind: Vec<f64>,
}

impl Geometry {
    /// Twists that the patches are to be given beyond `J v` in this step \[m/s, rad/s\]: that of the step
    /// before, and a share of what they are behind. None if the user has put bodies elsewhere.
    pub fn offset(&mut self, mujoco: &Handle<'_>, pads: &[Pad], dt: f64) -> Vec<f64> {
        let poses: Vec<_> = pads.iter().map(|pad| mujoco.pose(pad.site, pad.object)).collect();
        let old = std::mem::replace(&mut self.poses, poses);
        if old.is_empty() || self.end != mujoco.position() {
            self.given = vec![0.0; 3 * pads.len()];
            self.behind = vec![0.0; 3 * pads.len()];
        } else {
            for (k, (old, new)) in old.iter().zip(&self.poses).enumerate() {
                for (i, moved) in (3 * k..).zip(displacement(old, new)) {
                    let beyond = moved - self.moved[i];
                    self.behind[i] += beyond - self.given[i];
                    self.given[i] = beyond + FEEDBACK * self.behind[i];
                }
            }
        }
        self.given.iter().map(|v| v / dt).collect()
    }

    /// Notes the end of a step, in which `J v` was `twists`.
    pub fn note(&mut self, position: &[f64], twists: &[f64], dt: f64) {
        self.end.clear();
        self.end.extend_from_slice(position);
        self.moved.clear();
        self.moved.extend(twists.iter().map(|v| v * dt));
    }
}

/// Displacement of the object's point at the old site against the site, in its axes \[m, m, rad\].
fn displacement(old: &[f64; 24], new: &[f64; 24]) -> [f64; 3] {
    let (site, axes, body, turned) = (&old[..3], &old[3..12], &old[12..15], &old[15..]);
    let (site1, axes1, body1, turned1) = (&new[..3], &new[3..12], &new[12..15], &new[15..]);
    let inside = back(turned, [0, 1, 2].map(|i| site[i] - body[i]));
    let out = forth(turned1, inside);
    let shift = back(axes1, [0, 1, 2].map(|i| body1[i] + out[i] - site1[i]));
    // The object's turn against the site takes the site's old axes x and y to these.
    let turn = |axis: usize| {
        let column = [axes[axis], axes[3 + axis], axes[6 + axis]];
        back(axes1, forth(turned1, back(turned, column)))
    };
    [shift[0], shift[1], 0.5 * (turn(0)[1] - turn(1)[0])]
}

fn forth(m: &[f64], v: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2])
}

fn back(m: &[f64], v: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| m[i] * v[0] + m[3 + i] * v[1] + m[6 + i] * v[2])
}
