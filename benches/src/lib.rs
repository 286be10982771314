//! Shared nothing: see `benches/`.
