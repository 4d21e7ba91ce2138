//! What the operator would decide about a live object, as far as reading tells.

use super::{Next, Path};
use crate::core::remedy::Refusal;
use crate::core::rollout::{Decision, Judgement, Observation, Outcome};

/// Judges a live object as the operator does, with its owner and its record, up to where the server would be asked to
/// prove the patch. What the server, the nodes and the ports would say is taken to be yes; what the gates say is not.
#[must_use]
pub fn foresee(observation: &Observation) -> Judgement {
    let path = Path { observation };
    let case = path.case(None);
    let containers = case
        .containers
        .iter()
        .map(|examined| (examined.container.name.to_owned(), examined.database.clone()))
        .collect();
    let outcome = path.without_server();
    Judgement {
        containers,
        ignored: case.left_out(),
        findings: outcome.findings,
        decision: outcome.decision,
        reason: outcome.reason,
        message: outcome.message,
        plan: outcome.plan,
    }
}

impl Path<'_> {
    fn without_server(&self) -> Outcome {
        let next = match self.start() {
            Next::Effect(work, _) => self.dry_run_workload(work),
            done @ Next::Done(_) => done,
        };
        let work = match next {
            Next::Done(outcome) => return *outcome,
            Next::Effect(work, _) => work,
        };
        if self.observation.workload.kind() != "StatefulSet" {
            let message = "the operator writes to StatefulSets only; this patch would cure it, put it where the object comes from";
            return *self.end(*work, Decision::Advise, "Planned", &Refusal::new("OtherKind", message.to_owned()));
        }
        match self.gates(work) {
            Next::Done(outcome) => *outcome,
            Next::Effect(work, _) => {
                let rules: std::collections::BTreeSet<_> = work.plan.cured.iter().map(|(rule, _)| *rule).collect();
                let rules = rules.into_iter().collect::<Vec<_>>().join(", ");
                let message = format!("a patch would cure {rules}, if the server's dry-runs agree");
                *self.end(*work, Decision::Patch, "Planned", &Refusal::new("Fixable", message))
            }
        }
    }
}
