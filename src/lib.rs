//! Keeps databases on Kubernetes from being killed by their own health checks.
//!
//! Data flows one way: `cli` and `controller` observe, [`core`] decides, `cluster` carries out what it names,
//! [`manifest`] reads what stands in files, and [`api`] is what people write and read. The core knows none of those
//! above it and is built alone with `--no-default-features`.

pub mod api;
#[cfg(feature = "controller")]
pub mod cli;
#[cfg(feature = "controller")]
pub mod cluster;
#[cfg(feature = "controller")]
pub mod controller;
pub mod core;
pub mod manifest;
pub mod report;
#[cfg(feature = "controller")]
pub mod telemetry;
