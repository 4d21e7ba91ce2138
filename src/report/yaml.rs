//! The report as YAML, in the shape of the JSON.

use super::{PrintError, Report};

pub(super) fn print(report: &Report) -> Result<String, PrintError> {
    Ok(serde_yaml::to_string(report)?)
}
