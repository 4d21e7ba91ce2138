use super::window::window_problems;
use crate::core::detect::RULES;
use crate::core::model::policy::Policy;

/// What makes a policy unusable although the API server let it through, with the field of each. Nothing is written
/// under such a policy: a rule that was to be left out may be the one with the typing mistake.
#[must_use]
pub fn policy_problems(policy: &Policy) -> Vec<String> {
    let mut problems = policy.problems();
    let rules = &policy.spec.rules;
    for (field, ids) in [("disable", &rules.disable), ("optIn", &rules.opt_in)] {
        let unknown: Vec<_> = ids.iter().filter(|id| !RULES.iter().any(|rule| rule.id == **id)).cloned().collect();
        if !unknown.is_empty() {
            let known: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
            problems.push(format!(
                "spec.rules.{field}: this version has no rule {}; it has {}",
                unknown.join(", "),
                known.join(", ")
            ));
        }
    }
    problems.extend(window_problems(&policy.spec.rollout.windows));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::PolicySpec;
    use crate::core::model::policy::PolicyReference;
    use serde_json::json;

    #[test]
    fn every_problem_names_its_field() {
        let spec: PolicySpec = serde_json::from_value(json!({
            "rules": {"disable": ["RP004", "RP099"], "optIn": ["RP006", "RP098"]},
            "rollout": {"windows": [{"schedule": "* * * * *", "duration": "1h"},
                {"schedule": "0 2 * * FRI-MON", "duration": "3h"},
                {"schedule": "0 2 * * 6", "duration": "3h", "timeZone": "Europe/Atlantis"}]},
        }))
        .unwrap();
        let reference = PolicyReference { namespace: None, name: "a".to_owned() };
        let problems = policy_problems(&Policy { reference, spec, namespace_selector: None });
        let fields: Vec<_> = problems.iter().filter_map(|problem| problem.split_once(": ")).map(|(f, _)| f).collect();
        assert_eq!(
            fields,
            ["spec.rules.disable", "spec.rules.optIn", "spec.rollout.windows[1]", "spec.rollout.windows[2]"],
            "{problems:?}"
        );
        assert!(problems[0].contains("no rule RP099; it has RP001"), "{problems:?}");
    }
}
