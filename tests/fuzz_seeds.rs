//! What the fuzz targets do, over the seeds that are kept: among them whatever once broke something.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "../fuzz/inputs.rs"]
mod inputs;

use std::fs;
use std::path::Path;

fn every_seed(folder: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(folder);
    let mut seeds = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let outcome = std::panic::catch_unwind(|| target(&bytes));
        assert!(outcome.is_ok(), "broken by {}", path.display());
        seeds += 1;
    }
    assert!(seeds >= 10, "{} has only {seeds} seeds", folder.display());
}

#[test]
fn manifests() {
    every_seed("manifest", inputs::manifest);
}

#[test]
fn commands() {
    every_seed("command", inputs::command);
}
