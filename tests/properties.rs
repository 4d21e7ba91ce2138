//! What holds for every workload, every policy and every sequence of answers.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

#[path = "properties/answers.rs"]
mod answers;
#[path = "properties/generate.rs"]
mod generate;
#[path = "properties/hostile.rs"]
mod hostile;
#[path = "properties/sound.rs"]
mod sound;
#[path = "properties/tampered.rs"]
mod tampered;

/// Cases for each property; `PROPTEST_CASES` asks for more.
fn config() -> proptest::test_runner::Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256);
    // The seeds of failures belong into tests with a name, not into files.
    proptest::test_runner::Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Default::default() }
}
