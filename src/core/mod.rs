//! The decisions, pure: no clock, no randomness, no environment, no files, no network, no async.
//!
//! A corridor of four rooms, each using only those before it:
//!
//! - [`model`]: what is there. Workloads as JSON that is never re-serialised through types, probes with the API's
//!   defaults, exact quantities, owners, and what is known of each database engine.
//! - [`detect`]: what is wrong. One file per rule; findings with the arithmetic they rest on.
//! - [`remedy`]: what to do about it. The strategic merge patch, its local application, its verification.
//! - [`rollout`]: when and in which order. The step function that names the next effect.

pub mod detect;
pub mod model;
pub mod remedy;
pub mod rollout;
