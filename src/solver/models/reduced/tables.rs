//! The tables of limit surfaces of the contacts in the lanes, and the look-up in all lanes at once. It is no
//! twin of `shaders/models/reduced/tables.wgsl`, which has the look-up of one contact.

use std::collections::HashMap;
use std::sync::Arc;

use crate::limit_surface::Table;
use crate::number::real::{LANES, Real};
use crate::patch::Patch;
use crate::solver::linalg::Vec3;

/// The tables of the lanes, one after the other in one array.
pub struct Tables<R: Real> {
    /// Resolutions.
    n_ls: R,
    /// Where the table of a lane starts.
    start: [u32; LANES],
    /// Those of the table itself as long as there is one only, which all solvers share then: thousands of
    /// contacts with a copy for each solver would wait for it in every call.
    nodes: Arc<Vec<R::Scalar>>,
    /// Tables that contacts share, and where they start.
    shared: Vec<(Arc<Table>, u32)>,
    /// Where a lane's own memory starts, for the table of a map that changes its shape.
    own: R::Each<Option<u32>>,
    /// Tables made for new maps; contacts under the same normal force need the same ones.
    made: TableCache,
}

impl<R: Real> Tables<R> {
    /// No tables.
    pub fn new() -> Self {
        Self {
            n_ls: R::splat(1.0),
            start: [0; LANES],
            nodes: Arc::default(),
            shared: Vec::new(),
            own: R::each(None::<u32>),
            made: TableCache::default(),
        }
    }

    /// The table of a contact that is put into a lane.
    pub fn load(&mut self, lane: usize, table: &Arc<Table>) {
        self.n_ls.set(lane, table.n_ls() as f64);
        let known = self.shared.iter().find(|(shared, _)| Arc::ptr_eq(shared, table));
        self.start[lane] = known.map_or_else(|| self.nodes.len() as u32, |(_, start)| *start);
        if known.is_none() {
            self.shared.push((Arc::clone(table), self.start[lane]));
            // Derivatives of one contact at a time have a copy of their own, which is nine times as large.
            if self.nodes.is_empty() && !R::HAS_TANGENTS {
                self.nodes = table.nodes_in();
            } else {
                Arc::make_mut(&mut self.nodes).extend(numbers::<R>(table));
            }
        }
    }

    /// Makes the table of a new map of a lane, by the rule and with the resolution of `like`.
    pub fn remap(&mut self, lane: usize, patch: &Patch, like: &Table) -> Arc<Table> {
        let single = size_of::<R::Scalar>() == size_of::<f32>();
        let table = self.made.get(patch, like).unwrap_or_else(|| {
            let make = if single { Table::single } else { Table::new };
            let table = Arc::new(make(patch, like.rule(), like.n_ls()).expect("the resolution was checked before"));
            self.made.insert(&table);
            table
        });
        let next = self.nodes.len() as u32;
        let start = *self.own[lane].get_or_insert(next);
        self.start[lane] = start;
        let nodes = Arc::make_mut(&mut self.nodes);
        if start == next {
            nodes.extend(numbers::<R>(&table));
        } else {
            nodes[start as usize..].iter_mut().zip(numbers::<R>(&table)).for_each(|(to, h)| *to = h);
        }
        table
    }

    /// The look-up at `v_S` whose translation has the speed `vt`, `docs/model.md` (103); its result has no
    /// meaning where `v_S` is 0.
    #[inline(always)]
    pub fn look_up(&self, v_s: Vec3<R>, vt: R) -> LookUp<R> {
        use std::f64::consts::{FRAC_2_PI, PI, TAU};
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let below = v_s.z.lt(zero);
        let sign = R::select(below, -one, one);
        let z = sign * v_s.z;
        let phi = angle(vt, z);
        // theta in [0, 2 pi) of the twist, or of the opposite twist if the rotation is negative.
        let (wx, wy) = (sign * v_s.x, sign * v_s.y);
        let theta = angle(wy.max(-wy), wx.max(-wx));
        let theta = R::select(wx.lt(zero), R::splat(PI) - theta, theta);
        let theta = R::select(wy.lt(zero), R::splat(TAU) - theta, theta);
        let n = self.n_ls;
        let (p, q) = (theta * R::splat(FRAC_2_PI) * n, phi * R::splat(FRAC_2_PI) * n);
        let i = p.floor().min(R::splat(4.0) * n - one);
        let j = q.floor().min(n - one);
        let (s, t) = (p - i, q - j);
        let row = n + one;
        let mut at = [0; LANES];
        (R::splat(3.0) * i.fma(row, j)).add_to_indices(&self.start, &mut at);
        let mut next = [0; LANES];
        (R::splat(3.0) * row).add_to_indices(&at, &mut next);
        let (s_rest, t_rest) = (one - s, one - t);
        let per_step = sign * R::splat(FRAC_2_PI) * n;
        let (mut h, mut h_phi, mut h_theta) = ([zero; 3], [zero; 3], [zero; 3]);
        let nodes = self.nodes.as_slice();
        for k in 0..3 {
            let (aa, ab) = (R::gather(nodes, &at, k), R::gather(nodes, &at, k + 3));
            let (ba, bb) = (R::gather(nodes, &next, k), R::gather(nodes, &next, k + 3));
            h[k] = sign * s_rest.fma(t_rest.fma(aa, t * ab), s * t_rest.fma(ba, t * bb));
            h_phi[k] = per_step * s_rest.fma(ab - aa, s * (bb - ba));
            h_theta[k] = per_step * t_rest.fma(ba - aa, t * (bb - ab));
        }
        LookUp { h: Vec3::from(h), h_phi: Vec3::from(h_phi), h_theta: Vec3::from(h_theta), sign, z }
    }

    /// `|r w| dh/dvx` and `|r w| dh/dvy` in pure rotation of either sign. `h` has a kink there: each is the
    /// mean of both sides.
    #[inline(always)]
    pub fn about_rotation(&self) -> [Vec3<R>; 2] {
        let (n, one) = (self.n_ls, R::splat(1.0));
        let per_step = R::splat(std::f64::consts::FRAC_1_PI) * n;
        // Next to the node of pure rotation, which all `theta` share.
        let node = |quarters: f64| {
            let mut at = [0; LANES];
            let i = R::splat(quarters) * n;
            (R::splat(3.0) * i.fma(n + one, one)).add_to_indices(&self.start, &mut at);
            Vec3::from([0, 1, 2].map(|k| R::gather(self.nodes.as_slice(), &at, k)))
        };
        [0.0, 1.0].map(|quarters| (node(quarters) - node(quarters + 2.0)) * per_step)
    }
}

/// All numbers of a table.
fn numbers<R: Real>(table: &Table) -> impl Iterator<Item = R::Scalar> {
    table.nodes().as_flattened().iter().map(|h| R::Scalar::splat(*h))
}

/// Tables that were made for maps of contacts, by the viscous factors of the maps.
#[derive(Clone, Debug, Default)]
struct TableCache {
    tables: HashMap<u64, Arc<Table>>,
    /// Their memory [byte].
    memory: usize,
}

/// Memory that cached tables and their maps may take [byte]; beyond it the cache is emptied.
const MOST_BYTES: usize = 16 << 20;

impl TableCache {
    /// The cached table of `patch` by the rule and with the resolution of `like`, if there is one.
    fn get(&self, patch: &Patch, like: &Table) -> Option<Arc<Table>> {
        let made = self.tables.get(&patch.viscous().to_bits())?;
        let same = made.patch() == patch && (made.rule(), made.n_ls()) == (like.rule(), like.n_ls());
        same.then(|| Arc::clone(made))
    }

    fn insert(&mut self, table: &Arc<Table>) {
        let bytes = size_of_val(table.nodes()) + size_of_val(table.patch().weights());
        if self.memory + bytes > MOST_BYTES {
            *self = Self::default();
        }
        self.memory += bytes;
        self.tables.insert(table.patch().viscous().to_bits(), Arc::clone(table));
    }
}

/// A look-up of the table and how it changes with the table's angles.
pub struct LookUp<R> {
    /// `h` [-].
    pub h: Vec3<R>,
    /// `dh/dphi`.
    pub h_phi: Vec3<R>,
    /// `dh/dtheta`.
    pub h_theta: Vec3<R>,
    /// The sign of the rotation.
    pub sign: R,
    /// `|r w|` [m/s].
    pub z: R,
}

/// `atan(y/x)` for x, y >= 0; 0 where both are 0.
#[inline(always)]
fn angle<R: Real>(y: R, x: R) -> R {
    let (small, large) = (x.min(y), x.max(y));
    let a = (small / large.max(R::splat(R::TINY))).atan();
    R::select(x.lt(y), R::splat(std::f64::consts::FRAC_PI_2) - a, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::disc;
    use crate::limit_surface::Rule;
    use crate::patch::{Grid, Shape};

    fn found<R: Real>(tables: &Tables<R>, lane: usize) -> [f64; 3] {
        let of = |v: f64| R::splat(v);
        let LookUp { h, .. } = tables.look_up(Vec3::new(of(0.3), of(-0.2), of(0.1)), of(0.13f64.sqrt()));
        [h.x.lane(lane), h.y.lane(lane), h.z.lane(lane)]
    }

    fn tables_are_shared_until_a_lane_has_its_own<R: Real>() {
        let table = |patch: &Patch| Arc::new(Table::new(patch, Rule::Cells, 5).unwrap());
        let (shared, other) = (table(&disc(5)), table(&disc(9)));
        let [mut one, mut two] = [Tables::<R>::new(), Tables::<R>::new()];
        for lane in 0..R::LANES {
            one.load(lane, &shared);
            two.load(lane, &shared);
        }
        assert!(Arc::ptr_eq(&one.nodes, &two.nodes), "each solver has a copy");
        let before = found(&one, 0);
        // Another one is put behind it, in a copy.
        two.load(R::LANES - 1, &other);
        assert_eq!((found(&one, 0), one.nodes.len()), (before, 3 * 21 * 6));
        assert_eq!((two.nodes.len(), two.shared.len()), (2 * 3 * 21 * 6, 2));
        two.load(R::LANES - 1, &shared);
        assert_eq!((found(&two, R::LANES - 1), two.nodes.len()), (before, 2 * 3 * 21 * 6));
        // The map of a lane changes its shape, twice.
        let own = [Shape::Square, Shape::Disc].map(|shape| {
            let patch = Patch::shape(Grid::new(7, 7, 0.02, 0.03).unwrap(), shape).unwrap();
            one.remap(0, &patch, &shared);
            let mut alone = Tables::<R>::new();
            (0..R::LANES).for_each(|lane| alone.load(lane, &table(&patch)));
            assert_eq!(found(&one, 0), found(&alone, 0));
            found(&one, 0)
        });
        assert!(own[0] != own[1] && !own.contains(&before));
        if R::LANES > 1 {
            assert_eq!(found(&one, 1), before, "a neighbour");
        }
        let mut new = Tables::<R>::new();
        (0..R::LANES).for_each(|lane| new.load(lane, &shared));
        assert_eq!(found(&new, 0), before, "the table itself was changed");
    }

    #[test]
    fn solvers_share_the_nodes_of_a_table_until_a_lane_has_its_own() {
        use crate::number::baseline::{F32, F64};
        tables_are_shared_until_a_lane_has_its_own::<F64>();
        tables_are_shared_until_a_lane_has_its_own::<F32>();
        tables_are_shared_until_a_lane_has_its_own::<f64>();
    }
}
