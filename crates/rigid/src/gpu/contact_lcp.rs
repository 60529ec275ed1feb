//! Contact problems on a device, a lane each, as many rounds a dispatch as a driver allows.

use bristle::error::{DeviceError, EngineError};
use bristle::gpu::kernel::{Access, Contents, Dispatch};
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::RigidGpu;
use crate::lcp::blocks::{self, MOST_ROUNDS, Number};
use crate::lcp::{ContactProblem, Impulses, MOST_CONTACTS, Scaled};
use crate::world::{StepWorlds, World, Worlds, advance_each};

/// What the shader uses its buffers for, in the order of their bindings.
const BINDINGS: [Access; 6] =
    [Access::Read, Access::Read, Access::Read, Access::ReadWrite, Access::ReadWrite, Access::Uniform];
/// Turns of all loops of one invocation, with a margin to llvmpipe's 65 535.
const TURNS: usize = 60_000;

/// The struct of that name in the shader.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Blocks {
    pub(super) problems: u32,
    pub(super) room: u32,
    pub(super) directions: u32,
    pub(super) turns: u32,
    pub(super) most_rounds: u32,
    pub(super) zero: u32,
}

impl RigidGpu {
    /// Solves contact problems by blocks in single precision, to a residual of 1e-6 each
    /// ([`ContactProblem::residual`]). Those that do not converge are solved on the CPU. A result depends on
    /// its problem alone.
    ///
    /// # Errors
    /// A problem out of range, or a device that fails.
    pub fn solve_contacts(&self, problems: &[ContactProblem]) -> Result<Vec<Impulses>, EngineError> {
        for (contact, problem) in problems.iter().enumerate() {
            problem.validate().map_err(|error| EngineError::Parameter { contact, error })?;
        }
        let found = solve(self, &problems.iter().collect::<Vec<_>>())?;
        let better = |(problem, found)| blocks::or_better::<f32>(problem, found);
        Ok(bristle::pool::run(|| problems.par_iter().zip(found).map(better).collect()))
    }

    /// Worlds whose contacts are solved on this device, in steps of at most `step` \[s\], 1e-7 to 0.1.
    ///
    /// # Errors
    /// A world or a step out of range.
    pub fn worlds(&self, worlds: Vec<World>, step: f64) -> Result<Worlds, EngineError> {
        Worlds::with(worlds, step, Box::new(WorldStepper(self.clone())))
    }
}

/// Worlds whose contacts are solved on a device.
struct WorldStepper(RigidGpu);

impl StepWorlds for WorldStepper {
    fn advance(&mut self, worlds: &mut [&mut World], h: f64, steps: u64) -> Result<(), EngineError> {
        advance_each(worlds, h, steps, |problems| solve(&self.0, problems))
    }
}

/// What is found for each problem from its start, be it a solution or not. Which of them share a dispatch
/// changes no result.
fn solve(gpu: &RigidGpu, problems: &[&ContactProblem]) -> Result<Vec<Impulses>, EngineError> {
    let mut out: Vec<Option<Impulses>> = vec![None; problems.len()];
    // Problems of one number of directions, in which few or many contacts are not mixed, as all have room for
    // the most.
    let class = |p: &ContactProblem| (p.directions, p.contacts().next_power_of_two().clamp(4, MOST_CONTACTS));
    let mut order: Vec<usize> = Vec::new();
    for (k, problem) in problems.iter().enumerate() {
        if problem.contacts() == 0 {
            out[k] = Some(blocks::alone::<f32>(problem));
        } else {
            order.push(k);
        }
    }
    order.sort_by_key(|k| class(problems[*k]));
    for some in order.chunk_by(|a, b| class(problems[*a]) == class(problems[*b])) {
        let (directions, room) = class(problems[some[0]]);
        let most = gpu.gpu().most_kernel_bytes() / (4 * work_size(room));
        for some in some.chunks(most.max(1)) {
            let of: Vec<&ContactProblem> = some.iter().map(|k| problems[*k]).collect();
            for (k, found) in some.iter().zip(dispatch(gpu, &of, directions, room, dispatches(room, directions))?) {
                out[*k] = Some(found);
            }
        }
    }
    Ok(out.into_iter().map(|found| found.expect("every problem is in a dispatch")).collect())
}

/// Numbers of one problem in the shader's work: impulses twice, the system, the residual.
const fn work_size(room: usize) -> usize {
    6 * room + 3 * room * (3 * room + 4) + 1
}

/// Dispatches in which a lane takes all its rounds: parts of a round are as long as `run` in the shader says,
/// and none is begun that does not fit.
fn dispatches(room: usize, directions: usize) -> usize {
    let m = 3 * room;
    let sweeps = room * (8 + (blocks::SWEEPS + 1) * (1 + room + 2 * directions) + 12 * room);
    let column = |left: usize| left * (left / 4 + 6) + 4;
    let end = m * (m / 2 + 2) + room * (6 + room + 3 * directions);
    let round = sweeps + (1..=m).map(column).sum::<usize>() + end;
    let longest = sweeps.max(column(m)).max(end);
    (MOST_ROUNDS * round).div_ceil(TURNS - longest)
}

fn dispatch(
    gpu: &RigidGpu,
    problems: &[&ContactProblem],
    directions: usize,
    room: usize,
    times: usize,
) -> Result<Vec<Impulses>, EngineError> {
    let count = problems.len();
    let kernel = gpu.0.blocks.get(|| gpu.gpu().kernel(blocks_source(), "run", &BINDINGS, &[]))?;
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
    let uniform = Blocks {
        problems: count as u32,
        room: room as u32,
        directions: directions as u32,
        turns: TURNS as u32,
        most_rounds: MOST_ROUNDS as u32,
        zero: 0,
    };
    let dispatch = Dispatch {
        contents: &[
            Contents::Bytes(bytemuck::cast_slice(&given)),
            Contents::Bytes(bytemuck::cast_slice(&counts)),
            Contents::Bytes(bytemuck::cast_slice(&axes)),
            Contents::Bytes(bytemuck::cast_slice(&work)),
            Contents::Zeros((2 * room + 3) * count * 4),
            Contents::Bytes(bytemuck::bytes_of(&uniform)),
        ],
        workgroups: [(count as u32).div_ceil(BLOCKS_WORKGROUP), 1],
        times,
        read: 3,
    };
    let work: Vec<f32> = gpu.gpu().run_kernel(&kernel, &dispatch, work_size(room) * count)?;
    if work[(work_size(room) - 1) * count..].iter().any(|r| r.is_nan()) {
        return Err(DeviceError::Failed { reason: "contacts: some problems were not solved".to_owned() }.into());
    }
    let found = |(k, (problem, own)): (usize, (&&ContactProblem, &Scaled))| {
        let value = |i: usize| f64::from(work[i * count + k]);
        let p: Vec<[f64; 3]> =
            (0..problem.contacts()).map(|i| [value(3 * i), value(3 * i + 1), value(3 * i + 2)]).collect();
        blocks::found::<f32>(problem, own.unscaled(&p), MOST_ROUNDS as u32)
    };
    Ok(problems.iter().zip(&scaled).enumerate().map(found).collect())
}

/// Lanes of a workgroup of contact problems, which do not communicate: as many as the largest subgroup of any
/// GPU has.
const BLOCKS_WORKGROUP: u32 = 64;

/// The WGSL of contact problems.
pub(super) fn blocks_source() -> String {
    let mut text = String::new();
    for (name, value) in [("TOLERANCE", <f32 as Number>::TOLERANCE), ("PROXIMAL", <f32 as Number>::PROXIMAL)] {
        text += &format!("const {name} = f32({value:e});\n");
    }
    for (name, value) in [
        ("WORKGROUP", BLOCKS_WORKGROUP),
        ("SEPARATE", blocks::SEPARATE),
        ("STICK", blocks::STICK),
        ("SLIDE", blocks::SLIDE),
        ("SWEEPS", blocks::SWEEPS as u32),
    ] {
        text += &format!("const {name} = {value}u;\n");
    }
    text += include_str!("../../shaders/blocks.wgsl");
    text
}

#[cfg(test)]
mod tests {
    use bristle::gpu::{Choice, Gpu};
    use bristle::random::Draw;

    use super::*;

    /// A problem that takes all its rounds: `W` is no mobility of bodies, and the impulses find no end.
    fn endless(contacts: usize, directions: usize) -> ContactProblem {
        let (draw, m) = (Draw::new(4131, (100 * contacts + directions) as u64), 3 * contacts);
        let number = |name: String| 2.0 * draw.uniform(&name) - 1.0;
        let w = (0..m * m).map(|i| number(format!("w {i}")) + if i % (m + 1) == 0 { 2.0 } else { 0.0 }).collect();
        let b = (0..m).map(|i| number(format!("b {i}")) - if i % 3 == 0 { 1.0 } else { 0.0 }).collect();
        ContactProblem { w, b, mu: vec![0.8; contacts], directions, start: vec![[0.0; 3]; contacts] }
    }

    /// Turns of the parts of a round are counted here and in the shader: more dispatches than are counted
    /// here change no bit of any problem, and half of them do, but for problems whose impulses come to rest
    /// before.
    #[test]
    fn problems_take_all_their_rounds_in_the_dispatches_that_are_counted() {
        let gpu = RigidGpu::new(&Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")));
        let mut unfinished = 0;
        for (room, directions) in [(4, 4), (4, 32), (8, 8), (16, 8), (16, 32), (32, 4), (32, 32)] {
            let problems = [room / 2 + 1, room].map(|contacts| endless(contacts, directions));
            let counted = dispatches(room, directions);
            let solved = |times: usize| {
                let found = dispatch(&gpu, &problems.iter().collect::<Vec<_>>(), directions, room, times).unwrap();
                found.into_iter().map(|found| found.p).collect::<Vec<_>>()
            };
            let (once, more) = (solved(counted), solved(counted + 3));
            assert!(once == more, "{room} contacts, {directions} directions: {counted} dispatches are too few");
            unfinished += usize::from(counted > 1 && once != solved(counted / 2));
        }
        assert!(unfinished >= 3, "half of the dispatches are enough for all but {unfinished}");
    }
}
