//! Files that `ConfigMap`s put into containers, so that a health script can be read like inline text.
//!
//! Secrets are never read. What is not sure (two volumes for one path, a key that is not there) has no text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

/// A text that is longer is no health script, and is not kept.
const MAX_TEXT: usize = 32 * 1024;
/// Nor is one under such a name.
const DATA: [&str; 16] = [
    "json",
    "yaml",
    "yml",
    "conf",
    "cnf",
    "xml",
    "properties",
    "toml",
    "sql",
    "html",
    "css",
    "ini",
    "cfg",
    "crt",
    "pem",
    "rules",
];

/// The `ConfigMap`s of one namespace, as far as they are known. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Files(Arc<BTreeMap<String, ConfigMap>>);

/// What is known of a `ConfigMap`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConfigMap {
    /// Its texts by key, as far as they may be scripts.
    Known(Arc<BTreeMap<String, String>>),
    /// Why it is not known, for people: as in "the operator may not get configmaps".
    Hidden(String),
}

impl ConfigMap {
    /// Reads an object, taking what it needs out of it.
    #[must_use]
    pub fn read(object: &mut Value) -> Self {
        let data = object.get_mut("data").map(Value::take);
        let Some(Value::Object(data)) = data else { return Self::Known(Arc::default()) };
        let texts = data.into_iter().filter_map(|(key, value)| match value {
            Value::String(text) if text.len() <= MAX_TEXT && !is_data(&key) => Some((key, text)),
            _ => None,
        });
        Self::Known(Arc::new(texts.collect()))
    }
}

fn is_data(key: &str) -> bool {
    key.rsplit_once('.').is_some_and(|(_, end)| DATA.contains(&end))
}

impl FromIterator<(String, ConfigMap)> for Files {
    fn from_iter<I: IntoIterator<Item = (String, ConfigMap)>>(maps: I) -> Self {
        Self(Arc::new(maps.into_iter().collect()))
    }
}

/// What a path in a container comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum File<'a> {
    /// This text.
    Text(&'a str),
    /// A key of this `ConfigMap`, whose text is not known, and why where somebody knows that.
    Hidden {
        /// Its name.
        config_map: &'a str,
        /// Why its text is not known.
        because: Option<&'a str>,
    },
    /// No file of a `ConfigMap`, or nobody can tell.
    Other,
}

impl Files {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn key(&self, config_map: &str, key: &str) -> File<'_> {
        match self.0.get_key_value(config_map) {
            Some((_, ConfigMap::Known(texts))) => texts.get(key).map_or(File::Other, |text| File::Text(text)),
            Some((name, ConfigMap::Hidden(because))) => File::Hidden { config_map: name, because: Some(because) },
            None => File::Other,
        }
    }
}

/// The file at a path of a container with these mounts, in a pod with these volumes.
pub(super) fn file_at<'a>(
    container: &'a Value,
    volumes: &'a [Value],
    files: Option<&'a Files>,
    path: &str,
) -> File<'a> {
    // What is relative depends on where the process runs.
    let Some(path) = Some(path).filter(|path| path.starts_with('/')).and_then(components) else { return File::Other };
    // A mount within another hides what is below it.
    let mounts = list(container, "volumeMounts").iter();
    let mounts =
        mounts.filter_map(|mount| Some((mount, components(text(mount, "mountPath")).filter(|at| !at.is_empty())?)));
    let over = mounts.filter(|(_, at)| path.starts_with(at));
    let Some((mount, at)) = over.max_by_key(|(_, at)| at.len()) else { return File::Other };
    if mount.get("subPathExpr").is_some_and(|expression| !expression.is_null()) {
        return File::Other;
    }
    let Some(mut inner) = components(text(mount, "subPath")) else { return File::Other };
    inner.extend(path.get(at.len()..).unwrap_or_default());
    let inner = inner.join("/");
    let volume = volumes.iter().find(|volume| text(volume, "name") == text(mount, "name"));
    volume.map_or(File::Other, |volume| in_volume(volume, files, &inner))
}

fn in_volume<'a>(volume: &'a Value, files: Option<&'a Files>, path: &str) -> File<'a> {
    if let Some(source) = volume.get("configMap").filter(|source| !source.is_null()) {
        return in_source(source, files, path).unwrap_or(File::Other);
    }
    // Of several sources with one path the last counts (`pkg/volume/projected`: each writes over the one before).
    for source in volume.get("projected").map(|projected| list(projected, "sources")).unwrap_or_default().iter().rev() {
        if let Some(source) = source.get("configMap").filter(|source| !source.is_null()) {
            match in_source(source, files, path) {
                None => {}
                Some(found) => return found,
            }
        } else if has_path(source, path) {
            return File::Other;
        }
    }
    File::Other
}

/// The file in a volume's or projection's `ConfigMap`; None where it has no such path.
fn in_source<'a>(source: &'a Value, files: Option<&'a Files>, path: &str) -> Option<File<'a>> {
    let items = list(source, "items");
    let key = if items.is_empty() {
        path
    } else {
        let item = items.iter().find(|item| components(text(item, "path")).is_some_and(|at| at.join("/") == path))?;
        text(item, "key")
    };
    let name = text(source, "name");
    let Some(files) = files.filter(|files| files.0.contains_key(name)) else {
        return Some(File::Hidden { config_map: name, because: None });
    };
    let found = files.key(name, key);
    if found == File::Other && items.is_empty() { None } else { Some(found) }
}

/// Whether a projected secret, token or field may be at this path.
fn has_path(source: &Value, path: &str) -> bool {
    if let Some(secret) = source.get("secret").filter(|source| !source.is_null()) {
        let items = list(secret, "items");
        return items.is_empty() || items.iter().any(|item| text(item, "path") == path);
    }
    let fields = source.get("downwardAPI").map(|fields| list(fields, "items")).unwrap_or_default();
    let single = ["serviceAccountToken", "clusterTrustBundle"].into_iter().filter_map(|kind| source.get(kind));
    fields.iter().chain(single).any(|item| text(item, "path") == path)
}

/// The `ConfigMap`s from which the exec probes of a pod may run a file: those that are mounted where a command, the
/// environment or a script that is known already names something.
pub(super) fn of_probes(spec: &Value, files: &Files) -> BTreeSet<String> {
    let volumes = list(spec, "volumes");
    let mut wanted = BTreeSet::new();
    if volumes.is_empty() {
        return wanted;
    }
    for container in ["initContainers", "containers"].into_iter().flat_map(|field| list(spec, field)) {
        let commands = ["livenessProbe", "readinessProbe", "startupProbe"]
            .into_iter()
            .filter_map(|probe| container.get(probe)?.get("exec"))
            .flat_map(|exec| list(exec, "command"))
            .filter_map(Value::as_str);
        let mut texts: Vec<&str> = commands.collect();
        if texts.is_empty() {
            continue;
        }
        texts.extend(list(container, "env").iter().map(|entry| text(entry, "value")));
        // Mounts whose ConfigMaps are not wanted yet; each that is brings its texts, which may name others.
        let mut mounts: Vec<(&str, Vec<&str>)> = list(container, "volumeMounts")
            .iter()
            .filter_map(|mount| {
                let volume = volumes.iter().find(|volume| text(volume, "name") == text(mount, "name"))?;
                let names = config_maps(volume);
                let at = text(mount, "mountPath").trim_end_matches('/');
                (!names.is_empty() && !at.is_empty()).then_some((at, names))
            })
            .collect();
        loop {
            let (named, others) =
                mounts.into_iter().partition::<Vec<_>, _>(|(at, _)| texts.iter().any(|text| text.contains(at)));
            if named.is_empty() {
                break;
            }
            for name in named.iter().flat_map(|(_, names)| names) {
                if let Some(ConfigMap::Known(known)) = files.0.get(*name) {
                    texts.extend(known.values().map(String::as_str));
                }
                wanted.insert((*name).to_owned());
            }
            mounts = others;
        }
    }
    wanted
}

/// The names of the `ConfigMap`s of a volume.
fn config_maps(volume: &Value) -> Vec<&str> {
    let sources = volume.get("projected").map(|projected| list(projected, "sources")).unwrap_or_default();
    let all = std::iter::once(volume).chain(sources);
    all.filter_map(|source| source.get("configMap")?.get("name")?.as_str()).collect()
}

/// The parts of a path; None where it leads back up, or is relative in a way that nobody can follow.
fn components(path: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!parts.contains(&"..")).then_some(parts)
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::workload::Workload;
    use serde_json::json;

    fn files() -> Files {
        let known = |texts: &[(&str, &str)]| {
            ConfigMap::Known(Arc::new(
                texts.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect(),
            ))
        };
        [
            ("health", known(&[("ping.sh", "redis-cli ping"), ("other.sh", ". /lib/common.sh")])),
            ("lib", known(&[("common.sh", "true")])),
            ("denied", ConfigMap::Hidden("the operator may not get configmaps".to_owned())),
        ]
        .into_iter()
        .map(|(name, map)| (name.to_owned(), map))
        .collect()
    }

    fn workload(mounts: &Value, volumes: &Value, command: &Value) -> Workload {
        let container = json!({"name": "db", "volumeMounts": mounts, "livenessProbe": {"exec": {"command": command}}});
        Workload::new(json!({"kind": "StatefulSet", "spec": {"template": {"spec": {
            "volumes": volumes, "containers": [container]}}}}))
        .with_files(files())
    }

    #[test]
    fn paths_lead_through_mounts_and_volumes_to_a_text() {
        let ping = Some("redis-cli ping");
        let health = json!([{"name": "v", "configMap": {"name": "health"}}]);
        let items =
            json!([{"name": "v", "configMap": {"name": "health", "items": [{"key": "ping.sh", "path": "bin/live"}]}}]);
        let projected =
            |more: Value| json!([{"name": "v", "projected": {"sources": [{"configMap": {"name": "health"}}, more]}}]);
        let at = |path: &str| json!([{"name": "v", "mountPath": path}]);
        let table = [
            (at("/health"), health.clone(), "/health/ping.sh", ping),
            (at("/health/"), health.clone(), "//health/./ping.sh", ping),
            (at("/health"), health.clone(), "/health/../health/ping.sh", None),
            (at("/health"), health.clone(), "/healthy/ping.sh", None),
            (at("/health"), health.clone(), "/health/none.sh", None),
            (json!([{"name": "v", "mountPath": "/x.sh", "subPath": "ping.sh"}]), health.clone(), "/x.sh", ping),
            (json!([{"name": "v", "mountPath": "/x.sh", "subPathExpr": "$(A)"}]), health.clone(), "/x.sh", None),
            (
                json!([{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a/b"}]),
                health.clone(),
                "/a/b/ping.sh",
                None,
            ),
            (
                json!([{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a/bin"}]),
                items.clone(),
                "/a/bin/live",
                None,
            ),
            (at("/a"), items.clone(), "/a/bin/live", ping),
            (at("/a"), items, "/a/ping.sh", None),
            (at("/a"), projected(json!({"configMap": {"name": "lib"}})), "/a/ping.sh", ping),
            (at("/a"), projected(json!({"secret": {"name": "s"}})), "/a/ping.sh", None),
            (
                at("/a"),
                projected(json!({"secret": {"name": "s", "items": [{"key": "k", "path": "k"}]}})),
                "/a/ping.sh",
                ping,
            ),
            (at("/a"), json!([{"name": "v", "secret": {"secretName": "health"}}]), "/a/ping.sh", None),
            (at("/a"), json!([{"name": "v", "configMap": {"name": "absent"}}]), "/a/ping.sh", None),
        ];
        for (mounts, volumes, path, expected) in table {
            let workload = workload(&mounts, &volumes, &json!([path]));
            assert_eq!(workload.containers()[0].file(path), expected, "{path} in {mounts}");
        }
        let denied = workload(&at("/a"), &json!([{"name": "v", "configMap": {"name": "denied"}}]), &json!(["/a/x"]));
        assert_eq!(
            denied.containers()[0].look_up("/a/x"),
            File::Hidden { config_map: "denied", because: Some("the operator may not get configmaps") }
        );
    }

    #[test]
    fn only_what_a_probe_may_run_is_wanted() {
        let volumes = json!([
            {"name": "v", "configMap": {"name": "health"}},
            {"name": "l", "configMap": {"name": "lib"}},
            {"name": "c", "configMap": {"name": "settings"}},
        ]);
        let mounts = json!([
            {"name": "v", "mountPath": "/health"}, {"name": "l", "mountPath": "/lib"}, {"name": "c", "mountPath": "/etc/db"},
        ]);
        let wanted = |command: &Value| {
            workload(&mounts, &volumes, command).config_maps_of_probes(&files()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(wanted(&json!(["pg_isready"])), [""; 0]);
        assert_eq!(wanted(&json!(["sh", "-c", "/lib/x.sh 5"])), ["lib"]);
        assert_eq!(wanted(&json!(["sh", "-c", "/health/other.sh"])), ["health", "lib"], "it names the other");
    }
}
