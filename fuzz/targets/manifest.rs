#![no_main]
//! `cargo fuzz run -s none manifest fuzz/seeds/manifest`

#[path = "../inputs.rs"]
mod inputs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inputs::manifest(bytes));
