//! The report as JSON, and its schema.

use std::io::{self, Write};

use serde_json::Value;

use super::{PrintError, Report};

/// The JSON Schema of the report, as `reprieve scan --print-schema` prints it. Within a version fields are only added.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Report).to_value()
}

pub(super) fn print(report: &Report) -> Result<String, PrintError> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}
