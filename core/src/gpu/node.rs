//! A node of KFD's topology: a CPU or a GPU as the compute driver sees it.
//!
//! ```
//! use rocload_core::gpu::Node;
//!
//! let mut node = Node::new(1);
//! node.take_gpu_id(b"40001\n");
//! node.take_properties(b"simd_count 128\ngfx_target_version 90010\nunique_id 0\n");
//! assert!(node.is_gpu() && node.is_readable());
//! assert_eq!(node.target().unwrap().to_string(), "gfx90a");
//! assert_eq!(node.unique_id, None); // 0 is no number
//! ```
//!
//! Source: the kernel's `kfd_topology.c`; libhsakmt's `topology.c`.

use super::Target;
use super::number::{Properties, decimal};

/// What `nodes/<id>/` tells. What an older kernel does not tell is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Node {
    /// The folder's number.
    pub id: u32,
    /// `gpu_id`; 0 of a CPU. `None` = it cannot be read, and the runtime passes over the node.
    pub gpu_id: Option<u64>,
    /// SIMD units; a GPU has some. `None` = the properties cannot be read.
    pub simd_count: Option<u64>,
    /// The gfx target as one number.
    pub gfx_target_version: Option<u64>,
    /// The PCI device id.
    pub device_id: Option<u64>,
    /// PCI bus, device and function; see [`PciAddress::from_location`](super::PciAddress::from_location).
    pub location_id: Option<u32>,
    /// The PCI domain.
    pub domain: Option<u32>,
    /// The number of `/dev/dri/renderD<minor>`; 0 of a CPU.
    pub drm_render_minor: Option<u32>,
    /// The number that the device's UUID is made of; `None` too where it is 0.
    pub unique_id: Option<u64>,
    /// Compute dies (XCC).
    pub num_xcc: Option<u64>,
    /// Memory of the device, in bytes; 0 on newer kernels.
    pub local_mem_size: Option<u64>,
    /// Memory banks.
    pub mem_banks_count: u32,
    /// Memory of the banks that are the device's own, in bytes.
    pub bank_bytes: Option<u64>,
}

/// Banks of a node that are looked at.
pub const MAX_BANKS: u32 = 16;

impl Node {
    /// A node of which nothing is known yet.
    pub fn new(id: u32) -> Self {
        Node { id, ..Node::default() }
    }

    /// Takes the content of `gpu_id`.
    pub fn take_gpu_id(&mut self, bytes: &[u8]) {
        self.gpu_id = decimal(bytes);
    }

    /// Takes the content of `properties`.
    pub fn take_properties(&mut self, bytes: &[u8]) {
        let small = |value: u64| u32::try_from(value).ok();
        for (name, value) in Properties::new(bytes) {
            match name {
                b"simd_count" => self.simd_count = Some(value),
                b"gfx_target_version" => self.gfx_target_version = Some(value),
                b"device_id" => self.device_id = Some(value),
                b"location_id" => self.location_id = small(value),
                b"domain" => self.domain = small(value),
                b"drm_render_minor" => self.drm_render_minor = small(value),
                b"unique_id" => self.unique_id = Some(value).filter(|id| *id != 0),
                b"num_xcc" => self.num_xcc = Some(value),
                b"local_mem_size" => self.local_mem_size = Some(value),
                b"mem_banks_count" => self.mem_banks_count = value.min(MAX_BANKS.into()) as u32,
                _ => {}
            }
        }
    }

    /// Takes the content of `mem_banks/<n>/properties`. Banks of the frame buffer, visible to the
    /// CPU or not (heap types 1 and 2), are added up.
    pub fn take_bank(&mut self, bytes: &[u8]) {
        let (mut heap, mut size) = (None, None);
        for (name, value) in Properties::new(bytes) {
            match name {
                b"heap_type" => heap = Some(value),
                b"size_in_bytes" => size = Some(value),
                _ => {}
            }
        }
        if let (Some(1 | 2), Some(size)) = (heap, size) {
            self.bank_bytes = Some(self.bank_bytes.unwrap_or(0).saturating_add(size));
        }
    }

    /// It is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.gpu_id.is_some() && self.simd_count.is_some_and(|count| count > 0)
    }

    /// The runtime can read it: what cannot be read is perhaps a GPU that this process may not
    /// use, and takes no ordinal.
    pub fn is_readable(&self) -> bool {
        // A CPU is told by its gpu_id alone.
        self.gpu_id == Some(0) || (self.gpu_id.is_some() && self.simd_count.is_some())
    }

    /// The number of its render node; GPUs have one from 128 on, and 0 is none.
    pub fn render_minor(&self) -> Option<u32> {
        self.drm_render_minor.filter(|minor| *minor > 0)
    }

    /// The gfx target: decoded, or by the device's id where the kernel does not tell it.
    pub fn target(&self) -> Option<Target> {
        match self.gfx_target_version {
            Some(version) => Target::from_version(version),
            None => Target::from_device_id(self.device_id?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_tells_less() {
        let mut node = Node::new(1);
        node.take_gpu_id(b"40001\n");
        node.take_properties(
            b"simd_count 256\nvendor_id 4098\ndevice_id 26720\ndrm_render_minor 128\n",
        );
        assert!(node.is_gpu() && node.is_readable());
        assert_eq!(node.target(), Target::parse("gfx900"));
        assert_eq!((node.render_minor(), node.domain, node.unique_id), (Some(128), None, None));
        // A target that the kernel tells and nobody can name is not guessed by the id.
        node.gfx_target_version = Some(109_900);
        assert_eq!(node.target(), None);
    }

    #[test]
    fn what_cannot_be_read_is_no_gpu() {
        let mut node = Node::new(1);
        node.take_gpu_id(b"");
        node.take_properties(b"");
        assert!(!node.is_gpu() && !node.is_readable());
        let mut cpu = Node::new(0);
        cpu.take_gpu_id(b"0\n");
        assert!(!cpu.is_gpu() && cpu.is_readable());
        let mut halved = Node::new(2);
        halved.take_properties(b"simd_count 8\n");
        assert!(!halved.is_gpu() && !halved.is_readable());
    }

    #[test]
    fn banks_of_the_device_add_up() {
        let mut node = Node::new(1);
        node.take_bank(b"heap_type 0\nsize_in_bytes 7\n");
        assert_eq!(node.bank_bytes, None);
        node.take_bank(b"heap_type 1\nsize_in_bytes 7\nflags 0\n");
        node.take_bank(b"heap_type 2\nsize_in_bytes 18446744073709551615\n");
        node.take_bank(b"size_in_bytes 1\n");
        assert_eq!(node.bank_bytes, Some(u64::MAX));
    }
}
