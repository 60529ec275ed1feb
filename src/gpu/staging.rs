//! Reading buffers back.

use std::sync::mpsc;

use crate::error::EngineError;

/// A buffer the host reads.
pub(super) struct Staging {
    buffer: wgpu::Buffer,
}

impl Staging {
    pub(super) fn new(device: &wgpu::Device, size: u64) -> Self {
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("staging"),
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self { buffer }
    }

    pub(super) fn copy(&self, encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer) {
        encoder.copy_buffer_to_buffer(from, 0, &self.buffer, 0, from.size());
    }

    /// Waits for the copy, and all else that was submitted, and returns its first `n` elements.
    pub(super) fn read<T: bytemuck::Pod>(&self, device: &wgpu::Device, n: usize) -> Result<Vec<T>, EngineError> {
        self.read_after(device, n, None)
    }

    /// Waits for the submission that holds the copy, or for all if none is named, and returns its first `n`
    /// elements.
    pub(super) fn read_after<T: bytemuck::Pod>(
        &self,
        device: &wgpu::Device,
        n: usize,
        submission_index: Option<wgpu::SubmissionIndex>,
    ) -> Result<Vec<T>, EngineError> {
        let failed = |e: &dyn std::fmt::Display| EngineError::Device(e.to_string());
        let bytes = (n * size_of::<T>()) as u64;
        let slice = self.buffer.slice(0..bytes.next_multiple_of(8).min(self.buffer.size()));
        let (sender, receiver) = mpsc::channel();
        slice.map_async(wgpu::MapMode::Read, move |result| {
            let _ = sender.send(result);
        });
        device.poll(wgpu::PollType::Wait { submission_index, timeout: None }).map_err(|e| failed(&e))?;
        receiver.recv().map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
        let view = slice.get_mapped_range().map_err(|e| failed(&e))?;
        let data = bytemuck::pod_collect_to_vec(&view[..bytes as usize]);
        drop(view);
        self.buffer.unmap();
        Ok(data)
    }
}
