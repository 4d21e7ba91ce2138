#![no_main]
//! `cargo fuzz run -s none command fuzz/seeds/command`

#[path = "../inputs.rs"]
mod inputs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inputs::command(bytes));
