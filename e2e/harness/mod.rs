//! A real control plane for tests: etcd, kube-apiserver and kube-controller-manager, started and stopped by the test
//! itself. There is no kubelet and no scheduler; [`kubelet::Kubelet`] plays them by writing what they would write.
//!
//! Two programs include this module, the scenarios and the demo.
#![allow(dead_code, unused_imports, reason = "each of the two programs uses only a part")]

pub mod access;
pub mod account;
pub mod binaries;
pub mod certificates;
pub mod cluster;
pub mod control_plane;
pub mod failure;
pub mod guardian;
pub mod intercept;
pub mod kubelet;
pub mod namespace;
pub mod operator;
pub mod tcp;
pub mod wait;

pub use cluster::Cluster;
pub use failure::{Context, Failure};
pub use namespace::Namespace;
