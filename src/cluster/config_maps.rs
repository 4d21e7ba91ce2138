//! The `ConfigMap`s that hold what probes run, read by name.

use std::collections::BTreeMap;

use super::{CallError, Cluster, Kind};
use crate::core::model::files::{ConfigMap, Files};
use crate::core::model::workload::Workload;

/// Reads `ConfigMap`s, each once.
#[derive(Default)]
pub struct ConfigMaps(BTreeMap<(String, String), ConfigMap>);

impl ConfigMaps {
    /// The workload with the `ConfigMap`s from which its probes run files. One that is not there or may not be read is
    /// said so where it matters.
    ///
    /// # Errors
    /// The server does not answer, so that nobody can tell.
    pub async fn read_for(&mut self, cluster: &Cluster, workload: Workload) -> Result<Workload, CallError> {
        let namespace = workload.namespace().to_owned();
        let mut files = Files::default();
        loop {
            // Scripts name other scripts.
            let mut known = Vec::new();
            for name in workload.config_maps_of_probes(&files) {
                let map = self.read(cluster, &namespace, &name).await?;
                known.push((name, map));
            }
            let known: Files = known.into_iter().collect();
            if known == files {
                return Ok(workload.with_files(files));
            }
            files = known;
        }
    }

    async fn read(&mut self, cluster: &Cluster, namespace: &str, name: &str) -> Result<ConfigMap, CallError> {
        let key = (namespace.to_owned(), name.to_owned());
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let map = match cluster.get(Kind::ConfigMap, Some(namespace), name).await {
            Ok(mut object) => ConfigMap::read(&mut object),
            Err(CallError::Gone(_)) => ConfigMap::Hidden(format!("which is not there in the namespace {namespace}")),
            // No admission looks at a GET, so every 403 is the authoriser's.
            Err(CallError::Forbidden(_) | CallError::Rejected { code: 403, .. }) => ConfigMap::Hidden(format!(
                "which may not be read: get configmaps in the namespace {namespace} is not granted"
            )),
            Err(error) => return Err(error),
        };
        self.0.insert(key, map.clone());
        Ok(map)
    }
}
