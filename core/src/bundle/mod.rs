//! Code objects and what they come in: binaries, offload bundles, compressed ones.
//!
//! Compilers put device code for several targets into one offload bundle ([`Bundles`]), compress
//! that or not ([`ccob`]), and put it into a section of the binary ([`Sections`]), where a wrapper
//! ([`Wrapper`]) leads to it. All of this is inspection and extraction: no binary is rewritten.
//!
//! ```
//! use rocload_core::bundle::{Bundles, Part};
//! use rocload_core::{Limits, Machine, Need, visit};
//!
//! let mut region = b"__CLANG_OFFLOAD_BUNDLE__\x01\0\0\0\0\0\0\0".to_vec();
//! for number in [82u64, 4, 26] {
//!     region.extend_from_slice(&number.to_le_bytes());
//! }
//! region.extend_from_slice(b"hip-amdgcn-amd-amdhsa--p:xcode");
//!
//! let mut bundles = Bundles::new(0, region.len() as u64, &Limits::default());
//! let mut found = Vec::new();
//! while let Need::At { offset, .. } = bundles.need() {
//!     visit(&mut bundles, offset, &region[offset as usize..], |part| {
//!         if let Part::Entry(entry) = part {
//!             found.push((entry.target().unwrap().to_vec(), entry.offset, entry.size));
//!         }
//!     })?;
//! }
//! assert_eq!(found, [(b"p:x".to_vec(), 82, 4)]);
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! # Telling what a stored code object is
//!
//! An archive calls what it stores "hsaco", and yet it may be one ELF file, several back to
//! back, a clang offload bundle, or a compressed one. [`identify`] looks at the bytes and
//! decides; for an ELF file it also reads off the processor and the target features that the
//! code was made for. It inspects and never decodes; nothing here is needed to load a kernel.
//!
//! ```
//! use rocload_core::bundle::{Object, identify};
//!
//! // The header of a code object of version 4: gfx90a, sramecc on, xnack off.
//! let mut elf = [0u8; 64];
//! elf[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x40\x02");
//! elf[18] = 224;
//! elf[48..50].copy_from_slice(&0x0e3fu16.to_le_bytes());
//!
//! let object = identify(&elf);
//! assert_eq!(object.name(), "elf");
//! assert_eq!(object.target().unwrap().to_string(), "gfx90a:sramecc+:xnack-");
//! assert_eq!(identify(b"no code object"), Object::Unknown);
//! ```
//!
//! Sources: kpack format, sections 1 and 7; the LLVM documents "User Guide for AMDGPU Backend"
//! (ELF header, code object versions) and "Clang Offload Bundler" (bundle and CCOB layouts).

pub mod ccob;
mod elf;
mod fault;
mod identify;
mod processor;
mod region;
mod section;
mod sections;
#[cfg(test)]
mod tests;
mod wrapper;

pub use elf::{ElfTarget, Feature};
pub use fault::Fault;
pub use identify::{Method, Object, identify};
pub use region::{Bundles, BundlesKind, Ccob, Entry, Part};
pub use section::{Format, Section, SectionKind};
pub use sections::{Sections, SectionsKind};
pub use wrapper::{WRAPPER_LEN, WRAPPER_POINTER, Wrapper, WrapperKind};
