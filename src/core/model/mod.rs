//! What is there: views on a workload's JSON, and what is known of the engines that run in it.

pub mod command;
pub mod engine;
pub mod files;
pub mod owner;
pub mod patroni;
pub mod pod;
pub mod pointer;
pub mod policy;
pub mod probe;
pub mod qos;
pub mod quantity;
pub mod weight;
pub mod workload;
