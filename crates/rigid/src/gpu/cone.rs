//! Friction cones on a device: many forces in one dispatch, an invocation for each.

use bristle::error::{DeviceError, EngineError};
use bristle::gpu::kernel::{Access, Contents, Dispatch, Kernel};
pub use bristle::number::real::Real;
use bytemuck::{Pod, Zeroable};

use super::RigidGpu;
use crate::cone::{Section, validate};

/// Lanes of a workgroup, which do not communicate.
const CONE_WORKGROUP: u32 = 64;
/// Workgroups of a row of a dispatch, of which there may be several: below the portable limit of 65 535.
const ROW: u32 = 32_768;
/// Tests of a face of one dispatch, few enough that it takes well under 50 ms.
const WORK_HARDWARE: usize = 2_000_000_000;
/// The same on a software adapter.
const WORK_SOFTWARE: usize = 20_000_000;

/// What the shader uses its buffers for, in the order of their bindings.
const BINDINGS: [Access; 5] = [Access::Read, Access::Read, Access::Read, Access::ReadWrite, Access::Uniform];

/// `ConeBatch` of the shader; `share` and `half` as in `Facets`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct ConeBatch {
    pub(super) share: f32,
    pub(super) half: f32,
    pub(super) sides: u32,
    pub(super) count: u32,
    pub(super) coefficients: u32,
    pub(super) zero: u32,
}

impl RigidGpu {
    /// [`cone::margins`](crate::cone::margins) on the device: to 1e-6 of the force.
    ///
    /// # Errors
    /// A coefficient that is negative or not finite, another number of them, a polygon with too few or too
    /// many sides, or a device that fails.
    pub fn cone_margins(&self, section: &Section, mu: &[f32], forces: &[[f32; 3]]) -> Result<Vec<f32>, EngineError> {
        self.answers(section, mu, forces, false)
    }

    /// [`cone::contains`](crate::cone::contains) on the device.
    ///
    /// # Errors
    /// As [`RigidGpu::cone_margins`].
    pub fn cone_contains(&self, section: &Section, mu: &[f32], forces: &[[f32; 3]]) -> Result<Vec<bool>, EngineError> {
        let margins = self.cone_margins(section, mu, forces)?;
        Ok(margins.iter().zip(forces).map(|(margin, f)| *margin >= 0.0 && f[2] >= 0.0).collect())
    }

    /// [`cone::projections`](crate::cone::projections) on the device: to 1e-6 of the force.
    ///
    /// # Errors
    /// As [`RigidGpu::cone_margins`].
    pub fn cone_projections(
        &self,
        section: &Section,
        mu: &[f32],
        forces: &[[f32; 3]],
    ) -> Result<Vec<[f32; 3]>, EngineError> {
        Ok(self.answers(section, mu, forces, true)?.as_chunks().0.to_vec())
    }

    /// One number a force, or the three of its projection.
    fn answers(&self, section: &Section, mu: &[f32], f: &[[f32; 3]], projects: bool) -> Result<Vec<f32>, EngineError> {
        validate(section, mu, f.len())?;
        let facets = section.facets();
        let sides = facets.directions.len();
        let directions: Vec<[f32; 2]> = facets.directions.iter().map(|e| e.map(|c| c as f32)).collect();
        let kernel = self.0.cones[usize::from(projects)].get(|| {
            let constants = [("projects", f64::from(u8::from(projects)))];
            self.gpu().kernel(cone_source(), "answer", &BINDINGS, &constants)
        })?;
        let work = if self.gpu().adapter().software { WORK_SOFTWARE } else { WORK_HARDWARE };
        let most = (self.gpu().most_kernel_bytes() / size_of::<[f32; 3]>()).min(work / sides.max(1)).max(1);
        let mut out = Vec::with_capacity(f.len() * if projects { 3 } else { 1 });
        for (part, f) in f.chunks(most).enumerate() {
            let mu = if mu.len() == 1 { mu } else { &mu[part * most..][..f.len()] };
            let cones = ConeBatch {
                share: facets.share as f32,
                half: facets.half as f32,
                sides: sides as u32,
                count: f.len() as u32,
                coefficients: mu.len() as u32,
                zero: 0,
            };
            out.extend(self.dispatch(&kernel, &directions, mu, f, cones, projects)?);
        }
        Ok(out)
    }

    fn dispatch(
        &self,
        kernel: &Kernel,
        directions: &[[f32; 2]],
        mu: &[f32],
        f: &[[f32; 3]],
        cones: ConeBatch,
        projects: bool,
    ) -> Result<Vec<f32>, EngineError> {
        let count = f.len() * if projects { 3 } else { 1 };
        let groups = cones.count.div_ceil(CONE_WORKGROUP);
        let dispatch = Dispatch {
            contents: &[
                Contents::Bytes(bytemuck::cast_slice(directions)),
                Contents::Bytes(bytemuck::cast_slice(mu)),
                Contents::Bytes(bytemuck::cast_slice(f)),
                Contents::Zeros(count * size_of::<f32>()),
                Contents::Bytes(bytemuck::bytes_of(&cones)),
            ],
            workgroups: [groups.min(ROW), groups.div_ceil(ROW)],
            times: 1,
            read: 3,
        };
        let answers: Vec<f32> = self.gpu().run_kernel(kernel, &dispatch, count)?;
        let per_force = count / f.len();
        let lost = |k: usize| answers[k].is_nan() && f[k / per_force].iter().all(|c| c.is_finite());
        if (0..count).any(lost) {
            return Err(DeviceError::Failed { reason: "cones: some forces were not answered".to_owned() }.into());
        }
        Ok(answers)
    }
}

/// The WGSL of cones.
pub(super) fn cone_source() -> String {
    format!(
        "const TINY = f32({:e});\nconst WORKGROUP = {CONE_WORKGROUP}u;\nconst ROW = {ROW}u;\n{}",
        f32::TINY,
        include_str!("../../shaders/nearest.wgsl")
    )
}
