//! Plots, as SVG that needs nothing else.

pub mod bars;
pub mod lines;
mod svg;
