//! What a write leaves behind: two annotations, in the same patch as the template.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{Change, POD_PLACE, value_of, value_text};
use crate::api::{ORIGINAL_ANNOTATION, STATE_ANNOTATION};
use crate::core::model::probe::Timing;
use crate::core::model::quantity::Quantity;
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
    /// What was written, by subject as in the record of originals: a value that is another one by now is its owner's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Digest of what the policy asked for then; see [`super::Plan::policy`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
}

/// Earlier plans that are remembered; an object that went through more of them has other worries.
const MOST_EARLIER: usize = 16;

impl State {
    /// Whether a plan was ever written.
    #[must_use]
    pub fn wrote(&self, digest: &str) -> bool {
        self.plan == digest || self.earlier.iter().any(|earlier| earlier == digest)
    }

    /// Whether everything that was written is still there. What belongs to a container that is gone does not count.
    #[must_use]
    pub fn is_in_force(&self, workload: &Workload) -> bool {
        self.values.iter().all(|(subject, written)| is_in_force(workload, subject, written).unwrap_or(true))
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

/// Whether the value of a subject (`CONTAINER/PROBE FIELD`) is the one that was written. None where there is no such
/// container.
fn is_in_force(workload: &Workload, subject: &str, written: &str) -> Option<bool> {
    let (place, field) = subject.split_once(' ')?;
    if place == POD_PLACE {
        let found = value_of(workload.pod_spec(), field).map(|found| value_text(field, found));
        return Some(found.as_deref() == Some(written));
    }
    let (name, section) = place.split_once('/')?;
    let container = workload.container(name)?;
    let section = if section == "resources" { section.to_owned() } else { format!("{section}Probe") };
    let Some(found) = value_of(container.json.get(section), field) else {
        // A value that is the API's default may be left out by the server.
        let timing = Timing::ALL.iter().find(|timing| timing.field() == field);
        return Some(written == "-" || timing.is_some_and(|timing| timing.default_value().to_string() == written));
    };
    let same_amount = || {
        let (found, written) = (Quantity::from_json(found).ok()?, Quantity::parse(written).ok()?);
        Some(found == written)
    };
    let is_amount = field.starts_with("requests.") || field.starts_with("limits.");
    Some(value_text(field, found) == written || (is_amount && same_amount() == Some(true)))
}

/// The annotations of a write: what it replaces, and the record of the write itself. An original that an earlier
/// write recorded stays as long as the value is the one that was written then; a value that its owner has put in its
/// place meanwhile is the original now.
#[must_use]
pub fn annotations(workload: &Workload, changes: &[Change], digest: &str, writes: i32, policy: &str) -> Value {
    let before = State::read(workload).ok().flatten().unwrap_or_default();
    let earlier = workload.annotation(ORIGINAL_ANNOTATION).unwrap_or("");
    let mut lines: BTreeMap<String, String> =
        changes.iter().map(|change| (change.subject(), change.original())).collect();
    for line in earlier.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.splitn(3, ' ');
        if let (Some(place), Some(field), Some(value)) = (words.next(), words.next(), words.next()) {
            let subject = format!("{place} {field}");
            let is_ours = match (lines.get(&subject), before.values.get(&subject)) {
                (Some(today), Some(written)) => today == written,
                _ => true,
            };
            if is_ours {
                lines.insert(subject, value.to_owned());
            }
        }
    }
    let original: Vec<String> = lines.into_iter().map(|(subject, value)| format!("{subject} {value}")).collect();
    let is_other = |plan: &String| !plan.is_empty() && plan != digest;
    let mut written: Vec<String> = before.earlier.into_iter().chain([before.plan]).filter(is_other).collect();
    let earlier = written.split_off(written.len().saturating_sub(MOST_EARLIER));
    let mut values = before.values;
    values.extend(changes.iter().map(|change| (change.subject(), change.becomes())));
    let state = State { version: 1, plan: digest.to_owned(), writes, earlier, values, policy: policy.to_owned() };
    let state = serde_json::to_string(&state).unwrap_or_default();
    serde_json::json!({ ORIGINAL_ANNOTATION: original.join("\n"), STATE_ANNOTATION: state })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::workload::ContainerList;
    use crate::core::remedy::Place;
    use serde_json::json;

    fn change(field: &str, from: Option<Value>, to: Option<Value>) -> Change {
        let (list, name) = (ContainerList::Containers, "db".to_owned());
        let place = Place::Container { list, name, section: "livenessProbe" };
        Change { place, field: field.to_owned(), from, to }
    }

    fn write(workload: &mut Workload, changes: &[Change], digest: &str) -> (String, State) {
        let written = annotations(workload, changes, digest, 1, "");
        *workload = Workload::new(json!({"metadata": {"annotations": written}}));
        let original = workload.annotation(ORIGINAL_ANNOTATION).unwrap().to_owned();
        (original, State::read(workload).unwrap().unwrap())
    }

    #[test]
    fn the_first_original_stays_while_the_value_is_ours() {
        let mut workload = Workload::new(json!({}));
        let delay = |from: i64, to: i64| change("initialDelaySeconds", Some(json!(from)), Some(json!(to)));
        write(&mut workload, &[delay(300, 60)], "a");
        let (original, state) = write(&mut workload, &[delay(60, 90)], "b");
        assert_eq!(original, "db/liveness initialDelaySeconds 300");
        assert_eq!((state.plan.as_str(), state.earlier), ("b", vec!["a".to_owned()]));
        // The owner wrote another one meanwhile: that is what they get back, and what the next apply brings.
        let (original, _) = write(&mut workload, &[delay(700, 90)], "c");
        assert_eq!(original, "db/liveness initialDelaySeconds 700");
    }

    #[test]
    fn what_is_not_touched_again_keeps_its_line() {
        let mut workload = Workload::new(json!({}));
        let command = json!({"command": ["sh", "-c", "pg_isready\n -U a"]});
        write(
            &mut workload,
            &[change("exec", Some(command), None), change("tcpSocket", None, Some(json!({"port": 1})))],
            "a",
        );
        let (original, state) = write(&mut workload, &[change("timeoutSeconds", Some(json!(1)), Some(json!(5)))], "b");
        assert_eq!(
            original.lines().collect::<Vec<_>>(),
            ["db/liveness exec sh -c pg_isready  -U a", "db/liveness tcpSocket -", "db/liveness timeoutSeconds 1"]
        );
        assert_eq!(state.values["db/liveness tcpSocket"], "1");
        assert_eq!(state.values["db/liveness exec"], "-");
    }

    #[test]
    fn only_so_many_plans_are_remembered() {
        let mut workload = Workload::new(json!({}));
        for turn in 0..40 {
            write(&mut workload, &[], &format!("plan {turn}"));
        }
        let state = State::read(&workload).unwrap().unwrap();
        assert!(state.wrote("plan 39") && state.wrote("plan 38") && state.wrote("plan 23"));
        assert_eq!((state.earlier.len(), state.wrote("plan 22")), (MOST_EARLIER, false));
        let again = write(&mut workload, &[], "plan 39").1;
        assert!(!again.earlier.contains(&"plan 39".to_owned()), "a plan stands once in it");
    }

    #[test]
    fn a_record_of_the_first_version_is_read() {
        let text = "{\"version\":1,\"plan\":\"ab\",\"writes\":3}";
        let workload = Workload::new(json!({"metadata": {"annotations": {STATE_ANNOTATION: text}}}));
        let state = State::read(&workload).unwrap().unwrap();
        assert_eq!((state.plan.as_str(), state.writes, state.earlier.len()), ("ab", 3, 0));
    }
}
