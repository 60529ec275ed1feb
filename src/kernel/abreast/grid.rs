//! Small grids side by side, one in each lane: [`crate::kernel::distributed`] with cell `i` of every contact
//! in a group.

use super::{Abreast, Bits};
use crate::kernel::distributed::{Groups, Scratch, sweep_groups};
use crate::kernel::friction::{Consts, Stage};
use crate::kernel::grid::Grid;
use crate::kernel::three::{Mat3, Vec3};
use crate::number::real::Real;

/// Groups that are swept at a time, at most: what their loops leave for each other stays in the nearest
/// cache.
const TOGETHER: usize = 24;

/// The cells of the contacts, those of fewer cells filled up with cells that carry no pressure.
#[derive(Clone, Debug)]
pub struct Grids<R: Real> {
    x: Vec<R>,
    y: Vec<R>,
    w: Vec<R>,
    zx: Vec<R>,
    zy: Vec<R>,
    /// States that were kept.
    kept: (Vec<R>, Vec<R>),
    k: Consts<R>,
    scratch: Scratch<R>,
}

impl<R: Real> Grids<R> {
    /// Empty lanes for grids of at most `cells` under the law of `k`.
    pub fn new(cells: usize, k: &Consts<f64>) -> Self {
        let none = vec![R::of(0.0); cells];
        Self {
            x: none.clone(),
            y: none.clone(),
            w: none.clone(),
            zx: none.clone(),
            zy: none.clone(),
            kept: (none.clone(), none),
            k: k.wide(),
            scratch: Scratch::new(TOGETHER.min(cells), true),
        }
    }
}

impl<R: Real> Abreast<R> for Grids<R> {
    type Alone = Grid<f64>;

    fn seat(&mut self, l: usize, alone: &Grid<f64>) {
        self.k.set(l, &alone.k);
        for (i, ([x, y, w], [zx, zy])) in alone.cells.places().zip(alone.cells.bases()).enumerate() {
            self.x[i].set(l, x);
            self.y[i].set(l, y);
            self.w[i].set(l, w);
            self.zx[i].set(l, zx);
            self.zy[i].set(l, zy);
        }
    }

    fn leave(&mut self, l: usize) {
        for i in 0..self.w.len() {
            for of in [&mut self.x, &mut self.y, &mut self.w, &mut self.zx, &mut self.zy] {
                of[i].set(l, 0.0);
            }
        }
    }

    fn state(&self, l: usize, alone: &mut Grid<f64>) {
        let (zx, zy) = (&self.zx, &self.zy);
        alone.cells.bases_mut().enumerate().for_each(|(i, [x, y])| (*x, *y) = (zx[i].lane(l), zy[i].lane(l)));
    }

    fn cop(&self) -> [R; 2] {
        [R::of(0.0); 2]
    }

    #[inline(always)]
    fn sweep(
        &mut self,
        v: Vec3<R>,
        (done, finishing): (&Stage<R>, Bits),
        (st, answering): (&Stage<R>, Bits),
    ) -> (Vec3<R>, Mat3<R>) {
        let zero = R::of(0.0);
        // A base that is not pulled stays where it is.
        let done = Stage { pull: R::select(R::mask(finishing), done.pull, zero), ..*done };
        let stages = [(finishing != 0).then_some(&done), (answering != 0).then_some(st)];
        let mut s = [zero; 12];
        let n = self.w.len();
        let together = n.div_ceil(n.div_ceil(TOGETHER));
        let mut start = 0;
        while start < n {
            let end = n.min(start + together);
            let groups = Groups {
                x: &self.x[start..end],
                y: &self.y[start..end],
                w: &self.w[start..end],
                zx: &mut self.zx[start..end],
                zy: &mut self.zy[start..end],
            };
            sweep_groups(groups, &mut self.scratch, &self.k, [v.x, v.y, v.z], stages, &mut s);
            start = end;
        }
        let gain = Mat3::new(Vec3::new(s[3], s[4], s[5]), Vec3::new(s[6], s[7], s[8]), Vec3::new(s[9], s[10], s[11]));
        (Vec3::new(s[0], s[1], s[2]), gain)
    }

    #[inline(always)]
    fn reach(&self, _: Vec3<R>) -> R {
        R::of(f64::from(f32::MAX))
    }

    #[inline(always)]
    fn keep(&mut self, who: R::Mask) {
        for i in 0..self.w.len() {
            self.kept.0[i] = R::select(who, self.zx[i], self.kept.0[i]);
            self.kept.1[i] = R::select(who, self.zy[i], self.kept.1[i]);
        }
    }

    #[inline(always)]
    fn restore(&mut self, who: R::Mask) {
        for i in 0..self.w.len() {
            self.zx[i] = R::select(who, self.kept.0[i], self.zx[i]);
            self.zy[i] = R::select(who, self.kept.1[i], self.zy[i]);
        }
    }

    #[inline(always)]
    fn moved(&self) -> Vec3<R> {
        let mut s = Vec3::zero();
        for i in 0..self.w.len() {
            let (fx, fy) = (self.w[i] * (self.zx[i] - self.kept.0[i]), self.w[i] * (self.zy[i] - self.kept.1[i]));
            s.x += fx;
            s.y += fy;
            s.z = self.x[i].fma(fy, s.z - self.y[i] * fx);
        }
        s
    }
}
