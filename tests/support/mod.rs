//! A server that can be scripted, and a judge that shares no code with the one under test.
//!
//! The core's step function is driven as the controller drives it. What the server answers is worked out here: the
//! patch is applied, the API's defaults are filled in, and pods are validated as far as probes and resources go.

#![allow(dead_code, reason = "each test program uses a part of this")]
#![allow(unreachable_pub, missing_docs, reason = "shared between test programs, seen by nobody else")]

pub mod defaults;
pub mod judge;
pub mod server;
pub mod world;
