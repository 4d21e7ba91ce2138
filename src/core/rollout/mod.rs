//! When and in which order: the step function that names the next effect, and what it waits for.

mod effect;
mod fit;
mod gate;
mod kill_loop;
mod offline;
mod outcome;
mod pod_template;
mod step;
mod usable;
mod window;

pub use effect::{Answer, DialTarget, Effect, FitQuestion, Memory, Observation, PodOf};
pub use fit::{node_capacity, shortage};
pub use gate::is_rolling;
pub use kill_loop::{KillLoop, kill_loop};
pub use offline::{Judgement, judge};
pub use outcome::{Decision, Outcome};
pub use pod_template::render_pod;
pub use step::{Progress, foresee, step};
pub use usable::policy_problems;
pub use window::{Windows, windows};
