//! Whatever is written is sound by the judge's rules, and needs no second look.

use proptest::prelude::*;
use reprieve::core::detect::{Applicability, Case, Finding, detect};
use reprieve::core::model::policy::Policy;
use reprieve::core::model::workload::Workload;
use reprieve::core::remedy::{Planned, Remedy, patch, plan};
use reprieve::core::rollout::{Decision, Effect};
use serde_json::Value;

use crate::config;
use crate::generate::{manifests, policies, stored};
use crate::support::defaults;
use crate::support::judge::{self, differences};
use crate::support::server::Server;
use crate::support::world::{run, stated};

fn findings(object: &Value, policy: &Policy) -> Vec<Finding> {
    let workload = Workload::new(object.clone());
    detect(&Case::new(&workload, &policy.spec, None))
}

fn plan_for(object: &Value, policy: &Policy, remedy: Remedy) -> Planned {
    let workload = Workload::new(object.clone());
    let case = Case::new(&workload, &policy.spec, None);
    plan(&case, &detect(&case), remedy, true)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_write_is_sound_and_the_last(manifest in manifests(), policy in policies()) {
        let mut server = Server::of_old(&manifest);
        let before = server.stored.clone();
        let first = run(&mut server, &policy);
        if let Some(body) = first.applied() {
            prop_assert_eq!(first.outcome.decision, Decision::Patch, "{}", first.outcome.message);
            let allowance = i64::from(policy.spec.startup.recovery_allowance_seconds);
            judge::assert_sound(&before, &server.stored, body, allowance, &stated(&policy));
            let again = run(&mut server, &policy);
            prop_assert!(again.applied().is_none(), "a second write: {:?}", again.applied());
            prop_assert!(again.effects.is_empty(), "not at rest: {}: {:?}", again.outcome.message, again.effects);
        } else {
            prop_assert_eq!(&server.stored, &before);
            // Its own verification must never be what stops a plan: then the plan was wrong.
            prop_assert_ne!(first.outcome.reason, "VerificationFailed", "{}", first.outcome.message);
            prop_assert_ne!(first.outcome.reason, "PodNotAsPlanned", "{}", first.outcome.message);
        }
    }

    /// On a manifest, where nothing is filled in, and on the object that the server makes of it.
    #[test]
    fn planning_on_the_result_of_a_plan_gives_nothing(manifest in manifests(), policy in policies(), swap: bool) {
        let remedy = if swap { Remedy::Swap } else { Remedy::Additive };
        for object in [manifest.clone(), stored(&manifest)] {
            let Planned::Plan(planned) = plan_for(&object, &policy, remedy) else { continue };
            let raw = patch::apply(&object, &planned.template_patch).unwrap();
            let filled = stored(&raw);
            for after in [raw, filled] {
                if let Planned::Plan(again) = plan_for(&after, &policy, remedy) {
                    prop_assert!(false, "a plan after the plan: {}", again.template_patch);
                }
            }
        }
    }

    #[test]
    fn nothing_worse_appears(manifest in manifests(), policy in policies(), swap: bool) {
        let remedy = if swap { Remedy::Swap } else { Remedy::Additive };
        let object = stored(&manifest);
        let before = findings(&object, &policy);
        let Planned::Plan(planned) = plan_for(&object, &policy, remedy) else { return Ok(()) };
        let patched = stored(&patch::apply(&object, &planned.template_patch).unwrap());
        let after = findings(&patched, &policy);
        for found in &after {
            let earlier = before.iter().find(|finding| finding.key() == found.key());
            let worst = before.iter().filter(|f| f.container == found.container).map(|f| f.severity).max();
            if let Some(earlier) = earlier {
                prop_assert!(found.severity <= earlier.severity, "{found} was {earlier}");
            } else {
                prop_assert!(Some(found.severity) <= worst, "new: {found}");
                // A probe that the API refused had no meaning before.
                let was = object.pointer(found.pointer.as_str());
                let was_refused = was.is_some_and(|probe| judge::handlers(probe).len() != 1);
                // Of one that stays more may be known now, such as which port is the client port.
                let is_touched = was != patched.pointer(found.pointer.as_str());
                let of_checks = ["RP012", "RP016", "RP019"].contains(&found.rule);
                let is_new = of_checks && is_touched && !was_refused;
                prop_assert!(!is_new, "new: {found}");
            }
        }
        // Something for which a patch was sent is gone.
        let is_safe = |finding: &&Finding| finding.applicability == Applicability::Safe;
        let gone = |finding: &Finding| !after.iter().filter(is_safe).any(|found| found.key() == finding.key());
        prop_assert!(before.iter().filter(is_safe).any(gone));
    }

    /// The owner's next apply of the same manifest changes nothing back, because nothing that they state was changed.
    #[test]
    fn additive_leaves_what_an_owner_states(manifest in manifests(), policy in policies()) {
        let known = manifest["metadata"]["annotations"].get("kubectl.kubernetes.io/last-applied-configuration").is_some()
            || manifest["metadata"]["managedFields"][0]["operation"] == "Apply";
        let mut server = Server::of_old(&manifest);
        let before = server.stored.clone();
        let first = run(&mut server, &policy);
        let Some(plan) = &first.outcome.plan else { return Ok(()) };
        if first.outcome.owner == "nobody re-applies it" {
            return Ok(());
        }
        if plan.remedy != Remedy::Additive || first.applied().is_none() {
            return Ok(());
        }
        if known {
            let mut reapplied = patch::apply(&server.stored, &serde_json::json!({"spec": manifest["spec"]})).unwrap();
            defaults::stateful_set(&mut reapplied);
            prop_assert_eq!(differences(&server.stored["spec"], &reapplied["spec"]), Vec::<String>::new());
        } else {
            // Where it cannot be told what they state, whatever is there may be stated.
            for place in differences(&before["spec"], &server.stored["spec"]) {
                let was = before["spec"].pointer(&place).filter(|value| !value.is_null());
                prop_assert!(was.is_none() || was == Some(&serde_json::json!({})), "{} was {:?}", place, was);
            }
        }
    }

    #[test]
    fn only_enforce_writes(manifest in manifests(), policy in policies()) {
        let mut server = Server::of_old(&manifest);
        let first = run(&mut server, &policy);
        let writes = first.effects.iter().filter(|effect| matches!(effect, Effect::Apply(_))).count();
        prop_assert!(writes <= 1);
        let may = policy.enforces() && policy.spec.remedy != reprieve::api::RemedyChoice::Suggest;
        prop_assert!(may || writes == 0);
        prop_assert_eq!(server.writes, writes);
        let everything = manifest["metadata"]["annotations"]["reprieve.dev/ignore"] == "*";
        let owned = manifest["metadata"].get("ownerReferences").is_some();
        prop_assert!(writes == 0 || !(everything || owned));
    }
}
