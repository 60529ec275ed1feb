//! The limit surface of a compound patch: the sum of those of its patches, `docs/model.md` (20f).

use super::quadrature::{Rotations, Rule};
use super::surface::Surface;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};

/// The surfaces of the patches of a compound patch.
#[derive(Clone, Debug)]
pub(super) struct Parts(Vec<Part>);

#[derive(Clone, Debug)]
struct Part {
    surface: Surface,
    share: f64,
    /// From the centre of pressure of the whole to that of this patch [m].
    from: [f64; 2],
    /// Sine and cosine of its turn.
    turn: [f64; 2],
}

impl Parts {
    /// Of a compound patch without a friction map, by a rule.
    pub fn new(patch: &Patch, rule: Rule) -> Self {
        let part = |(k, part): (usize, &crate::patch::Part)| {
            let (share, Some(own)) = patch.part(k) else { return None };
            let at = part.at();
            let [x, y] = part.turned(own.cop());
            let from = [at.x + x - patch.cop()[0], at.y + y - patch.cop()[1]];
            Some(Part { surface: Surface::new(&own, rule), share, from, turn: at.theta.sin_cos().into() })
        };
        Self(patch.parts().iter().enumerate().filter_map(part).collect())
    }

    /// Unit Coulomb wrench [-, -, m] of a twist, both at the centre of pressure of the whole.
    pub fn coulomb(&self, twist: Twist) -> Wrench {
        let of = |part: &Part| {
            let v = twist.at(part.from);
            let [vx, vy] = part.to_own([v.vx, v.vy]);
            part.to_whole(part.surface.coulomb(Twist::new(vx, vy, v.w)).to_array())
        };
        self.0.iter().map(of).fold(Wrench::default(), |sum, w| sum + w)
    }

    /// The wrenches of rotations with w > 0 about centres [m] from the centre of pressure.
    pub fn rotations(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; centres.len()];
        for part in &self.0 {
            let own: Vec<_> = centres.iter().map(|c| part.to_own([c[0] - part.from[0], c[1] - part.from[1]])).collect();
            for (sum, wrench) in sums.iter_mut().zip(part.surface.rotations(&own)) {
                let wrench = part.to_whole(wrench).to_array();
                (0..3).for_each(|i| sum[i] += wrench[i]);
            }
        }
        sums
    }
}

impl Part {
    /// A vector in the axes of this patch.
    fn to_own(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [sin, cos] = self.turn;
        [cos * x + sin * y, cos * y - sin * x]
    }

    /// Its part of the wrench of the whole, from its own at its centre of pressure.
    fn to_whole(&self, [fx, fy, tau]: [f64; 3]) -> Wrench {
        let ([sin, cos], [x, y]) = (self.turn, self.from);
        (Wrench::new(cos * fx - sin * fy, sin * fx + cos * fy, tau) * self.share).about([-x, -y])
    }
}
