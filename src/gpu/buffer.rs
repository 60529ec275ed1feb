//! Buffers of the device: creating, filling, enlarging and reading them.

use futures_channel::oneshot;

use super::device::Device;
use crate::error::{DeviceError, EngineError};

/// Largest size [byte] of a buffer with the parameters of contacts, with samples, or with the sums of limit
/// surfaces. The limit of every adapter is above it.
pub(super) const BUFFER_BUDGET: u64 = 96 << 20;
/// Size of the smallest buffer [byte]: an empty one cannot be bound.
const LEAST_BYTES: u64 = 64;

impl Device {
    /// A new buffer, which holds zeros.
    pub(super) fn buffer(
        &self,
        label: &str,
        size: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, DeviceError> {
        let descriptor = wgpu::BufferDescriptor {
            label: Some(label),
            size: size.max(LEAST_BYTES).next_multiple_of(4),
            usage: usage | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        };
        self.allocate(&descriptor)
    }

    /// A new buffer with these bytes.
    pub(super) fn filled(
        &self,
        label: &str,
        bytes: &[u8],
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, DeviceError> {
        let buffer = self.buffer(label, bytes.len() as u64, usage)?;
        self.queue.write_buffer(&buffer, 0, bytes);
        Ok(buffer)
    }

    /// Writes `bytes` to a buffer, which is replaced by a larger one if they do not fit.
    pub(super) fn put(&self, buffer: &mut wgpu::Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        let (needed, most) = (bytes.len() as u64, self.adapter.max_storage_buffer);
        // `memory` has divided contacts and windows so that this holds.
        assert!(needed <= most, "{needed} bytes in a buffer");
        if needed > buffer.size() {
            let descriptor = wgpu::BufferDescriptor {
                label: None,
                size: (needed * 5 / 4).min(most).max(needed).next_multiple_of(4),
                usage: buffer.usage(),
                mapped_at_creation: false,
            };
            *buffer = self.allocate(&descriptor)?;
        }
        self.queue.write_buffer(buffer, 0, bytes);
        Ok(())
    }
}

/// A buffer that the host reads.
pub(super) struct Staging {
    buffer: wgpu::Buffer,
}

impl Staging {
    pub(super) fn new(device: &Device, size: u64) -> Result<Self, DeviceError> {
        let descriptor = wgpu::BufferDescriptor {
            label: Some("staging"),
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        };
        Ok(Self { buffer: device.allocate(&descriptor)? })
    }

    pub(super) fn copy(&self, encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer) {
        encoder.copy_buffer_to_buffer(from, 0, &self.buffer, 0, from.size());
    }

    /// Copies as many bytes as it has, from `at` on.
    pub(super) fn copy_some(&self, encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer, at: u64) {
        encoder.copy_buffer_to_buffer(from, at, &self.buffer, 0, self.buffer.size());
    }

    /// The first `n` elements of the copy that the submission `copied` makes, once the device has made it.
    pub(super) async fn read<T: bytemuck::Pod>(
        &self,
        device: &Device,
        n: usize,
        copied: wgpu::SubmissionIndex,
    ) -> Result<Vec<T>, EngineError> {
        let bytes = (n * size_of::<T>()) as u64;
        let slice = self.buffer.slice(0..bytes.next_multiple_of(8).min(self.buffer.size()));
        let (sender, receiver) = oneshot::channel();
        slice.map_async(wgpu::MapMode::Read, move |result| {
            let _ = sender.send(result);
        });
        device.wait(copied)?;
        receiver.await.map_err(DeviceError::failed)?.map_err(DeviceError::failed)?;
        let view = slice.get_mapped_range().map_err(DeviceError::failed)?;
        let data = bytemuck::pod_collect_to_vec(&view[..bytes as usize]);
        drop(view);
        self.buffer.unmap();
        Ok(data)
    }
}
