//! Contact problems on the device, a lane each, some rounds a dispatch.

use super::buffer::{BUFFER_BUDGET, Staging};
use super::core::Core;
use super::layout::Blocks;
use super::pipeline::{Access, Pipeline};
use super::shader::{BLOCKS_WORKGROUP, blocks_source};
use crate::error::{DeviceError, EngineError};
use crate::rigid::lcp::blocks::{self, MOST_ROUNDS};
use crate::rigid::lcp::{ContactProblem, Impulses, Scaled};
use crate::rigid::world::{Stepper, World, advance_each};
use std::sync::Arc;

/// What the shader uses its buffers for, in the order of their bindings.
const BINDINGS: [Access; 6] =
    [Access::Read, Access::Read, Access::Read, Access::ReadWrite, Access::ReadWrite, Access::Uniform];
/// Most contacts of a problem on the device: one round of more would take more turns of its loops than
/// llvmpipe allows. Larger problems are solved on the CPU, in the same precision.
const MOST_ON_DEVICE: usize = 16;
/// Turns of all loops of one invocation, with a margin to llvmpipe's 65 535.
const TURNS: usize = 60_000;

/// Worlds whose contacts are solved on a device.
pub(super) struct WorldStepper(pub Arc<Core>);

impl Stepper for WorldStepper {
    fn advance(&mut self, worlds: &mut [&mut World], h: f64, steps: u64) -> Result<(), EngineError> {
        advance_each(worlds, h, steps, |problems| solve(&self.0, problems))
    }
}

/// Solves problems, each from its start. Which of them share a dispatch changes no result.
pub(super) fn solve(core: &Core, problems: &[&ContactProblem]) -> Result<Vec<Impulses>, EngineError> {
    let mut out: Vec<Option<Impulses>> = vec![None; problems.len()];
    // Problems of one number of directions, in which few or many contacts are not mixed, as all have room for
    // the most.
    let class = |p: &ContactProblem| (p.directions, p.contacts().next_power_of_two().clamp(4, MOST_ON_DEVICE));
    let mut order: Vec<usize> = Vec::new();
    for (k, problem) in problems.iter().enumerate() {
        if problem.contacts() == 0 || problem.contacts() > MOST_ON_DEVICE {
            out[k] = Some(blocks::solve::<f32>(problem));
        } else {
            order.push(k);
        }
    }
    order.sort_by_key(|k| class(problems[*k]));
    for some in order.chunk_by(|a, b| class(problems[*a]) == class(problems[*b])) {
        let (directions, room) = class(problems[some[0]]);
        let most = BUFFER_BUDGET.min(core.device.adapter.max_storage_buffer) as usize / (4 * work_size(room));
        for some in some.chunks(most.max(1)) {
            let of: Vec<&ContactProblem> = some.iter().map(|k| problems[*k]).collect();
            for (k, found) in some.iter().zip(dispatch(core, &of, directions, room)?) {
                out[*k] = Some(found);
            }
        }
    }
    Ok(out.into_iter().map(|found| found.expect("every problem is in a dispatch")).collect())
}

/// Numbers of one problem in the shader's work: impulses twice, the system, the residual.
const fn work_size(room: usize) -> usize {
    6 * room + 3 * room * (3 * room + 1) + 1
}

/// The shader of contact problems, compiled when it is first asked for.
fn pipeline(core: &Core) -> Result<Arc<Pipeline>, DeviceError> {
    let mut compiled = core.blocks.lock().expect("no panic while compiling");
    if let Some(pipeline) = &*compiled {
        return Ok(Arc::clone(pipeline));
    }
    let pipeline = Arc::new(Pipeline::new(&core.device, &core.device.edited(blocks_source()), "run", &BINDINGS, &[])?);
    Ok(Arc::clone(compiled.insert(pipeline)))
}

fn dispatch(
    core: &Core,
    problems: &[&ContactProblem],
    directions: usize,
    room: usize,
) -> Result<Vec<Impulses>, EngineError> {
    let (device, count, storage) = (&core.device, problems.len(), wgpu::BufferUsages::STORAGE);
    let pipeline = pipeline(core)?;
    let scaled: Vec<Scaled> = problems.iter().map(|p| p.scaled()).collect();
    let mut given = vec![0.0f32; (9 * room * room + 4 * room) * count];
    let mut work = vec![0.0f32; work_size(room) * count];
    for (k, (problem, own)) in problems.iter().zip(&scaled).enumerate() {
        let m = 3 * problem.contacts();
        for (i, w) in own.w.iter().enumerate() {
            given[(i / m * 3 * room + i % m) * count + k] = *w as f32;
        }
        for (i, b) in own.b.iter().enumerate() {
            given[(9 * room * room + i) * count + k] = *b as f32;
        }
        for (i, mu) in problem.mu.iter().enumerate() {
            given[(9 * room * room + 3 * room + i) * count + k] = *mu as f32;
        }
        for (i, p) in own.p.as_flattened().iter().enumerate() {
            work[i * count + k] = *p as f32;
        }
    }
    let counts: Vec<u32> = problems.iter().map(|p| p.contacts() as u32).collect();
    let axes: Vec<[f32; 2]> = blocks::directions(directions);
    let work = device.filled("work", bytemuck::cast_slice(&work), storage)?;
    let marks = device.buffer("marks", ((2 * room + 1) * count * 4) as u64, storage)?;
    // Assembly, elimination and the rest of a round for problems with all the room.
    let m = 3 * room;
    let turns = m * m * m / 3 + 3 * m * m + 8 * room * (2 * room + 3 * directions);
    let rounds = (TURNS / turns).clamp(1, MOST_ROUNDS);
    let uniform = Blocks {
        problems: count as u32,
        room: room as u32,
        directions: directions as u32,
        rounds: rounds as u32,
        most_rounds: MOST_ROUNDS as u32,
        zero: 0,
    };
    let group = pipeline.bind(
        device,
        &[
            &device.filled("given", bytemuck::cast_slice(&given), storage)?,
            &device.filled("counts", bytemuck::cast_slice(&counts), storage)?,
            &device.filled("directions", bytemuck::cast_slice(&axes), storage)?,
            &work,
            &marks,
            &device.filled("blocks", bytemuck::bytes_of(&uniform), wgpu::BufferUsages::UNIFORM)?,
        ],
    );
    let staging = Staging::new(device, work.size())?;
    let mut encoder = device.handle.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_bind_group(0, &group, &[]);
        pass.set_pipeline(&pipeline.poison);
        pass.dispatch_workgroups((count as u32).div_ceil(BLOCKS_WORKGROUP), 1, 1);
        pass.set_pipeline(&pipeline.main);
        for _ in 0..MOST_ROUNDS.div_ceil(rounds) {
            pass.dispatch_workgroups((count as u32).div_ceil(BLOCKS_WORKGROUP), 1, 1);
        }
    }
    staging.copy(&mut encoder, &work);
    let copied = device.queue.submit([encoder.finish()]);
    let work: Vec<f32> = staging.read(device, work_size(room) * count, copied)?;
    if work[(work_size(room) - 1) * count..].iter().any(|r| r.is_nan()) {
        return Err(DeviceError::Failed { reason: "contacts: some problems were not solved".to_owned() }.into());
    }
    let found = |(k, (problem, own)): (usize, (&&ContactProblem, &Scaled))| {
        let value = |i: usize| f64::from(work[i * count + k]);
        let p: Vec<[f64; 3]> =
            (0..problem.contacts()).map(|i| [value(3 * i), value(3 * i + 1), value(3 * i + 2)]).collect();
        blocks::accept::<f32>(problem, own.unscaled(&p), MOST_ROUNDS as u32)
    };
    Ok(problems.iter().zip(&scaled).enumerate().map(found).collect())
}
