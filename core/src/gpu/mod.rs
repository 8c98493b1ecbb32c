//! AMD GPUs, from what the kernel tells of them: finding, telling apart, choosing.
//!
//! The kernel tells of a GPU twice: the compute driver (KFD) as a node of its topology, the
//! graphics driver (DRM) as a card. A [`Scan`] asks for both and pairs them by the number of the
//! render node, never by their order, and tries whether this process may use them. [`choose`](choose())
//! takes the best with its reason, and gives every other one its reason; [`mask`](mask()) makes of
//! it what a process is started with. [`overrides`] and [`visible`] read the variables by which
//! users and the runtime change what is seen; [`settle`] waits for memory to be given back.
//!
//! Nothing here reads: a scan asks ([`Ask`]), and a driver answers.
//!
//! ```
//! use rocload_core::gpu::{self, Ask, Gpu, OtherCard, Policy, Refusal, Scan, Variables, Verdict};
//!
//! let file = |path: &str| -> Option<&str> {
//!     Some(match path {
//!         "dev/kfd" | "dev/dri/renderD128" => "",
//!         "sys/class/kfd/kfd/topology/nodes/1/gpu_id" => "40001\n",
//!         "sys/class/kfd/kfd/topology/nodes/1/properties" => {
//!             "simd_count 128\ngfx_target_version 120001\ndrm_render_minor 128\nunique_id 1229951820942719931\n"
//!         }
//!         "sys/class/drm/renderD128/device/mem_info_vram_total" => "34208743424\n",
//!         "sys/class/drm/renderD128/device/mem_info_vram_used" => "209715200\n",
//!         _ => return None,
//!     })
//! };
//! let mut scan = Scan::new([Gpu::default(); 8], [OtherCard::default(); 8]);
//! while let Some(ask) = scan.ask() {
//!     if let Ask::List(gpu::Folder::Nodes) = ask {
//!         scan.entry(b"1")?;
//!     }
//!     let path = ask.to_string();
//!     scan.answer(file(&path).map(str::as_bytes).ok_or(Refusal::Missing));
//! }
//! let found = scan.finish()?;
//! let gpu = &found.gpus()[0];
//! assert_eq!((gpu.target.unwrap().to_string(), gpu.vram.free()), ("gfx1201".into(), Some(33_999_028_224)));
//!
//! let mut verdicts = [Verdict::default(); 8];
//! let choice = gpu::choose(found.gpus(), &Policy::default(), &Variables::default(), &mut verdicts)?;
//! assert_eq!(choice.chosen.unwrap().why.name(), "only_usable");
//! # Ok::<(), rocload_core::Full>(())
//! ```
//!
//! Source: the kernel's `amdgpu` documentation and `kfd_topology.c`; libhsakmt and ROCr.

pub mod ask;
pub mod card;
pub mod choose;
pub mod device;
pub mod mask;
pub mod node;
pub mod number;
pub mod overrides;
mod pci;
pub mod problem;
pub mod scan;
pub mod settle;
mod target;
pub mod visible;

pub use ask::{Ask, DeviceFile, Dir, Field, File, Folder, Refusal};
pub use card::{Card, Memory};
pub use choose::{Choice, Chosen, Policy, Reason, Verdict, Why, choose, chosen};
pub use device::{Access, Evidence, Gpu, Kind, Partition, Uuid};
pub use mask::{Mask, mask};
pub use node::Node;
pub use overrides::{BadOverride, Override};
pub use pci::{PciAddress, Uevent};
pub use problem::{Problem, problem};
pub use scan::{Found, OtherCard, Refresh, Scan};
pub use settle::Settle;
pub use target::Target;
pub use visible::Variables;
