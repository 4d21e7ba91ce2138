//! Keeps databases on Kubernetes from being killed by their own health checks.

pub mod api;
pub mod core;
