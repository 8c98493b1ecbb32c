//! GGUF model files: header, metadata, tensors, memory fit.

pub mod file_type;
pub mod fit;
pub mod ggml;
pub mod sniff;
pub mod split;

pub use file_type::FileType;
pub use ggml::GgmlType;
