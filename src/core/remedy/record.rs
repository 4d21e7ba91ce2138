//! What a write leaves behind: two annotations, in the same patch as the template.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::Change;
use crate::api::{ORIGINAL_ANNOTATION, STATE_ANNOTATION};
use crate::core::model::workload::Workload;

/// The operator's own record on an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The version of this record.
    pub version: u32,
    /// The digest of the plan that was written last.
    pub plan: String,
    /// Writes so far.
    pub writes: i32,
    /// The digests of plans that were written before that one, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
}

/// Earlier plans that are remembered; an object that went through more of them has other worries.
const MOST_EARLIER: usize = 16;

impl State {
    /// Whether a plan was ever written.
    #[must_use]
    pub fn wrote(&self, digest: &str) -> bool {
        self.plan == digest || self.earlier.iter().any(|earlier| earlier == digest)
    }

    /// Reads the record of a workload. None where there is none; an error where it cannot be read, which is a reason
    /// not to write.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(workload: &Workload) -> Result<Option<Self>, String> {
        let Some(text) = workload.annotation(STATE_ANNOTATION) else { return Ok(None) };
        let state: Self = serde_json::from_str(text).map_err(|error| format!("{STATE_ANNOTATION}: {error}"))?;
        if state.version != 1 {
            return Err(format!("{STATE_ANNOTATION}: written by a newer version ({})", state.version));
        }
        Ok(Some(state))
    }
}

/// The annotations of a write: what it replaces, and the record of the write itself. An original that an earlier
/// write recorded stays.
#[must_use]
pub fn annotations(workload: &Workload, changes: &[Change], digest: &str, writes: i32) -> Value {
    let earlier = workload.annotation(ORIGINAL_ANNOTATION).unwrap_or("");
    let mut lines: BTreeMap<String, String> =
        changes.iter().map(|change| (change.subject(), change.original())).collect();
    for line in earlier.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.splitn(3, ' ');
        if let (Some(place), Some(field), Some(value)) = (words.next(), words.next(), words.next()) {
            lines.insert(format!("{place} {field}"), value.to_owned());
        }
    }
    let original: Vec<String> = lines.into_iter().map(|(subject, value)| format!("{subject} {value}")).collect();
    let mut written = State::read(workload).ok().flatten().map_or_else(Vec::new, |state| {
        state.earlier.into_iter().chain([state.plan]).filter(|plan| plan != digest).collect::<Vec<_>>()
    });
    let earlier = written.split_off(written.len().saturating_sub(MOST_EARLIER));
    let state = State { version: 1, plan: digest.to_owned(), writes, earlier };
    let state = serde_json::to_string(&state).unwrap_or_default();
    serde_json::json!({ ORIGINAL_ANNOTATION: original.join("\n"), STATE_ANNOTATION: state })
}
