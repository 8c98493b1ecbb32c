//! Telling what a stored code object is.
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

mod elf;
mod identify;
mod processor;

pub use elf::{ElfTarget, Feature};
pub use identify::{Method, Object, identify};
