//! Keeps databases on Kubernetes from being killed by their own health checks.

pub mod api;
#[cfg(feature = "controller")]
pub mod cli;
pub mod core;
