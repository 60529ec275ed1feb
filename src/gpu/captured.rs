//! Dispatches as a device ran them, for tests that run the same on another.

use std::sync::{Arc, Mutex};

use super::buffer::Staging;
use super::device::Device;
use super::group::{sample_of, shown_bristles};
use super::layout::{Record, Window};
use super::shader::Variant;
use crate::contact::ModelKind;
use crate::engine::Trajectories;
use crate::error::EngineError;

/// Where captured dispatches go.
pub type Captures = Arc<Mutex<Vec<Captured>>>;

/// Binding of the windows.
const WINDOWS: usize = 2;

/// A dispatch: its kernel, and what its buffers held.
#[derive(Clone, Debug)]
pub struct Captured {
    /// What the kernel is compiled for.
    pub variant: Variant,
    /// How each binding is used, in the words of WebGPU.
    pub bindings: Vec<&'static str>,
    /// The contents of each binding before the dispatch \[bytes\].
    pub before: Vec<Vec<u8>>,
    /// Workgroups of the entry `rollout`.
    pub workgroups: u32,
    /// Workgroups of the entry `poison`, which comes first; 0 if it does not.
    pub poisoned: u32,
    /// The contacts by their numbers in the batch, each with its pairs of numbers among the bristles.
    pub(super) contacts: Vec<(usize, usize, ModelKind)>,
    /// Samples of a contact.
    pub(super) frames: usize,
}

impl Captured {
    /// Puts poses, twists and bristles that a device left in `records` and `bristles` \[bytes\] into the
    /// trajectories of the batch.
    ///
    /// # Panics
    /// Buffers of other sizes than those of the dispatch.
    pub fn put(&self, records: &[u8], bristles: &[u8], into: &mut Trajectories) {
        let records: Vec<Record> = bytemuck::pod_collect_to_vec(records);
        let bristles: Vec<[f32; 2]> = bytemuck::pod_collect_to_vec(bristles);
        let windows: Vec<Window> = bytemuck::pod_collect_to_vec(&self.before[WINDOWS]);
        let (all, mut first) = (into.frames(), 0);
        for (k, &(contact, pairs, kind)) in self.contacts.iter().enumerate() {
            let from = windows[k].sample_from as usize;
            for (frame, record) in (from..all).zip(&records[k * self.frames..][..self.frames]) {
                let sample = sample_of(record);
                let at = contact * all + frame;
                (into.pose[at], into.twist[at]) = (sample.pose, sample.twist);
            }
            into.bristles[contact] = shown_bristles(&bristles[first..first + pairs], kind);
            first += pairs;
        }
    }

    /// The bindings of samples and bristles, in this order.
    pub const RESULTS: [usize; 2] = [7, 6];
}

/// The contents of buffers.
pub(super) async fn contents(device: &Device, buffers: &[&wgpu::Buffer]) -> Result<Vec<Vec<u8>>, EngineError> {
    let mut all = Vec::new();
    for buffer in buffers {
        let staging = Staging::new(device, buffer.size())?;
        let mut encoder = device.handle.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        staging.copy(&mut encoder, buffer);
        let copied = device.queue.submit([encoder.finish()]);
        all.push(staging.read(device, buffer.size() as usize, copied).await?);
    }
    Ok(all)
}
