//! Report of the measurements, as a page to read.

mod figures;
mod markdown;
mod page;
mod target;

pub use figures::{CostLevel, Figures, LoadLevel, RelayCost};
pub use page::render;
pub use target::{Bound, Target};
