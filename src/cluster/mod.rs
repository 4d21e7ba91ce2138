//! The only code that talks to the API server.

mod calls;
mod client;
mod config_maps;
mod error;
mod watch;

pub use calls::{Cluster, StatusTarget};
pub use client::{ConnectError, ConnectOptions, connect, patience};
pub use config_maps::ConfigMaps;
pub use error::{CallError, chain};
pub use watch::{Changed, Health, Kind, WatchState, watch};

pub use kube::runtime::reflector::{ObjectRef, Store};
