//! A batch and what a page shows of it.

use bristle::batch::Snapshot;
use bristle::engine::Engine;
use bristle::error::ParameterError;
use bristle::limit_surface::{Rule, Surface};
use bristle::{Batch, Contact, Input, Model, Sample, Twist};
use bristle_scenario::Scenario;

use crate::{Error, drawn, engine};

/// Numbers of a sample, see [`Live::samples`].
pub const NUMBERS: usize = 12;

/// The numbers of a sample, in the order of [`Live::samples`].
pub(crate) fn numbers(sample: &Sample) -> [f64; NUMBERS] {
    let Sample { pose, twist, wrench, normal_force, slip, near_limit } = sample;
    let ([x, y, theta], [vx, vy, w]) = (pose.to_array(), twist.to_array());
    let [fx, fy, tau] = wrench.to_array();
    [x, y, theta, vx, vy, w, fx, fy, tau, *normal_force, *slip, *near_limit]
}

/// A batch of the contacts of a scenario.
#[derive(Debug)]
pub struct Live {
    scenario: Scenario,
    batch: Batch,
    /// The limit surface that was made last, and its contact.
    surface: Option<(usize, Surface)>,
}

/// Refuses several patches: what is drawn of contacts are the columns and rows of one grid.
fn of_one_patch(drawn: (Scenario, Vec<Contact>)) -> Result<(Scenario, Vec<Contact>), Error> {
    if drawn.1.iter().all(|contact| contact.patch.parts().is_empty()) {
        return Ok(drawn);
    }
    Err(ParameterError::new("patches", "given", "one patch, as rollouts alone take several").into())
}

impl Live {
    /// The first `contacts` contacts of a scenario at their start, as many as it asks for if that is 0, in
    /// the `precision` `f32` or `f64`, that of the scenario if it is empty.
    ///
    /// # Errors
    /// A text, a precision or a number of contacts that is refused.
    pub fn new(text: &str, contacts: u32, precision: &str) -> Result<Self, Error> {
        let (scenario, contacts) = of_one_patch(drawn(text, contacts)?)?;
        let batch = engine(&scenario, precision)?.batch(contacts, scenario.plan().stepping())?;
        Ok(Self { scenario, batch, surface: None })
    }

    /// [`Live::new`] on a GPU, in single precision.
    ///
    /// # Errors
    /// As [`Live::new`], or a device that fails.
    #[cfg(target_arch = "wasm32")]
    pub async fn on_gpu(gpu: &bristle::Gpu, text: &str, contacts: u32) -> Result<Self, Error> {
        let (scenario, contacts) = of_one_patch(drawn(text, contacts)?)?;
        let batch = gpu.batch_async(contacts, scenario.plan().stepping()).await?;
        Ok(Self { scenario, batch, surface: None })
    }

    /// The engine, its precision, and the processor or adapter.
    pub fn engine(&self) -> String {
        let info = self.batch.engine();
        format!("{} {} {}", info.engine, info.precision, info.adapter).trim().to_owned()
    }

    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether there is no contact.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// How long the scenario lasts \[s\].
    pub fn duration(&self) -> f64 {
        self.scenario.plan().duration()
    }

    /// The numbers with which contact `k` was drawn, as a JSON object.
    ///
    /// # Errors
    /// A number out of range.
    pub fn parameters(&self, k: usize) -> Result<String, Error> {
        let numbers = self.scenario.parameters(k as u64)?;
        let numbers = numbers.into_iter().map(|(name, value)| (name, value.into()));
        Ok(serde_json::Value::Object(numbers.collect()).to_string())
    }

    /// Refuses a contact that is not there.
    fn check(&self, k: usize) -> Result<(), ParameterError> {
        if k < self.len() {
            return Ok(());
        }
        let accepted = format!("an index below {}, the number of contacts", self.len());
        Err(ParameterError::new("contact", k, accepted))
    }

    /// Time of contact `k` since its start \[s\].
    ///
    /// # Errors
    /// No such contact.
    pub fn time(&self, k: usize) -> Result<f64, Error> {
        self.check(k)?;
        Ok(self.batch.time(k))
    }

    /// Columns, rows, width \[m\] and height \[m\] of the grid of contact `k`.
    ///
    /// # Errors
    /// No such contact.
    pub fn grid(&self, k: usize) -> Result<[f64; 4], Error> {
        self.check(k)?;
        let grid = self.batch.contacts()[k].patch.grid();
        let (nx, ny) = (grid.nx as f64, grid.ny as f64);
        Ok([nx, ny, nx * grid.dx, ny * grid.dy])
    }

    /// The shares of the normal force of all cells of contact `k`, row after row from the lowest, each from
    /// left to right.
    ///
    /// # Errors
    /// No such contact.
    pub fn weights(&self, k: usize) -> Result<&[f64], Error> {
        self.check(k)?;
        Ok(self.batch.contacts()[k].patch.weights())
    }

    /// The cells that [`Live::bristles`] has, as places in [`Live::weights`]; none of a reduced bristle.
    ///
    /// # Errors
    /// No such contact.
    pub fn cells(&self, k: usize) -> Result<Vec<u32>, Error> {
        self.check(k)?;
        let contact = &self.batch.contacts()[k];
        let active = if contact.model.is_grid() { contact.cells_ever_active() } else { Vec::new() };
        Ok(active.into_iter().map(|cell| cell as u32).collect())
    }

    /// The states `zeta` [-] of the bristles of contact `k`, pairs of x and y, as [`Batch::bristles`] has
    /// them.
    ///
    /// # Errors
    /// No such contact.
    pub fn bristles(&mut self, k: usize) -> Result<Vec<f64>, Error> {
        Ok(self.batch.bristles(k)?.into_iter().flatten().collect())
    }

    /// [`Live::bristles`], on any engine.
    ///
    /// # Errors
    /// As [`Live::bristles`], or a device that fails.
    pub async fn bristles_async(&mut self, k: usize) -> Result<Vec<f64>, Error> {
        let of_one = self.batch.bristles_of_async(&[k]).await?;
        Ok(of_one.into_iter().flatten().flatten().collect())
    }

    /// From now on the input of this name (`inputs.normal_force`, see [`Input::field`]) is `value`, of
    /// contact `k`, or of all if that is none.
    ///
    /// # Errors
    /// No such contact or input, or a value out of range.
    pub fn set(&mut self, k: Option<usize>, name: &str, value: f64) -> Result<(), Error> {
        let input = Input::ALL.into_iter().find(|input| input.field() == name).ok_or_else(|| {
            let names: Vec<_> = Input::ALL.iter().map(|input| input.field()).collect();
            ParameterError::new("input", name, format!("one of {}", names.join(", ")))
        })?;
        match k {
            Some(k) => self.batch.set(k, input, value)?,
            None => {
                let all: Vec<usize> = (0..self.len()).collect();
                self.batch.set_some(&all, &[(input, &[value])])?;
            }
        }
        Ok(())
    }

    /// All contacts go on for `dt` \[s\].
    ///
    /// # Errors
    /// A time that is not 1e-9 to 1e6 s.
    pub fn advance(&mut self, dt: f64) -> Result<(), Error> {
        Ok(self.batch.advance(dt)?)
    }

    /// [`Live::advance`], on any engine.
    ///
    /// # Errors
    /// As [`Live::advance`], or a device that fails.
    pub async fn advance_async(&mut self, dt: f64) -> Result<(), Error> {
        Ok(self.batch.advance_async(dt).await?)
    }

    /// [`Live::reset`], on any engine.
    ///
    /// # Errors
    /// What the engine says.
    pub async fn reset_async(&mut self) -> Result<(), Error> {
        Ok(self.batch.reset_async().await?)
    }

    /// All that the contacts take along, as bytes for [`Live::restore_async`].
    ///
    /// # Errors
    /// What the engine says.
    pub async fn save_async(&mut self) -> Result<Vec<u8>, Error> {
        Ok(self.batch.save_async().await?.to_bytes()?)
    }

    /// All contacts go on from what [`Live::save_async`] gave, of this batch or of another of the same
    /// scenario.
    ///
    /// # Errors
    /// Bytes that are none of a snapshot, a snapshot of other contacts, or what the engine says.
    pub async fn restore_async(&mut self, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.batch.restore_async(&Snapshot::from_bytes(bytes)?).await?)
    }

    /// All contacts go back to their start.
    ///
    /// # Errors
    /// What the engine says.
    pub fn reset(&mut self) -> Result<(), Error> {
        let all: Vec<usize> = (0..self.len()).collect();
        Ok(self.batch.reset(&all)?)
    }

    /// Of every contact twelve numbers: pose (x, y \[m\], theta \[rad\]), twist [m/s, m/s, rad/s], wrench of
    /// one pad on the body at the patch origin [N, N, N m], normal force of one pad \[N\], the shares of it
    /// on bristles that slip and on those that are near their limit [-]; see [`Sample`]. NaN of one that has
    /// failed.
    ///
    /// # Errors
    /// What the engine says.
    pub fn samples(&mut self) -> Result<Vec<f64>, Error> {
        Ok(self.batch.samples()?.iter().flat_map(numbers).collect())
    }

    /// [`Live::samples`], on any engine. Until time passes, [`Live::samples`] has them then, too.
    ///
    /// # Errors
    /// What the engine says.
    pub async fn samples_async(&mut self) -> Result<Vec<f64>, Error> {
        Ok(self.batch.samples_async().await?.iter().flat_map(numbers).collect())
    }

    /// The limit surface of contact `k` under its present pressure map.
    fn surface_of(&mut self, k: usize) -> Result<&Surface, ParameterError> {
        self.check(k)?;
        let time = self.batch.time(k);
        let contact = &self.batch.contacts()[k];
        let is_made = self.surface.as_ref().is_some_and(|(of, _)| *of == k) && !contact.patch.changes();
        if !is_made {
            let patch = contact.map_at(time).map_or_else(|| (*contact.patch).clone(), |key| contact.patch.at(key));
            let rule = match &contact.model {
                Model::LimitSurface(table, _) => table.rule(),
                _ => Rule::Cells,
            };
            self.surface = Some((k, Surface::new(&patch, rule)));
        }
        Ok(self.surface.as_ref().map(|(_, surface)| surface).unwrap_or_else(|| unreachable!("it was made above")))
    }

    /// The limit surface of contact `k` at the centre of pressure for `mu f_N = 1`, as the wrenches
    /// (fx, fy, tau / r) [-] that friction has in steady sliding, with the torsional radius r: for each of
    /// `n + 1` directions of the axis from -z to z, and `2 n` around it.
    ///
    /// # Errors
    /// No such contact, or `n` that is not 1 to 200.
    pub fn surface(&mut self, k: usize, n: usize) -> Result<Vec<f64>, Error> {
        if !(1..=200).contains(&n) {
            return Err(ParameterError::new("n", n, "1 to 200").into());
        }
        let surface = self.surface_of(k)?;
        // A patch without extent has no torque.
        let r = if surface.radius() > 0.0 { surface.radius() } else { 1.0 };
        let step = std::f64::consts::PI / n as f64;
        let twists: Vec<Twist> = (0..=n)
            .flat_map(|i| (0..2 * n).map(move |j| (i as f64 * step, j as f64 * step)))
            .map(|(down, around)| Twist::new(down.sin() * around.cos(), down.sin() * around.sin(), -down.cos() / r))
            .collect();
        Ok(surface.coulombs(&twists).iter().flat_map(|w| [w.fx, w.fy, w.tau / r]).collect())
    }

    /// Where the present wrench of contact `k` is in the picture of [`Live::surface`], and the factor by
    /// which it may grow before the patch slips by `mu_c` (infinite without a load): four numbers.
    ///
    /// # Errors
    /// No such contact, or one that has failed.
    pub fn margin(&mut self, k: usize) -> Result<[f64; 4], Error> {
        self.check(k)?;
        let sample = self.batch.samples()?[k];
        let mu = self.batch.inputs(k)?.mu_c;
        let surface = self.surface_of(k)?;
        let wrench = sample.wrench.about(surface.patch().cop());
        let load = bristle::Wrench::new(-wrench.fx, -wrench.fy, -wrench.tau);
        let r = if surface.radius() > 0.0 { surface.radius() } else { 1.0 };
        let most = mu * sample.normal_force;
        let share = |force: f64| if most > 0.0 { force / most } else { 0.0 };
        let factor = if most > 0.0 { surface.margin(load, mu, sample.normal_force)?.factor } else { 0.0 };
        Ok([share(wrench.fx), share(wrench.fy), share(wrench.tau / r), factor])
    }

    /// The centre of pressure \[m\] and the torsional radius \[m\] of contact `k`.
    ///
    /// # Errors
    /// No such contact.
    pub fn pressed(&mut self, k: usize) -> Result<[f64; 3], Error> {
        let surface = self.surface_of(k)?;
        let [x, y] = surface.patch().cop();
        Ok([x, y, surface.radius()])
    }
}
