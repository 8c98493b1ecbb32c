//! The protocol of llama-server.
