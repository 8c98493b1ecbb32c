//! GGUF model files: header, metadata, tensors, memory fit.
