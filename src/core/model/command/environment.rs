//! What the manifest says of the environment in which a probe's command runs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::core::model::workload::Container;

/// The environment variables that a manifest defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Environment {
    /// With the value where it is stated; a secret's or a field's is not.
    variables: BTreeMap<String, Option<String>>,
    /// It is all that the manifest defines: nothing comes from a whole `ConfigMap` or `Secret`.
    is_complete: bool,
}

impl Environment {
    pub(super) fn of(container: &Container<'_>) -> Self {
        let mut variables = BTreeMap::new();
        for (name, value) in container.environment() {
            let is_reference = container
                .json
                .get("env")
                .and_then(Value::as_array)
                .is_some_and(|entries| entries.iter().any(|entry| is_referenced(entry, name)));
            // `$(OTHER)` in it may also name a Service's variable, which no manifest shows.
            let value = match value {
                Some(text) if text.contains("$(") => None,
                Some(text) => Some(text.replace("$$", "$")),
                None if is_reference => None,
                None => Some(String::new()),
            };
            variables.insert(name.to_owned(), value);
        }
        let from = container.json.get("envFrom").and_then(Value::as_array);
        Self { variables, is_complete: from.is_none_or(Vec::is_empty) }
    }

    pub(super) fn known(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
    }

    /// Whether the manifest gives it a value, known or not.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// Whether the manifest leaves this variable to the image. What every process or pod has is never left out.
    pub(super) fn leaves_out(&self, name: &str) -> bool {
        const EVERYWHERE: [&str; 8] = ["HOME", "HOSTNAME", "PATH", "PWD", "SHELL", "USER", "TERM", "LANG"];
        let of_a_service = name.contains("_SERVICE_") || name.contains("_PORT") || name.starts_with("KUBERNETES_");
        self.is_complete && !self.variables.contains_key(name) && !EVERYWHERE.contains(&name) && !of_a_service
    }
}

fn is_referenced(entry: &Value, name: &str) -> bool {
    entry.get("name").and_then(Value::as_str) == Some(name)
        && entry.get("valueFrom").is_some_and(|from| !from.is_null())
}

/// What the kubelet makes of `$(NAME)` in a probe's command: only what `env` states itself, as it stands there.
/// A variable with `valueFrom` becomes empty, an undefined one stays, `$$` becomes `$`.
///
/// Source: kubernetes/kubernetes `pkg/kubelet/prober/prober.go` (`ExpandContainerCommandOnlyStatic`),
/// `pkg/kubelet/container/helpers.go` and `third_party/forked/golang/expansion/expand.go`.
pub(super) fn expand(word: &str, container: &Container<'_>) -> String {
    let mut expanded = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            // Of two with one name the last counts.
            if let Some((_, value)) = container.environment().filter(|(defined, _)| *defined == name).last() {
                expanded.push_str(value.unwrap_or(""));
            } else {
                expanded.extend(["$(", name, ")"]);
            }
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::pointer::Pointer;
    use crate::core::model::workload::containers_of;
    use serde_json::json;

    #[test]
    fn the_kubelet_expands_what_env_states() {
        let spec = json!({"containers": [{"name": "a", "env": [
            {"name": "PORT", "value": "1"},
            {"name": "PORT", "value": "6380"},
            {"name": "NESTED", "value": "$(PORT)"},
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
        ]}]});
        let containers = containers_of(&spec, &Pointer::root());
        for (word, expected) in [
            ("-p$(PORT)", "-p6380"),
            ("$(PASSWORD)", ""),
            ("$(MISSING) $(redis-cli ping)", "$(MISSING) $(redis-cli ping)"),
            ("$$(PORT)", "$(PORT)"),
            ("$(NESTED)", "$(PORT)"),
            ("$PORT ${PORT} $", "$PORT ${PORT} $"),
            ("$$$$", "$$"),
            ("$(PORT", "$(PORT"),
        ] {
            assert_eq!(expand(word, &containers[0]), expected, "{word}");
        }
        let environment = Environment::of(&containers[0]);
        assert_eq!(environment.known().collect::<Vec<_>>(), [("PORT", "6380")]);
        assert!(
            environment.leaves_out("POD_IP") && !environment.leaves_out("PASSWORD") && !environment.leaves_out("HOME")
        );
    }
}
