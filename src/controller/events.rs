//! Events: what happened, where people look first (`kubectl describe`).

use kube::runtime::events::{Event, EventType};

use crate::cluster::{Cluster, Kind};
use crate::core::model::workload::Workload;
use crate::core::rollout::{Decision, Outcome};

/// The API refuses longer notes.
const MOST_BYTES: usize = 1024;

/// Publishes an outcome on its workload. An event that cannot be written is logged and forgotten.
pub(super) async fn publish(cluster: &Cluster, workload: &Workload, outcome: &Outcome) {
    let type_ = match outcome.decision {
        Decision::Refuse | Decision::Halt => EventType::Warning,
        Decision::Noop | Decision::Patch | Decision::Advise | Decision::Defer => EventType::Normal,
    };
    // The recorder takes events of one reason and action for the same, whatever they say: the action tells apart
    // what was found.
    let rules: std::collections::BTreeSet<_> = outcome.findings.iter().map(|finding| finding.rule).collect();
    let rules = rules.into_iter().collect::<Vec<_>>().join(",");
    let action = if rules.is_empty() { outcome.decision.to_string() } else { format!("{} {rules}", outcome.decision) };
    let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
    let note = if findings.is_empty() {
        outcome.message.clone()
    } else {
        format!("{}. Found: {}", outcome.message.trim_end_matches('.'), findings.join("; "))
    };
    send(cluster, workload, type_, outcome.reason, &action, &note).await;
}

/// Says that an annotation names a policy that is not there: nothing else would.
pub(super) async fn publish_missing_policy(cluster: &Cluster, workload: &Workload, message: &str) {
    tracing::warn!(namespace = workload.namespace(), name = workload.name(), message, "no such policy");
    send(cluster, workload, EventType::Warning, "PolicyMissing", "Select", message).await;
}

async fn send(cluster: &Cluster, workload: &Workload, type_: EventType, reason: &str, action: &str, note: &str) {
    let event = Event {
        type_,
        reason: reason.to_owned(),
        note: Some(shorten(note)),
        action: action.chars().take(128).collect(),
        secondary: None,
    };
    if let Err(error) = cluster.publish(Kind::StatefulSet, workload.json(), &event).await {
        tracing::warn!(namespace = workload.namespace(), name = workload.name(), %error, "cannot write an event");
    }
}

fn shorten(note: &str) -> String {
    if note.len() <= MOST_BYTES {
        return note.to_owned();
    }
    let mut cut = MOST_BYTES - '…'.len_utf8();
    while !note.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}…", &note[..cut])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_notes_are_cut_between_characters() {
        let note = "ö".repeat(2000);
        assert!(shorten(&note).len() <= MOST_BYTES);
        assert_eq!(shorten("short"), "short");
    }
}
