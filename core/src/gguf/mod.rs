//! GGUF model files: header, metadata, tensors, memory fit.

pub mod file_type;
pub mod ggml;

pub use file_type::FileType;
pub use ggml::GgmlType;
