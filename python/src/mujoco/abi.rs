//! The functions and the fields of MuJoCo that are used, by addresses and offsets that Python has found.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::slice;

use bristle::error::ParameterError;

type OfModelAndData = unsafe extern "C-unwind" fn(*const c_void, *mut c_void);
type Jacobian = unsafe extern "C-unwind" fn(*const c_void, *const c_void, *mut f64, *mut f64, *const f64, i32);
type FullMass = unsafe extern "C-unwind" fn(*const c_void, *const c_void, *mut f64);

type LogHandler = unsafe extern "C-unwind" fn(*const u8);
type SetLogHandler = unsafe extern "C-unwind" fn(Option<LogHandler>) -> Option<LogHandler>;
type GetLogHandler = unsafe extern "C-unwind" fn() -> Option<LogHandler>;

/// The level of an error in a message of MuJoCo, and where its text starts.
const ERROR: i32 = 3;
const TEXT: usize = 8;
/// The integrators of MuJoCo that are taken, of `mjtIntegrator`.
const EULER: i32 = 0;
const IMPLICITFAST: i32 = 3;
/// The bit of `mjENBL_FWDINV`.
const COMPARES: i32 = 1 << 2;

/// Defines a struct of numbers that are looked up by their names.
macro_rules! looked_up {
    ($(#[$doc:meta])* $name:ident { $($field:ident),* $(,)? }) => {
        $(#[$doc])*
        pub struct $name { $($field: usize),* }

        impl $name {
            fn new(from: &HashMap<String, usize>) -> Result<Self, ParameterError> {
                Ok(Self { $($field: found(from, stringify!($field))?),* })
            }
        }
    };
}

looked_up! {
    /// Offsets of fields in `mjModel`, `mjData` and `mjContact` \[bytes\].
    Layout {
        // mjModel
        nq, nv, na, nhistory, npluginstate, timestep, integrator, enableflags, dof_damping,
        d_rownnz, d_rowadr, d_colind,
        // mjData
        time, flg_rnepost, ncon, nefc, qpos, qvel, act, history, plugin_state, qacc, qacc_warmstart, qfrc_passive,
        site_xpos, site_xmat, xpos, xmat, q_deriv, contact,
        efc_type, efc_j, efc_j_rownnz, efc_j_rowadr, efc_j_colind, efc_d, efc_frictionloss, efc_force,
        // mjContact
        contact_size, contact_geom, contact_dim, contact_efc,
        // Whether Jacobians are sparse, and the bit of `mjENBL_SLEEP`.
        is_sparse, sleep,
    }
}

looked_up! {
    /// Addresses of functions.
    #[allow(non_snake_case)] // They are called as in C.
    Functions {
        mj_step1, mj_fwdActuation, mj_fwdAcceleration, mj_fwdConstraint, mj_sensorAcc, mj_checkAcc,
        mj_compareFwdInv, mj_Euler, mj_implicit, mj_jac, mj_fullM,
        _mjPRIVATE_setTlsLogHandler, _mjPRIVATE_getGlobalLogHandler,
    }
}

fn found(from: &HashMap<String, usize>, name: &str) -> Result<usize, ParameterError> {
    from.get(name).copied().ok_or_else(|| ParameterError::new("mujoco", name, "a name that Python has looked up"))
}

/// The interface of the library that is loaded.
pub struct Abi {
    layout: Layout,
    functions: Functions,
}

impl Abi {
    pub fn new(functions: &HashMap<String, usize>, layout: &HashMap<String, usize>) -> Result<Self, ParameterError> {
        Ok(Self { layout: Layout::new(layout)?, functions: Functions::new(functions)? })
    }
}

thread_local! {
    /// Where messages go that are no errors.
    static GLOBAL: Cell<Option<LogHandler>> = const { Cell::new(None) };
}

/// An error of MuJoCo on its way out of MuJoCo's functions.
struct MujocoError(String);

/// Unwinds for an error; other messages go their way. So does what MuJoCo's bindings say when a function of
/// Python has failed that MuJoCo has called: their frames bring an unwinder of their own, which cannot be
/// passed. The process then ends with that message.
unsafe extern "C-unwind" fn on_message(message: *const u8) {
    // SAFETY: MuJoCo calls it with a message, which starts with its level and has a text that ends with 0.
    unsafe {
        let text = CStr::from_ptr(message.add(TEXT).cast());
        if message.cast::<i32>().read() != ERROR || text == c"Python exception raised" {
            if let Some(forward) = GLOBAL.get() {
                forward(message);
            }
            return;
        }
        panic::resume_unwind(Box::new(MujocoError(text.to_string_lossy().into_owned())));
    }
}

/// A contact of MuJoCo.
pub struct Contact {
    pub geoms: [i32; 2],
    pub dim: i32,
    /// Its row of the constraints, if it has one.
    pub row: Option<usize>,
}

/// A row of the Jacobian of constraints.
pub enum JacobianRow<'a> {
    Dense(&'a [f64]),
    /// Values and their columns.
    Sparse(&'a [f64], &'a [i32]),
}

/// A model and its data during a step, in which nothing else uses them.
pub struct Handle<'a> {
    abi: &'a Abi,
    model: *mut u8,
    data: *mut u8,
    pub nv: usize,
    /// What an evaluation of the step changes, to put it back.
    kept: Vec<f64>,
}

impl<'a> Handle<'a> {
    /// # Safety
    /// The addresses are those of a `mjModel` and of its `mjData` in the layout of `abi`. Both outlive the
    /// handle, and nothing else uses the data meanwhile.
    pub unsafe fn new(abi: &'a Abi, model: usize, data: usize) -> Self {
        let mut handle = Self { abi, model: model as *mut u8, data: data as *mut u8, nv: 0, kept: Vec::new() };
        handle.nv = handle.size(abi.layout.nv);
        handle
    }

    fn read<T: Copy>(base: *mut u8, offset: usize) -> T {
        // SAFETY: the layout says that a `T` is there (`Handle::new`).
        unsafe { base.add(offset).cast::<T>().read_unaligned() }
    }

    fn size(&self, offset: usize) -> usize {
        usize::try_from(Self::read::<i64>(self.model, offset)).unwrap_or(0)
    }

    fn count(&self, offset: usize) -> usize {
        usize::try_from(Self::read::<i32>(self.data, offset)).unwrap_or(0)
    }

    fn array<T>(&self, base: *mut u8, offset: usize, len: usize) -> &'a [T] {
        let start = Self::read::<*const T>(base, offset);
        if len == 0 || start.is_null() {
            return &[];
        }
        // SAFETY: MuJoCo keeps so many elements there until the data are freed or the next position stage.
        unsafe { slice::from_raw_parts(start, len) }
    }

    fn of_data(&self, offset: usize, len: usize) -> &'a [f64] {
        self.array(self.data, offset, len)
    }

    fn of_data_mut(&mut self, offset: usize, len: usize) -> &mut [f64] {
        let start = Self::read::<*mut f64>(self.data, offset);
        if len == 0 || start.is_null() {
            return &mut [];
        }
        // SAFETY: as in `array`; the borrow of the handle is the only one that writes.
        unsafe { slice::from_raw_parts_mut(start, len) }
    }

    fn call(&mut self, function: usize) {
        // SAFETY: the address is that of such a function of the library that has made the data.
        unsafe {
            let function = std::mem::transmute::<usize, OfModelAndData>(function);
            function(self.model.cast(), self.data.cast());
        }
    }

    /// Refuses options under which a step is another one; `dt` is the timestep at first.
    pub fn check(&self, dt: f64) -> Result<(), ParameterError> {
        let layout = &self.abi.layout;
        let integrator: i32 = Self::read(self.model, layout.integrator);
        if ![EULER, IMPLICITFAST].contains(&integrator) {
            return Err(ParameterError::new("integrator", integrator, "Euler or implicitfast"));
        }
        let timestep: f64 = Self::read(self.model, layout.timestep);
        if timestep != dt {
            return Err(ParameterError::new("timestep", timestep, format!("{dt}, as at first")));
        }
        if Self::read::<i32>(self.model, layout.enableflags) as usize & layout.sleep != 0 {
            return Err(ParameterError::new("sleep", "enabled", "a model whose bodies do not sleep"));
        }
        Ok(())
    }

    /// The stages of position and velocity, and the actuators.
    pub fn begin(&mut self) {
        self.call(self.abi.functions.mj_step1);
        self.call(self.abi.functions.mj_fwdActuation);
    }

    pub fn is_euler(&self) -> bool {
        Self::read::<i32>(self.model, self.abi.layout.integrator) == EULER
    }

    fn integrate(&mut self) {
        let functions = &self.abi.functions;
        self.call(if self.is_euler() { functions.mj_Euler } else { functions.mj_implicit });
    }

    /// Accelerations and constraint forces under the present passive forces, and the velocity at the end of
    /// the step in `velocity`. The state is then what it was.
    pub fn evaluate(&mut self, velocity: &mut Vec<f64>) {
        let layout = &self.abi.layout;
        self.call(self.abi.functions.mj_fwdAcceleration);
        self.call(self.abi.functions.mj_fwdConstraint);
        let nq = self.size(layout.nq);
        let nv = self.nv;
        let state = [
            (layout.qpos, nq),
            (layout.qvel, nv),
            (layout.qacc_warmstart, nv),
            (layout.act, self.size(layout.na)),
            (layout.history, self.size(layout.nhistory)),
            (layout.plugin_state, self.size(layout.npluginstate)),
        ];
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        state.iter().for_each(|(offset, len)| kept.extend_from_slice(self.of_data(*offset, *len)));
        let time: f64 = Self::read(self.data, layout.time);
        self.integrate();
        velocity.clear();
        velocity.extend_from_slice(self.velocity());
        let mut rest = &kept[..];
        for (offset, len) in state {
            let (now, later) = rest.split_at(len);
            self.of_data_mut(offset, len).copy_from_slice(now);
            rest = later;
        }
        self.write(layout.time, time);
        self.kept = kept;
    }

    fn write<T>(&mut self, offset: usize, value: T) {
        // SAFETY: as in `read`.
        unsafe { self.data.add(offset).cast::<T>().write_unaligned(value) }
    }

    /// Calls `work` so that errors of MuJoCo, which end the process by default, end `work` instead: the text
    /// of such an error.
    pub fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Result<T, String> {
        let functions = &self.abi.functions;
        // SAFETY: the addresses are those of such functions.
        let (set, get) = unsafe {
            (
                std::mem::transmute::<usize, SetLogHandler>(functions._mjPRIVATE_setTlsLogHandler),
                std::mem::transmute::<usize, GetLogHandler>(functions._mjPRIVATE_getGlobalLogHandler),
            )
        };
        // SAFETY: as above; the handler is that of this thread alone, and is put back below.
        let before = unsafe {
            GLOBAL.set(get());
            set(Some(on_message))
        };
        let out = panic::catch_unwind(AssertUnwindSafe(|| work(self)));
        // SAFETY: as above.
        unsafe { set(before) };
        out.map_err(|cause| match cause.downcast::<MujocoError>() {
            Ok(error) => error.0,
            Err(other) => panic::resume_unwind(other),
        })
    }

    /// Takes the step that was evaluated last.
    pub fn finish(&mut self) {
        let functions = &self.abi.functions;
        // As in `mj_step2`: what sensors compute from accelerations is to be computed anew.
        self.write(self.abi.layout.flg_rnepost, 0u8);
        self.call(functions.mj_sensorAcc);
        self.call(functions.mj_checkAcc);
        if Self::read::<i32>(self.model, self.abi.layout.enableflags) & COMPARES != 0 {
            self.call(functions.mj_compareFwdInv);
        }
        self.integrate();
    }

    pub fn position(&self) -> &'a [f64] {
        self.of_data(self.abi.layout.qpos, self.size(self.abi.layout.nq))
    }

    pub fn velocity(&self) -> &'a [f64] {
        self.of_data(self.abi.layout.qvel, self.nv)
    }

    pub fn acceleration(&self) -> &'a [f64] {
        self.of_data(self.abi.layout.qacc, self.nv)
    }

    pub fn passive_now(&self) -> &'a [f64] {
        self.of_data(self.abi.layout.qfrc_passive, self.nv)
    }

    pub fn passive(&mut self) -> &mut [f64] {
        self.of_data_mut(self.abi.layout.qfrc_passive, self.nv)
    }

    pub fn guess(&mut self) -> &mut [f64] {
        self.of_data_mut(self.abi.layout.qacc_warmstart, self.nv)
    }

    /// Position and axes (by rows) of a site, then of a body.
    pub fn pose(&self, site: usize, body: usize) -> [f64; 24] {
        let layout = &self.abi.layout;
        let mut pose = [0.0; 24];
        pose[..3].copy_from_slice(&self.of_data(layout.site_xpos, 3 * site + 3)[3 * site..]);
        pose[3..12].copy_from_slice(&self.of_data(layout.site_xmat, 9 * site + 9)[9 * site..]);
        pose[12..15].copy_from_slice(&self.of_data(layout.xpos, 3 * body + 3)[3 * body..]);
        pose[15..].copy_from_slice(&self.of_data(layout.xmat, 9 * body + 9)[9 * body..]);
        pose
    }

    /// Jacobian of a body's point, (3, nv) for its velocity and as many for the angular velocity.
    pub fn jacobian(&self, point: &[f64; 3], body: usize, along: &mut [f64], about: &mut [f64]) {
        assert!(along.len() >= 3 * self.nv && about.len() >= 3 * self.nv);
        // SAFETY: both arrays have room for (3, nv).
        unsafe {
            let function = std::mem::transmute::<usize, Jacobian>(self.abi.functions.mj_jac);
            let (model, data) = (self.model.cast_const().cast(), self.data.cast_const().cast());
            function(model, data, along.as_mut_ptr(), about.as_mut_ptr(), point.as_ptr(), body as i32);
        }
    }

    /// The mass matrix, (nv, nv).
    pub fn mass(&self, to: &mut [f64]) {
        assert!(to.len() >= self.nv * self.nv);
        // SAFETY: the array has room for (nv, nv).
        unsafe {
            let function = std::mem::transmute::<usize, FullMass>(self.abi.functions.mj_fullM);
            function(self.model.cast_const().cast(), self.data.cast_const().cast(), to.as_mut_ptr());
        }
    }

    /// Adds to the mass matrix what the integrator treats implicitly; whether there is anything. Valid after
    /// an evaluation.
    pub fn add_implicit(&self, matrix: &mut [f64], dt: f64) -> bool {
        let (layout, nv) = (&self.abi.layout, self.nv);
        if self.is_euler() {
            let damping: &[f64] = self.array(self.model, layout.dof_damping, nv);
            damping.iter().enumerate().for_each(|(i, d)| matrix[i * nv + i] += dt * d);
            return damping.iter().any(|d| *d != 0.0);
        }
        let lens: &[i32] = self.array(self.model, layout.d_rownnz, nv);
        let starts: &[i32] = self.array(self.model, layout.d_rowadr, nv);
        let len = lens.iter().zip(starts).map(|(n, start)| (n + start) as usize).max().unwrap_or(0);
        let columns: &[i32] = self.array(self.model, layout.d_colind, len);
        let values = self.of_data(layout.q_deriv, len);
        for (i, (n, start)) in lens.iter().zip(starts).enumerate() {
            for at in *start as usize..(start + n) as usize {
                matrix[i * nv + columns[at] as usize] -= dt * values[at];
            }
        }
        values.iter().any(|v| *v != 0.0)
    }

    pub fn contacts(&self) -> impl Iterator<Item = Contact> + '_ {
        let layout = &self.abi.layout;
        let first = Self::read::<*mut u8>(self.data, layout.contact);
        (0..self.count(layout.ncon)).map(move |i| {
            // SAFETY: there are `ncon` contacts of this size.
            let contact = unsafe { first.add(i * layout.contact_size) };
            let row: i32 = Self::read(contact, layout.contact_efc);
            Contact {
                geoms: Self::read(contact, layout.contact_geom),
                dim: Self::read(contact, layout.contact_dim),
                row: usize::try_from(row).ok(),
            }
        })
    }

    /// Number of rows of constraints.
    pub fn rows(&self) -> usize {
        self.count(self.abi.layout.nefc)
    }

    pub fn forces(&self) -> &'a [f64] {
        self.of_data(self.abi.layout.efc_force, self.rows())
    }

    /// Kinds, limits of friction, and stiffness of the rows.
    pub fn constraints(&self) -> (&'a [i32], &'a [f64], &'a [f64]) {
        let (layout, n) = (&self.abi.layout, self.rows());
        let kinds = self.array(self.data, layout.efc_type, n);
        (kinds, self.of_data(layout.efc_frictionloss, n), self.of_data(layout.efc_d, n))
    }

    pub fn row(&self, i: usize) -> JacobianRow<'a> {
        let layout = &self.abi.layout;
        if layout.is_sparse == 0 {
            return JacobianRow::Dense(&self.of_data(layout.efc_j, (i + 1) * self.nv)[i * self.nv..]);
        }
        let [n, start] = [layout.efc_j_rownnz, layout.efc_j_rowadr]
            .map(|offset| self.array::<i32>(self.data, offset, i + 1)[i] as usize);
        let columns: &[i32] = self.array(self.data, layout.efc_j_colind, start + n);
        JacobianRow::Sparse(&self.of_data(layout.efc_j, start + n)[start..], &columns[start..])
    }
}
