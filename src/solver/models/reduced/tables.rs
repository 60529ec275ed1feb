//! The tables of limit surfaces of the contacts in the lanes, and the look-up in all lanes at once.

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
    nodes: Vec<R::Scalar>,
    /// Where tables start that contacts share, by the address of the table. The table is held, so that no
    /// other one can have its address.
    shared: HashMap<usize, (Arc<Table>, u32)>,
    /// Where a lane's own memory starts, for the table of a map that changes its shape.
    own: [Option<u32>; LANES],
    /// Tables made for new maps; contacts under the same normal force need the same ones.
    made: TableCache,
}

impl<R: Real> Tables<R> {
    /// No tables.
    pub fn new() -> Self {
        Self {
            n_ls: R::splat(1.0),
            start: [0; LANES],
            nodes: Vec::new(),
            shared: HashMap::new(),
            own: [None; LANES],
            made: TableCache::default(),
        }
    }

    /// The table of a contact that is put into a lane.
    pub fn load(&mut self, lane: usize, table: &Arc<Table>) {
        self.n_ls.set(lane, table.n_ls() as f64);
        let next = self.nodes.len() as u32;
        let (_, start) = self.shared.entry(Arc::as_ptr(table).addr()).or_insert_with(|| (Arc::clone(table), next));
        self.start[lane] = *start;
        if self.start[lane] == next {
            self.nodes.extend(numbers::<R>(table));
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
        if start == next {
            self.nodes.extend(numbers::<R>(&table));
        } else {
            self.nodes[start as usize..].iter_mut().zip(numbers::<R>(&table)).for_each(|(to, h)| *to = h);
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
        for k in 0..3 {
            let (aa, ab) = (R::gather(&self.nodes, &at, k), R::gather(&self.nodes, &at, k + 3));
            let (ba, bb) = (R::gather(&self.nodes, &next, k), R::gather(&self.nodes, &next, k + 3));
            h[k] = sign * s_rest.fma(t_rest.fma(aa, t * ab), s * t_rest.fma(ba, t * bb));
            h_phi[k] = per_step * s_rest.fma(ab - aa, s * (bb - ba));
            h_theta[k] = per_step * t_rest.fma(ba - aa, t * (bb - ab));
        }
        LookUp { h: Vec3::from(h), h_phi: Vec3::from(h_phi), h_theta: Vec3::from(h_theta), sign, z }
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
