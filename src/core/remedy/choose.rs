//! Which remedy a workload gets, by who re-applies it.

use std::fmt;

use super::Refusal;
use crate::api::RemedyChoice;
use crate::core::model::owner::Ownership;

/// How far a change may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Handlers and stated values may be replaced.
    Swap,
    /// Only what the owner left unsaid is set.
    Additive,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Swap => "Swap",
            Self::Additive => "Additive",
        })
    }
}

/// What is to be done with a workload, whatever its findings.
#[derive(Clone, Debug)]
pub enum Choice {
    /// This remedy.
    Remedy(Remedy),
    /// No write; the change that would be right, for the owner to make.
    Suggest {
        /// The change that is shown.
        remedy: Remedy,
        /// Why it is not written.
        because: String,
    },
    /// No write, and what stands against it.
    Refused(Refusal),
}

/// Chooses. A swap on an object that somebody re-applies makes their next apply fail with two handlers (the server
/// answers 422 to kubectl, Helm, Flux and Argo CD alike), so those get the additive remedy.
#[must_use]
pub fn choose(asked: RemedyChoice, ownership: &Ownership) -> Choice {
    if let Some(controller) = &ownership.controller {
        return Choice::Refused(Refusal::new(
            "OwnerManaged",
            format!(
                "{controller} controls it and would undo any write: change the probes in that object instead, see the suggested patch"
            ),
        ));
    }
    let strongest = if ownership.is_reapplied() { Remedy::Additive } else { Remedy::Swap };
    match asked {
        RemedyChoice::Auto => Choice::Remedy(strongest),
        RemedyChoice::Additive => Choice::Remedy(Remedy::Additive),
        RemedyChoice::Suggest => Choice::Suggest {
            remedy: strongest,
            because: "the policy asks for suggestions only (remedy: Suggest)".to_owned(),
        },
        RemedyChoice::Swap => match ownership.recognised().next() {
            None => Choice::Remedy(Remedy::Swap),
            Some(_) => Choice::Refused(Refusal::new(
                "SwapBreaksOwner",
                format!(
                    "remedy: Swap would make the next apply fail with two handlers; it is re-applied by {ownership}. Use Auto or Additive, or change the manifest there"
                ),
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::workload::Workload;
    use serde_json::json;

    fn owner(metadata: &serde_json::Value) -> Ownership {
        Ownership::read(&Workload::new(json!({ "metadata": metadata })))
    }

    #[test]
    fn nobody_swap_somebody_additive_controller_nothing() {
        let nobody = owner(&json!({}));
        let helm = owner(&json!({"annotations": {"meta.helm.sh/release-name": "db"}}));
        let operator = owner(&json!({"ownerReferences": [{"kind": "Postgres", "name": "a", "controller": true}]}));
        let word = |asked, ownership: &Ownership| match choose(asked, ownership) {
            Choice::Remedy(remedy) => remedy.to_string(),
            Choice::Suggest { remedy, .. } => format!("Suggest {remedy}"),
            Choice::Refused(refusal) => refusal.reason.to_owned(),
        };
        assert_eq!(word(RemedyChoice::Auto, &nobody), "Swap");
        assert_eq!(word(RemedyChoice::Auto, &helm), "Additive");
        assert_eq!(word(RemedyChoice::Swap, &helm), "SwapBreaksOwner");
        assert_eq!(word(RemedyChoice::Swap, &nobody), "Swap");
        assert_eq!(word(RemedyChoice::Suggest, &nobody), "Suggest Swap");
        for asked in [RemedyChoice::Auto, RemedyChoice::Swap, RemedyChoice::Additive, RemedyChoice::Suggest] {
            assert_eq!(word(asked, &operator), "OwnerManaged");
        }
    }
}
