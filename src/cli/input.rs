//! What subcommands read: manifests in files and folders, and the policies for them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Error;
use crate::api::{self, PolicySpec};
use crate::core::model::files::{ConfigMap, Files};
use crate::core::model::policy::{Policy, Selection, select};
use crate::core::model::workload::Workload;
use crate::core::rollout::policy_problems;
use crate::manifest;

/// The name that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// The files that were named, folders searched in the order of their names.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        if path == Path::new(STANDARD_INPUT) {
            files.push(path.clone());
        } else {
            collect(path, true, &mut files)?;
        }
    }
    Ok(files)
}

fn collect(path: &Path, named: bool, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let Ok(metadata) = fs::metadata(path) else {
        // Whoever reads it will say why it cannot be read, and may go on with the others.
        files.push(path.to_owned());
        return Ok(());
    };
    if metadata.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)
            .map_err(unreadable)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()
            .map_err(unreadable)?;
        entries.sort();
        for entry in entries {
            // Folders such as .git hold no manifests.
            let is_hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            // A link to a folder may lead back up.
            let leads_to_folder = entry.is_symlink() && entry.is_dir();
            if !is_hidden && !leads_to_folder {
                collect(&entry, false, files)?;
            }
        }
        return Ok(());
    }
    let is_manifest = path
        .extension()
        .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known)));
    // A pipe in a folder would be waited for.
    if named || is_manifest && metadata.is_file() {
        files.push(path.to_owned());
    }
    Ok(())
}

/// The bytes of a file, or of standard input.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    if path == Path::new(STANDARD_INPUT) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    } else {
        fs::read(path).map_err(unreadable)
    }
}

/// The `ConfigMap`s in what was read, by namespace and name. A manifest without a namespace goes with those without.
#[derive(Default)]
pub(super) struct ConfigMaps(BTreeMap<String, BTreeMap<String, ConfigMap>>);

impl ConfigMaps {
    /// Takes what it needs out of a document, where that is a `ConfigMap`.
    pub(super) fn take(&mut self, document: &mut Value) {
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
        if text("/kind") == "ConfigMap" && text("/apiVersion") == "v1" {
            let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
            self.add(namespace, name, ConfigMap::read(document));
        }
    }

    /// The same, from a document that is needed as it is.
    pub(super) fn copy(&mut self, document: &Value) {
        if document.get("kind").and_then(Value::as_str) == Some("ConfigMap") {
            self.take(&mut document.clone());
        }
    }

    /// All of both.
    pub(super) fn extend(&mut self, more: Self) {
        for (namespace, maps) in more.0 {
            for (name, map) in maps {
                self.add(namespace.clone(), name, map);
            }
        }
    }

    fn add(&mut self, namespace: String, name: String, map: ConfigMap) {
        let named = self.0.entry(namespace).or_default();
        // Two of one name, as of two overlays: nobody can tell which one counts, unless they are the same.
        let map = match named.remove(&name) {
            Some(other) if other != map => ConfigMap::Hidden("of which there are several in what was read".to_owned()),
            _ => map,
        };
        named.insert(name, map);
    }

    /// What a workload is to be read with.
    pub(super) fn files_for(&self, workload: &Workload) -> Files {
        let named = self.0.get(workload.namespace());
        let mut files = Files::default();
        loop {
            // Scripts name other scripts.
            let wanted = workload.config_maps_of_probes(&files);
            let known: Files = wanted
                .into_iter()
                .map(|name| {
                    let map = named.and_then(|named| named.get(&name)).cloned();
                    (name, map.unwrap_or_else(|| ConfigMap::Hidden("which is not in what was read".to_owned())))
                })
                .collect();
            if known == files {
                return files;
            }
            files = known;
        }
    }
}

/// Reads policies as the operator would: with their validation, and no field that nobody knows.
pub(super) fn policies(files: &[PathBuf]) -> Result<Vec<Policy>, Error> {
    let mut policies = Vec::new();
    for path in files {
        let bytes = fs::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let reading = manifest::read(&bytes);
        let wrong = |line: u32, reason: String| Error::Policy { path: path.clone(), line, reason };
        if let Some(problem) = reading.problems.into_iter().next() {
            return Err(wrong(problem.line, problem.reason.to_string()));
        }
        for document in reading.documents {
            let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or("").to_owned();
            if kind != "ProbePolicy" && kind != "ClusterProbePolicy" {
                return Err(wrong(document.line, format!("{kind} is no ProbePolicy and no ClusterProbePolicy")));
            }
            let [namespaced, cluster] = api::definitions();
            let definition = if kind == "ProbePolicy" { namespaced } else { cluster };
            if let Some(field) = api::unknown_fields(&definition, &document.value).into_iter().next() {
                return Err(wrong(document.line, format!("there is no field {field}")));
            }
            let policy = Policy::read(&document.value, kind == "ClusterProbePolicy")
                .map_err(|error| wrong(document.line, error))?;
            if let Some(problem) = policy_problems(&policy).into_iter().next() {
                return Err(wrong(document.line, problem));
            }
            policies.push(policy);
        }
    }
    Ok(policies)
}

/// What counts for one workload.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// The policy in words, if one selects it.
    pub(super) policy: Option<String>,
    /// What it asks for, or the defaults.
    pub(super) spec: PolicySpec,
    /// Why the defaults count although somebody may expect otherwise.
    pub(super) doubt: Option<String>,
}

/// The policy that counts for a workload, as the operator would choose it.
pub(super) fn choose(workload: &Workload, policies: &[Policy]) -> Chosen {
    let reaching = reaching(policies, workload.namespace());
    let given = |policy: &Policy| {
        let index = reaching.iter().position(|other| std::ptr::eq(other, policy));
        index.and_then(|index| policies.get(index)).unwrap_or(policy).reference.to_string()
    };
    match select(workload, None, &reaching) {
        Selection::Nothing => Chosen::default(),
        Selection::Policy(selected) => {
            Chosen { policy: Some(given(selected)), spec: selected.spec.clone(), doubt: None }
        }
        Selection::Conflict(several) => {
            let names: Vec<_> = several.into_iter().map(given).collect();
            let doubt = format!("{} select it, so none of them counts", names.join(" and "));
            Chosen { doubt: Some(doubt), ..Chosen::default() }
        }
        Selection::Missing(named) => {
            let doubt = format!("it names {named}, which was not given (--policy), so the defaults count");
            Chosen { doubt: Some(doubt), ..Chosen::default() }
        }
    }
}

/// The policies as they reach a namespace. A manifest that leaves its namespace to whoever applies it is reached by all.
fn reaching(policies: &[Policy], namespace: &str) -> Vec<Policy> {
    let mut policies = policies.to_vec();
    if namespace.is_empty() {
        for own in policies.iter_mut().filter_map(|policy| policy.reference.namespace.as_mut()) {
            own.clear();
        }
    }
    policies
}
