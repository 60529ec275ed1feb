//! Friction of patches inside MuJoCo: the class `Coupling` of Python, on which `bristle.mujoco.PatchFriction`
//! is built. It steps MuJoCo and a batch together, without Python and without its lock.
//!
//! Nothing of MuJoCo is compiled in: Python gives the addresses of its functions and the offsets of the
//! fields that are read or written, and has checked both (`python/bristle/_mujoco_abi.py`).

mod abi;
mod dense;
mod geometry;
mod solve;
mod step;

use std::collections::HashMap;
use std::sync::Mutex;

use bristle::error::ParameterError;
use bristle::{Batch, EngineError, Input};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::core::Core;
use crate::errors::Failure;
use abi::{Abi, Handle};
use geometry::Geometry;
use step::Step;

/// Normal force that the patches are told where there is none, so that their wrench over it is known \[N\].
const LEAST_FORCE: f64 = 1e-9;
/// Steps after which Python is asked whether to go on.
const UNASKED: usize = 200;
/// Time in which patches take over the normal force that they are told at their start \[s\].
const INSTANT: f64 = 1e-9;

/// A site that carries a patch.
#[derive(Clone)]
pub struct Pad {
    pub site: usize,
    pub body: usize,
    pub object: usize,
    /// Geoms whose contacts with the object press the pad.
    pub geoms: Vec<usize>,
}

/// The patches between two steps.
struct State {
    /// On the objects at the sites, three numbers a pad.
    wrench: Vec<f64>,
    /// Twists that the patches were given.
    twist: Vec<f64>,
    normal: Vec<f64>,
    /// What the batch has as normal forces.
    told: Vec<f64>,
    /// Time of the batch when it was last stepped here.
    time: f64,
    geometry: Geometry,
    step: Step,
}

/// A batch coupled to a model of MuJoCo.
#[pyclass(frozen, module = "bristle._bristle")]
pub struct Coupling {
    core: Py<Core>,
    pads: Vec<Pad>,
    abi: Abi,
    /// Body of each geom of the model.
    bodies: Vec<usize>,
    dt: f64,
    state: Mutex<State>,
}

#[pymethods]
impl Coupling {
    /// `functions` are addresses by name, `layout` offsets and sizes by name; a pad is its site, body, object
    /// and geoms.
    #[new]
    fn new(
        core: Py<Core>,
        functions: HashMap<String, usize>,
        layout: HashMap<String, usize>,
        pads: Vec<(usize, usize, usize, Vec<usize>)>,
        bodies: Vec<usize>,
        dt: f64,
    ) -> Result<Self, Failure> {
        let pads: Vec<Pad> =
            pads.into_iter().map(|(site, body, object, geoms)| Pad { site, body, object, geoms }).collect();
        let state = State::new(pads.len());
        Ok(Self { core, pads, abi: Abi::new(&functions, &layout)?, bodies, dt, state: Mutex::new(state) })
    }

    /// Forgets all steps.
    fn reset(&self) -> Result<(), Failure> {
        *self.state.try_lock().map_err(|_| Failure::Busy)? = State::new(self.pads.len());
        Ok(())
    }

    /// Takes so many steps of the data at an address, of the model at another, and of the batch.
    ///
    /// # Safety of the addresses
    /// Python passes those of a living model and of its data, and no other thread steps them.
    fn step(&self, py: Python<'_>, model: usize, data: usize, steps: usize) -> Result<(), Failure> {
        let core = self.core.get();
        py.detach(|| {
            let mut state = self.state.try_lock().map_err(|_| Failure::Busy)?;
            // SAFETY: Python has checked that the layout is that of these objects, and keeps them alive.
            let mut handle = unsafe { Handle::new(&self.abi, model, data) };
            handle.check(self.dt)?;
            let mut left = steps;
            while left > 0 {
                let some = left.min(UNASKED);
                core.0.call(|contacts| {
                    let batch = contacts.batch()?;
                    let all =
                        |handle: &mut Handle<'_>| (0..some).try_for_each(|_| self.advance(batch, handle, &mut state));
                    handle.guarded(all).map_err(Failure::Device)??;
                    contacts.pace.ask()
                })?;
                left -= some;
            }
            Ok(())
        })
    }

    /// Steps, evaluations of MuJoCo's step, of the friction of all patches, and steps that have not
    /// converged.
    fn counts(&self) -> Result<[u64; 4], Failure> {
        let counts = self.state.try_lock().map_err(|_| Failure::Busy)?.step.counts;
        Ok([counts.steps, counts.evaluations, counts.responses, counts.unconverged])
    }

    /// (pads,): normal forces of the last step [N].
    fn normal_force<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<f64>>, Failure> {
        let state = self.state.try_lock().map_err(|_| Failure::Busy)?;
        Ok(PyArray1::from_slice(py, &state.normal))
    }

    /// (pads, 3): wrenches of the last step on the objects.
    fn wrench<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f64>>, Failure> {
        let state = self.state.try_lock().map_err(|_| Failure::Busy)?;
        Ok(PyArray1::from_slice(py, &state.wrench).reshape([self.pads.len(), 3])?)
    }
}

impl Coupling {
    fn advance(&self, batch: &mut Batch, mujoco: &mut Handle<'_>, state: &mut State) -> Result<(), Failure> {
        state.tell(batch)?;
        mujoco.begin();
        // Nothing is kept before the step is done.
        let (mut geometry, mut wrench) = (state.geometry.clone(), state.wrench.clone());
        let State { step, told, .. } = state;
        step.find_pressing(mujoco, self)?;
        let offset = geometry.offset(mujoco, &self.pads, self.dt);
        step.begin(mujoco, self, offset);
        let solved = step.solve(mujoco, batch, told, &mut wrench, &state.twist);
        if let Err(error) = solved {
            mujoco.passive().copy_from_slice(&step.passive);
            return Err(error.into());
        }
        mujoco.finish();
        (state.geometry, state.wrench) = (geometry, wrench);
        state.normal.clone_from(&step.normal);
        let moved = step.twists(mujoco.velocity());
        state.twist.iter_mut().zip(&moved).zip(&step.offset).for_each(|((to, v), more)| *to = v + more);
        state.geometry.note(mujoco.position(), &moved, self.dt);
        state.told.iter_mut().zip(&state.normal).for_each(|(told, n)| *told = n.max(LEAST_FORCE));
        state.give(batch, self.dt)?;
        Ok(())
    }

    /// The pad that a contact of two geoms presses, if any.
    fn pads_of(&self, geoms: [i32; 2]) -> impl Iterator<Item = usize> + '_ {
        let [a, b] = geoms.map(|g| usize::try_from(g).ok());
        self.pads.iter().enumerate().filter_map(move |(k, pad)| {
            let (a, b) = (a?, b?);
            let is_pressed = |own: usize, other: usize| self.bodies[other] == pad.object && pad.geoms.contains(&own);
            (is_pressed(a, b) || is_pressed(b, a)).then_some(k)
        })
    }
}

impl State {
    fn new(n: usize) -> Self {
        Self {
            wrench: vec![0.0; 3 * n],
            twist: vec![0.0; 3 * n],
            normal: vec![0.0; n],
            told: vec![LEAST_FORCE; n],
            time: -1.0,
            geometry: Geometry::default(),
            step: Step::default(),
        }
    }

    /// Gives patches a normal force if they have none, as at their start or after a reset of the batch.
    fn tell(&mut self, batch: &mut Batch) -> Result<(), EngineError> {
        if batch.time(0) == self.time {
            return Ok(());
        }
        self.told.clear();
        self.told.extend(batch.samples()?.iter().map(|sample| sample.normal_force));
        if self.told.iter().all(|n| *n >= LEAST_FORCE) {
            return Ok(());
        }
        self.told.iter_mut().for_each(|n| *n = n.max(LEAST_FORCE));
        self.twist.fill(0.0);
        self.give(batch, INSTANT)
    }

    /// Steps the batch under the twists and normal forces.
    fn give(&mut self, batch: &mut Batch, dt: f64) -> Result<(), EngineError> {
        for (k, (n, twist)) in self.told.iter().zip(self.twist.chunks_exact(3)).enumerate() {
            batch.set(k, Input::NormalForce, *n)?;
            batch.set(k, Input::Vx, twist[0])?;
            batch.set(k, Input::Vy, twist[1])?;
            batch.set(k, Input::W, twist[2])?;
        }
        batch.advance(dt)?;
        self.time = batch.time(0);
        Ok(())
    }
}

/// A contact between a pad and its object that has friction of MuJoCo's own.
fn own_friction(dim: i32, geoms: [i32; 2]) -> Failure {
    let value = format!("{dim} between geom {} and geom {}", geoms[0], geoms[1]);
    ParameterError::new("condim", value, "1, so that MuJoCo adds no friction").into()
}
