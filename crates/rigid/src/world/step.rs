//! One step: from the state at its beginning to the contact problems, and from their solutions to the state
//! at the end; `docs/model.md` (LCP 5) to (LCP 9).

use std::collections::BTreeSet;
use std::sync::Arc;

use nalgebra::{Matrix3, Matrix3x6, Vector3};

use super::collision::{Touch, are_apart, touches};
use super::islands::{Members, islands};
use super::order::Order;
use super::{Axes, Failure, Kind, Pair, Stop, World, WorldContact};
use crate::island::{ACCEPTED, Island, Link, Mode, Polygon, TOLERANCE};
use crate::lcp::{ContactProblem, Impulses, MOST_CONTACTS, Termination, blocks};

/// A step before its contacts are solved.
pub(crate) struct Prepared {
    /// Velocities and angular velocities without contact impulses, those of patches of bristles included.
    pub(super) free: Vec<[Vector3<f64>; 2]>,
    /// Those before gravity and loads, which a free body would keep.
    pub(super) still: Vec<[Vector3<f64>; 2]>,
    pub(super) masses: Vec<Inverse>,
    pub(super) frames: Vec<Frame>,
    pub(super) islands: Vec<Members>,
    order: Arc<Order>,
    /// The directions of friction of all contacts.
    polygon: Polygon,
}

/// Inverse mass and inertia in the world, and their roots; zeros of a body that forces do not move.
pub(super) struct Inverse {
    mass: f64,
    /// The unit vector along which alone it moves.
    guide: Option<Vector3<f64>>,
    pub(super) inertia: Matrix3<f64>,
    root_mass: f64,
    root_inertia: Matrix3<f64>,
}

/// A contact with its axes and its levers.
pub(super) struct Frame {
    pub(super) pair: usize,
    /// Whether the bodies are those of the pair in the other order.
    swapped: bool,
    touch: Touch,
    bodies: [usize; 2],
    /// Normal and two tangents.
    axes: [Vector3<f64>; 3],
    /// `r x axis` of both bodies.
    turns: [[Vector3<f64>; 3]; 2],
    /// How far the bodies may approach [m]: the gap, or nothing.
    closing: f64,
    /// What the contact did in the step before, if it was there.
    before: Option<(Mode, [f64; 3])>,
}

/// What was found for the contacts of an island.
pub(crate) struct Answer {
    /// Velocities and angular velocities that the impulses add to its bodies.
    pub(crate) added: Vec<[Vector3<f64>; 2]>,
    /// Impulses along normal and tangents [N s].
    pub(crate) p: Vec<[f64; 3]>,
    pub(crate) modes: Vec<Mode>,
    pub(crate) residual: f64,
    /// Whether that is the promised residual.
    pub(crate) solved: bool,
    /// Whether Lemke's method found it.
    pub(crate) lemke: bool,
    /// Whether a GPU has left it to the CPU, because it is too large.
    pub(crate) on_cpu: bool,
}

/// Bodies that are nearer than this share of the distance they may approach in a step take part in the
/// contact problem.
const REACH: f64 = 1.5;
/// The square of the sine of 26 degrees: below it, an axis is too near to the normal to give a tangent.
const LEAST_TANGENT: f64 = 0.19;
/// How often a step is halved that has no answer as a whole.
const MOST_HALVINGS: u32 = 4;
/// Bodies are at rest below this share of the velocity that loads give them in a step [-].
const STILL: f64 = 1e-3;
/// Gaps and overlaps below this share of a body's size are none [-], and below this length [m]: what rounding
/// makes of four corners in a plane would else be a contact that lifts off.
const TOUCHING: (f64, f64) = (1e-9, 1e-12);
/// Residual [-] with which bodies are parted.
const PARTED: f64 = 1e-6;
/// Bodies that begin in overlap part by so many of their sizes in a second [1/s]; where none has a size, so
/// fast [m/s].
const PARTING: (f64, f64) = (1.0, 0.1);

impl World {
    /// What contacts are to be solved in a step of `h` [s]; none of a world that has failed.
    pub(crate) fn prepare(&mut self, h: f64) -> Option<Prepared> {
        if self.failure.is_some() {
            return None;
        }
        if self.order.sizes() != [self.bodies.len(), self.pairs.len()] {
            let pairs = self.pairs.iter().map(|pair| pair.bodies);
            self.order = Arc::new(Order::new(&self.bodies, &self.states, pairs));
        }
        let (mut free, mut still, mut masses) = (Vec::new(), Vec::new(), Vec::new());
        for (body, state) in self.bodies.iter().zip(&self.states) {
            let inverse = Inverse {
                mass: body.inverse_mass(),
                guide: body.guide(),
                inertia: body.inverse_inertia(state),
                root_mass: body.inverse_mass().sqrt(),
                root_inertia: body.root_inverse_inertia(state),
            };
            let at = |signals: &[bristle::schedule::Signal; 3]| Vector3::from_fn(|c, _| signals[c].value(self.time));
            let (mut v, mut w) = (state.velocity, state.angular);
            if body.kind == Kind::Dynamic {
                w = body.turned_freely(state, h);
                still.push([v, w]);
                v += h * inverse.along(Vector3::from(self.gravity) + inverse.mass * at(&body.force));
                w += h * (inverse.inertia * at(&body.torque));
            } else {
                still.push([v, w]);
            }
            free.push([v, w]);
            masses.push(inverse);
        }
        let frames = self.frames(h, &free);
        if self.time == 0.0 {
            self.find_overlaps(&frames);
        }
        let moved = |i: usize| (self.bodies[i].kind == Kind::Dynamic).then_some(i);
        let ends: Vec<_> = frames.iter().map(|f| f.bodies.map(moved)).collect();
        let mut islands = islands(self.bodies.len(), &ends);
        for island in &mut islands {
            island.bodies.sort_unstable_by_key(|body| self.order.body(*body));
            // Contacts of one pair stay in their order.
            island.contacts.sort_by_key(|k| self.order.pair(frames[*k].pair));
        }
        let (order, polygon) = (self.order.clone(), Polygon::new(self.directions));
        Some(Prepared { free, still, masses, frames, islands, order, polygon })
    }

    /// The contacts that may close in a step.
    fn frames(&self, h: f64, free: &[[Vector3<f64>; 2]]) -> Vec<Frame> {
        let (mut out, mut found) = (Vec::new(), Vec::new());
        let radii: Vec<f64> = self.bodies.iter().map(|body| body.shape.radius()).collect();
        let fastest: Vec<f64> = free.iter().zip(&radii).map(|([v, w], r)| v.norm() + w.norm() * r).collect();
        for (index, Pair { bodies: named, .. }) in self.pairs.iter().enumerate() {
            let swapped = self.order.body(named[0]) > self.order.body(named[1]);
            let bodies = if swapped { [named[1], named[0]] } else { *named };
            // Bodies that touch at rest stay together, whatever a third one does to them.
            let reach = REACH * h * (fastest[bodies[0]] + fastest[bodies[1]]) + self.touching(index);
            let [a, b] = bodies.map(|i| (&self.bodies[i].shape, &self.states[i].pose));
            if are_apart(a, b, bodies.map(|i| radii[i]), reach) {
                continue;
            }
            found.clear();
            touches(a, b, reach, &mut found);
            // Contacts are in the order of pairs.
            let last = &self.contacts[self.contacts.partition_point(|c| c.pair < index)..];
            for touch in &found {
                let normal = touch.normal;
                let tangent = |axis: Vector3<f64>| axis - normal * normal.dot(&axis);
                let along = |axis| match self.axes {
                    Axes::World => tangent(axis),
                    Axes::Body => tangent(self.states[named[0]].pose.rotation * axis),
                };
                let mut t = along(Vector3::x());
                if t.norm_squared() < LEAST_TANGENT {
                    t = along(Vector3::y());
                }
                // Forces on the second body of the pair are those of the polygon, which with an odd number of
                // directions is not that of the forces on the first.
                let turned = swapped && self.directions % 2 == 1;
                let t = if turned { -t.normalize() } else { t.normalize() };
                let axes = [normal, t, normal.cross(&t)];
                let lever = |k: usize| touch.points[k].coords - self.states[bodies[k]].pose.translation.vector;
                let turns = [0, 1].map(|k| axes.map(|axis| lever(k).cross(&axis)));
                let before = last.iter().take_while(|c| c.pair == index).find(|c| c.feature == touch.feature);
                let before = before.map(|c| (c.mode, c.impulse));
                let closing = if touch.gap > self.touching(index) { touch.gap } else { 0.0 };
                out.push(Frame { pair: index, swapped, touch: *touch, bodies, axes, turns, closing, before });
            }
        }
        out
    }

    /// Takes a step of `h` \[s\] with the answers to all islands; in two halves, and these in halves, if
    /// there is no answer to one of them.
    pub(crate) fn apply(&mut self, h: f64, prepared: &Prepared, answers: &[Answer]) {
        self.apply_part(h, prepared, answers, 0);
        self.steps += 1;
    }

    /// A part of a step that was halved so many times.
    fn apply_part(&mut self, h: f64, prepared: &Prepared, answers: &[Answer], halvings: u32) {
        let unsolved = prepared.islands.iter().zip(answers).find(|(_, answer)| !answer.solved);
        if let Some((island, answer)) = unsolved {
            if halvings == MOST_HALVINGS {
                // Those that forces do not move, too: a body may be squeezed between them.
                let of = |k: &usize| prepared.frames[*k].bodies;
                let bodies: BTreeSet<usize> = island.contacts.iter().flat_map(of).collect();
                let bodies = bodies.into_iter().collect();
                return self.fail(Failure::Unsolved { residual: answer.residual }, bodies);
            }
            self.halved += u64::from(halvings == 0);
            for _ in 0..2 {
                let Some(mut prepared) = self.prepare(0.5 * h) else { return };
                let solve = |world: &Self, prepared: &Prepared, k| prepared.solve_island(world, 0.5 * h, k);
                let answers = self.answers(&mut prepared, 0.5 * h, solve);
                self.apply_part(0.5 * h, &prepared, &answers, halvings + 1);
            }
            return;
        }
        let twists = prepared.twists(answers);
        self.move_patches(prepared, h);
        self.contacts.clear();
        self.contacts.resize_with(prepared.frames.len(), Default::default);
        for (island, answer) in prepared.islands.iter().zip(answers) {
            for ((k, p), mode) in island.contacts.iter().zip(&answer.p).zip(&answer.modes) {
                self.contacts[*k] = prepared.frames[*k].solved(h, *p, *mode);
            }
            self.by_lemke += u64::from(answer.lemke);
            self.on_cpu += u64::from(answer.on_cpu);
            self.residual = self.residual.max(answer.residual);
        }
        let shifts = self.part(h, prepared, answers, &twists);
        for (k, (state, [v, w])) in self.states.iter_mut().zip(twists).enumerate() {
            (state.velocity, state.angular) = (v, w);
            state.advance(h);
            if let Some([x, turn]) = shifts.get(k) {
                state.shift(*x, *turn);
            }
        }
        self.time += h;
        let lost: Vec<usize> = (0..self.states.len()).filter(|i| !self.states[*i].is_finite()).collect();
        if !lost.is_empty() {
            self.fail(Failure::NotFinite, lost);
        }
    }

    /// Stops the world: from now on its states are no numbers.
    fn fail(&mut self, why: Failure, bodies: Vec<usize>) {
        self.failure = Some(Stop { step: self.steps, why, bodies });
        self.contacts.clear();
        for state in &mut self.states {
            state.pose.translation.vector.fill(f64::NAN);
            state.velocity.fill(f64::NAN);
            state.angular.fill(f64::NAN);
        }
    }

    /// The size by which the overlap of a pair is measured [m]: the shortest side of a box, the diameter of a
    /// sphere, the smaller of both bodies; none of points and planes.
    pub(super) fn size(&self, pair: usize) -> Option<f64> {
        let sizes = self.pairs[pair].bodies.map(|i| self.bodies[i].shape.shortest());
        sizes.into_iter().flatten().reduce(f64::min)
    }

    /// Below this gap bodies touch, and below minus that they overlap [m].
    fn touching(&self, pair: usize) -> f64 {
        let (share, length) = TOUCHING;
        (share * self.size(pair).unwrap_or(0.0)).max(length)
    }

    /// Whether a contact is an overlap.
    fn overlaps(&self, frame: &Frame) -> bool {
        frame.touch.gap < -self.touching(frame.pair)
    }

    /// Marks the pairs that overlap.
    fn find_overlaps(&mut self, frames: &[Frame]) {
        let mut parting = vec![false; self.pairs.len()];
        frames.iter().filter(|f| self.overlaps(f)).for_each(|f| parting[f.pair] = true);
        self.parting = parting;
    }

    /// Displacements and turns that part bodies which overlap, beside what their velocities do; they do not
    /// become velocities.
    ///
    /// They are the shortest in the metric of the masses that open each overlap, and close no other contact.
    /// Bodies that began in overlap part at a bounded speed, whatever that lifts. What is overlap by the
    /// error of a step is parted as far as the energy allows that the step has taken, so that the sum never
    /// grows.
    fn part(
        &mut self,
        h: f64,
        prepared: &Prepared,
        answers: &[Answer],
        twists: &[[Vector3<f64>; 2]],
    ) -> Vec<[Vector3<f64>; 2]> {
        let mut shifts = Vec::new();
        let mut still_parting = vec![false; self.parting.len()];
        for (island, answer) in prepared.islands.iter().zip(answers) {
            let frames = || island.contacts.iter().map(|k| &prepared.frames[*k]);
            if !frames().any(|f| self.overlaps(f)) {
                continue;
            }
            let mut began = false;
            let links = frames().map(|frame| {
                let mut link = prepared.link(frame, island, h, 0.0);
                let u = frame.velocity(twists);
                let mut gap = frame.touch.gap + h * u.x;
                if self.overlaps(frame) && self.parting[frame.pair] {
                    (began, still_parting[frame.pair]) = (true, true);
                    let most = self.size(frame.pair).map_or(PARTING.1, |size| PARTING.0 * size) * h;
                    gap = gap.max(-most);
                }
                link.b = Vector3::new(gap, 0.0, 0.0);
                link.before = None;
                link
            });
            let links: Vec<Link> = links.collect();
            let polygon = Polygon::new(4);
            let found = Island::new(island.bodies.len(), links, &polygon, PARTED, 0.0).solve();
            let moved = prepared.added(island, &found.x);
            let lifted: f64 = island
                .bodies
                .iter()
                .zip(&moved)
                .map(|(body, [x, _])| -self.bodies[*body].mass * Vector3::from(self.gravity).dot(x))
                .sum();
            let taken = if began { f64::INFINITY } else { prepared.taken(self, h, island, answer, twists) };
            let share = if lifted > taken { taken / lifted } else { 1.0 };
            shifts.resize(self.bodies.len(), [Vector3::zeros(); 2]);
            for (body, [x, turn]) in island.bodies.iter().zip(moved) {
                shifts[*body] = [share * x, share * turn];
            }
        }
        self.parting = still_parting;
        shifts
    }
}

impl Prepared {
    /// Whether an island has more contacts than `most`.
    pub(crate) fn is_large(&self, k: usize, most: usize) -> bool {
        self.islands[k].contacts.len() > most
    }

    /// Number of islands.
    pub(crate) const fn islands(&self) -> usize {
        self.islands.len()
    }

    /// The answer to one island in double precision. What the solver of islands does not solve is left to
    /// [`blocks`](crate::lcp::blocks), and to Lemke's method.
    pub(crate) fn solve_island(&self, world: &World, h: f64, k: usize) -> Answer {
        let island = &self.islands[k];
        let links = island.contacts.iter().map(|k| {
            let frame = &self.frames[*k];
            self.link(frame, island, h, world.pairs[frame.pair].mu)
        });
        let change = self.change(island);
        let found = Island::new(island.bodies.len(), links.collect(), &self.polygon, TOLERANCE, change).solve();
        let solved = found.residual <= ACCEPTED * TOLERANCE;
        if !solved && found.p.len() <= MOST_CONTACTS {
            let other = blocks::solve::<f64>(&self.problem(world, h, k));
            if other.residual <= ACCEPTED * TOLERANCE {
                return self.answer(world, k, other);
            }
        }
        Answer {
            added: self.added(island, &found.x),
            p: found.p,
            modes: found.modes,
            residual: found.residual,
            solved,
            lemke: false,
            on_cpu: false,
        }
    }

    /// The largest change of the scaled velocities of an island, `M^1/2 dv`, by loads.
    fn change(&self, island: &Members) -> f64 {
        let of = |body: &usize| {
            let root = self.masses[*body].root_mass;
            let pulled = (self.free[*body][0] - self.still[*body][0]).norm();
            if root > 0.0 { pulled / root } else { 0.0 }
        };
        island.bodies.iter().map(of).fold(0.0, f64::max)
    }

    /// The answer that impulses give if they have the promised residual, else that of the solver of islands.
    pub(crate) fn checked(&self, world: &World, h: f64, k: usize, found: Impulses) -> Answer {
        let answer = self.answer(world, k, found);
        if answer.solved { answer } else { self.solve_island(world, h, k) }
    }

    /// Whether an island is for the solver of islands in double precision, whatever the engine: it has more
    /// contacts than `most`, or it is at rest, which single precision does not keep, and for which the modes
    /// of the step before are right.
    pub(crate) fn is_for_double(&self, world: &World, k: usize, most: usize) -> bool {
        if self.is_large(k, most) {
            return true;
        }
        let island = &self.islands[k];
        let (mut before, mut pulled) = (0.0f64, 0.0f64);
        for body in &island.bodies {
            let radius = world.bodies[*body].shape.radius();
            let size = |v: Vector3<f64>, w: Vector3<f64>| v.norm() + radius * w.norm();
            let ([v, w], [fv, fw]) = (self.still[*body], self.free[*body]);
            before = before.max(size(v, w));
            pulled = pulled.max(size(fv - v, fw - w));
        }
        before < STILL * pulled
    }

    /// The answer that impulses give.
    pub(crate) fn answer(&self, world: &World, k: usize, found: Impulses) -> Answer {
        let island = &self.islands[k];
        let mut added = vec![[Vector3::zeros(); 2]; island.bodies.len()];
        for (f, p) in island.contacts.iter().map(|k| &self.frames[*k]).zip(&found.p) {
            for (body, axes, turns, sign) in
                [(f.bodies[0], &f.axes, &f.turns[0], -1.0), (f.bodies[1], &f.axes, &f.turns[1], 1.0)]
            {
                let Some(place) = self.place(island, body) else { continue };
                let sum = |of: &[Vector3<f64>; 3]| sign * (of[0] * p[0] + of[1] * p[1] + of[2] * p[2]);
                added[place][0] += self.masses[body].moved(sum(axes));
                added[place][1] += self.masses[body].inertia * sum(turns);
            }
        }
        let mode = |(k, p): (&usize, &[f64; 3])| {
            self.polygon.nearest(world.pairs[self.frames[*k].pair].mu, Vector3::from(*p)).1
        };
        let modes = island.contacts.iter().zip(&found.p).map(mode).collect();
        Answer {
            added,
            modes,
            residual: found.residual,
            solved: found.termination == Termination::Solved,
            lemke: found.lemke,
            on_cpu: false,
            p: found.p,
        }
    }

    /// Velocities of bodies from the scaled ones.
    fn added(&self, island: &Members, x: &[nalgebra::Vector6<f64>]) -> Vec<[Vector3<f64>; 2]> {
        let of = |(body, x): (&usize, &nalgebra::Vector6<f64>)| {
            let inverse = &self.masses[*body];
            let (v, w) = (x.fixed_rows::<3>(0), x.fixed_rows::<3>(3));
            [inverse.root_mass * inverse.along(v.into()), inverse.root_inertia * w]
        };
        island.bodies.iter().zip(x).map(of).collect()
    }

    /// The place of a body in an island, if it is there.
    fn place(&self, island: &Members, body: usize) -> Option<usize> {
        island.bodies.binary_search_by_key(&self.order.body(body), |other| self.order.body(*other)).ok()
    }

    /// A contact for the solver of islands.
    fn link(&self, frame: &Frame, island: &Members, h: f64, mu: f64) -> Link {
        let mut bodies = [None; 2];
        let mut jacobian = [Matrix3x6::zeros(); 2];
        for (k, sign) in [(0, -1.0), (1, 1.0)] {
            bodies[k] = self.place(island, frame.bodies[k]);
            let inverse = &self.masses[frame.bodies[k]];
            for r in 0..3 {
                let (v, w) = (
                    sign * inverse.root_mass * inverse.along(frame.axes[r]),
                    sign * inverse.root_inertia * frame.turns[k][r],
                );
                jacobian[k].fixed_view_mut::<1, 3>(r, 0).copy_from(&v.transpose());
                jacobian[k].fixed_view_mut::<1, 3>(r, 3).copy_from(&w.transpose());
            }
        }
        let mut b = frame.velocity(&self.free);
        b.x += frame.closing / h;
        Link { bodies, jacobian, b, mu, before: frame.before.map(|(mode, _)| mode) }
    }

    /// `W`, `b` and the start of an island, (LCP 9).
    pub(crate) fn problem(&self, world: &World, h: f64, k: usize) -> ContactProblem {
        let island = &self.islands[k];
        let frames: Vec<&Frame> = island.contacts.iter().map(|k| &self.frames[*k]).collect();
        let n = frames.len();
        let mut w = vec![0.0; 9 * n * n];
        let mut b = vec![0.0; 3 * n];
        for (i, f) in frames.iter().enumerate() {
            let mut own = f.velocity(&self.free);
            own.x += f.closing / h;
            b[3 * i..3 * i + 3].copy_from_slice(own.as_slice());
            for (j, g) in frames.iter().enumerate() {
                for (k, l) in [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().filter(|(k, l)| f.bodies[*k] == g.bodies[*l])
                {
                    let inverse = &self.masses[f.bodies[k]];
                    let sign = if k == l { 1.0 } else { -1.0 };
                    for r in 0..3 {
                        for c in 0..3 {
                            let moved = inverse.mass * inverse.along(f.axes[r]).dot(&g.axes[c])
                                + f.turns[k][r].dot(&(inverse.inertia * g.turns[l][c]));
                            w[(3 * i + r) * 3 * n + 3 * j + c] += sign * moved;
                        }
                    }
                }
            }
        }
        let start = frames.iter().map(|f| f.before.map_or([0.0; 3], |(_, p)| p)).collect();
        let mu = frames.iter().map(|f| world.pairs[f.pair].mu).collect();
        ContactProblem { w, b, mu, directions: world.directions, start }
    }

    /// The energy that a step takes from an island: that of an impact in which velocities change as they do,
    /// `1/2 |v' - v|^2` in the metric of the masses, and the work of the contacts.
    fn taken(&self, world: &World, h: f64, island: &Members, answer: &Answer, twists: &[[Vector3<f64>; 2]]) -> f64 {
        let mut taken = 0.0;
        for body in &island.bodies {
            let change = [0, 1].map(|c| twists[*body][c] - self.still[*body][c]);
            taken += world.bodies[*body].kinetic(&world.states[*body], change);
        }
        for (k, p) in island.contacts.iter().zip(&answer.p) {
            taken -= self.frames[*k].velocity(twists).dot(&Vector3::from(*p));
        }
        // Bristles may give back what they have stored.
        let patches = world
            .patches()
            .iter()
            .filter(|patch| world.pairs[patch.pair()].bodies.iter().any(|body| island.bodies.contains(body)));
        taken -= patches.map(|patch| patch.power().max(0.0)).sum::<f64>() * h;
        taken.max(0.0)
    }
}

impl Inverse {
    /// The part of a vector along the guide, if there is one.
    fn along(&self, v: Vector3<f64>) -> Vector3<f64> {
        self.guide.map_or(v, |guide| guide * guide.dot(&v))
    }

    /// The velocity that an impulse gives.
    pub(super) fn moved(&self, impulse: Vector3<f64>) -> Vector3<f64> {
        self.mass * self.along(impulse)
    }
}

impl Frame {
    /// Velocity of the second body against the first, along normal and tangents.
    fn velocity(&self, twists: &[[Vector3<f64>; 2]]) -> Vector3<f64> {
        let of = |k: usize, r: usize| {
            let [v, w] = &twists[self.bodies[k]];
            self.axes[r].dot(v) + self.turns[k][r].dot(w)
        };
        Vector3::from_fn(|r, _| of(1, r) - of(0, r))
    }

    /// Unit vector from the first body of the pair to the second.
    pub(super) fn normal(&self) -> Vector3<f64> {
        if self.swapped { -self.axes[0] } else { self.axes[0] }
    }

    /// The contact with its impulse.
    fn solved(&self, h: f64, p: [f64; 3], mode: Mode) -> WorldContact {
        let [n, t, o] = self.axes;
        let force = (n * p[0] + t * p[1] + o * p[2]) / h;
        WorldContact {
            pair: self.pair,
            point: self.touch.points[usize::from(!self.swapped)],
            normal: self.normal(),
            gap: self.touch.gap,
            force: if self.swapped { -force } else { force },
            feature: self.touch.feature,
            impulse: p,
            mode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Method, State, WorldBody, WorldShape, Worlds};
    use super::*;

    /// Contacts keep what they did in the step before, with which the next one begins: those of a tower that
    /// rests on a table, and of a box that slides and turns on it, in every step.
    #[test]
    fn contacts_begin_with_what_they_did_before() {
        let mut world = World::new(8);
        world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
        for k in 0..5 {
            let mut state = State::at(0.004 * f64::from(k % 3), 0.0, 0.05 + 0.1 * f64::from(k));
            state.pose.rotation = nalgebra::UnitQuaternion::from_euler_angles(0.0, 0.0, 0.7 * f64::from(k));
            let body = world.add(WorldBody::solid(0.5, WorldShape::Box([0.05; 3])), state);
            world.pairs.push(Pair { bodies: [body, body - 1], mu: 0.5 });
        }
        let mut state = State::at(1.0, 0.0, 0.02);
        (state.velocity, state.angular) = (Vector3::new(1.0, 0.3, 0.0), Vector3::new(0.0, 0.0, 2.0));
        let sliding = world.add(WorldBody::solid(0.5, WorldShape::Box([0.05, 0.04, 0.02])), state);
        world.pairs.push(Pair { bodies: [0, sliding], mu: 0.2 });
        let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double).unwrap();
        worlds.advance(1e-3).unwrap();
        for step in 0..400 {
            let frames = worlds.world(0).clone().prepare(1e-3).unwrap().frames;
            assert!(frames.len() >= 24, "{step}: {}", frames.len());
            for frame in &frames {
                let (mode, impulse) = frame.before.unwrap_or_else(|| panic!("{step}: pair {} is new", frame.pair));
                let slides = frame.pair == 5 && worlds.world(0).states()[sliding].velocity.norm() > 0.01;
                assert!(slides || mode == Mode::Stick, "{step}: pair {} does {mode:?}", frame.pair);
                assert!(impulse[0] > 0.0, "{step}: {impulse:?}");
            }
            worlds.advance(1e-3).unwrap();
        }
    }
}
