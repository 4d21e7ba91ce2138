//! What to do: which remedy, the plan as one strategic merge patch, and the proof that it does what it should.

pub mod choose;
mod grace;
pub mod patch;
pub mod plan;
pub mod record;
mod target;
pub mod verify;

pub use choose::{Choice, Remedy, choose};
pub use plan::{Change, Place, Plan, Planned, Refusal, plan};
pub use verify::Violation;
