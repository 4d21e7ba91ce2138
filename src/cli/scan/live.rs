//! Live objects: everything with a pod template that the account may list, judged as the operator would judge it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde_json::Value;

use super::{Error, Progress};
use crate::api::PolicySpec;
use crate::cluster::{CallError, Cluster, ConfigMaps, ConnectOptions, Kind, connect};
use crate::core::model::files::Files;
use crate::core::model::owner::Ownership;
use crate::core::model::policy::{Policy, PolicyReference, Selection, select};
use crate::core::model::workload::Workload;
use crate::core::rollout::{Decision, Memory, Observation, foresee, is_rolling};
use crate::report::{Report, Source, Subject, UnreadDocument, WorkloadReport};

/// What has a pod template, in the order of the report.
const KINDS: [Kind; 8] = [
    Kind::StatefulSet,
    Kind::Deployment,
    Kind::DaemonSet,
    Kind::ReplicaSet,
    Kind::ReplicationController,
    Kind::CronJob,
    Kind::Job,
    Kind::Pod,
];

/// Which cluster, and what of it.
#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// Scan what runs in the cluster, instead of files. Nothing is written, not even as a dry-run.
    #[arg(long, conflicts_with = "paths")]
    pub(super) cluster: bool,
    /// Use this kubeconfig instead of $KUBECONFIG, ~/.kube/config or the pod's service account.
    #[arg(long, value_name = "FILE", requires = "cluster")]
    kubeconfig: Option<PathBuf>,
    /// Use this context of the kubeconfig.
    #[arg(long, value_name = "NAME", requires = "cluster")]
    context: Option<String>,
    /// Look at this namespace only; may be given more than once. Cluster policies still count for it.
    #[arg(long, short, value_name = "NAMESPACE", requires = "cluster")]
    namespace: Vec<String>,
    /// Look at all namespaces, as without --namespace.
    #[arg(long, short = 'A', requires = "cluster", conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Look only at objects with these labels, as in app=db,tier!=test.
    #[arg(long, short = 'l', value_name = "LABELS", requires = "cluster")]
    selector: Option<String>,
}

/// Scans a cluster. Policies from files count beside its own, and instead of those of the same name.
pub(super) fn scan(target: &Target, given: Vec<Policy>, keeps_subjects: bool) -> Result<Report, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    runtime.block_on(async {
        let options = ConnectOptions { kubeconfig: target.kubeconfig.clone(), context: target.context.clone() };
        let cluster = connect(&options).await?;
        let survey = Survey::read(&cluster, &target.namespace, target.selector.as_deref(), given).await?;
        Ok(survey.report(jiff::Timestamp::now(), keeps_subjects))
    })
}

/// What was read of a cluster.
struct Survey {
    /// Stands for the file.
    source: String,
    unread: Vec<UnreadDocument>,
    /// What has a pod template and is made from no other that has one.
    workloads: Vec<Workload>,
    /// The pods of StatefulSets, by the uid of their owner.
    pods: HashMap<String, Vec<Value>>,
    policies: Vec<Policy>,
    /// The cluster's policies with their status.
    statuses: BTreeMap<PolicyReference, Value>,
    namespace_labels: BTreeMap<String, BTreeMap<String, String>>,
}

impl Survey {
    /// Reads what there is to read. What may not be listed is told in the report; that nobody answers is an error.
    async fn read(
        cluster: &Cluster,
        namespaces: &[String],
        labels: Option<&str>,
        given: Vec<Policy>,
    ) -> Result<Self, Error> {
        if let Err(error @ CallError::Unavailable { .. }) = cluster.probe(Kind::StatefulSet).await {
            return Err(Error::Unreachable { server: cluster.server().to_owned(), error });
        }
        let mut survey = Self {
            source: format!("cluster:{}", cluster.name()),
            unread: Vec::new(),
            workloads: Vec::new(),
            pods: HashMap::new(),
            policies: given,
            statuses: BTreeMap::new(),
            namespace_labels: BTreeMap::new(),
        };
        let scopes: Vec<Cluster> = match namespaces {
            [] => vec![cluster.clone()],
            several => several.iter().map(|name| cluster.clone().within(Some(name.clone()))).collect(),
        };
        let progress = Progress::start();
        survey.read_policies(Kind::ClusterProbePolicy, cluster).await;
        for scope in &scopes {
            survey.read_policies(Kind::ProbePolicy, scope).await;
        }
        survey.read_namespaces(cluster, namespaces).await;
        for scope in &scopes {
            for kind in KINDS {
                progress.tell(|| format!("reading {} {}", kind.plural(), scope.place(kind)));
                survey.read_workloads(kind, scope, labels).await;
            }
        }
        survey.read_config_maps(cluster, &progress).await;
        progress.end();
        let order = |workload: &Workload| KINDS.iter().position(|kind| kind.resource().kind == workload.kind());
        survey.workloads.sort_by_cached_key(|workload| {
            (workload.namespace().to_owned(), order(workload), workload.name().to_owned())
        });
        Ok(survey)
    }

    async fn read_policies(&mut self, kind: Kind, scope: &Cluster) {
        let mut objects = Vec::new();
        match scope.list(kind, None, |object| objects.push(object)).await {
            // Nobody has installed the operator here.
            Ok(()) | Err(CallError::Gone(_)) => {}
            Err(error) => self.not_listed(kind, scope, &error),
        }
        for object in objects {
            match Policy::read(&object, kind == Kind::ClusterProbePolicy) {
                Ok(policy) => {
                    self.statuses.insert(policy.reference.clone(), object);
                    if !self.policies.iter().any(|given| given.reference == policy.reference) {
                        self.policies.push(policy);
                    }
                }
                Err(reason) => {
                    let (namespace, name) = (text(&object, "/metadata/namespace"), text(&object, "/metadata/name"));
                    let reference = PolicyReference {
                        namespace: (kind == Kind::ProbePolicy).then(|| namespace.to_owned()),
                        name: name.to_owned(),
                    };
                    self.doubt(format!("{reference} cannot be used, by the operator neither: {reason}"));
                }
            }
        }
        // Sentences that name several must not change by chance.
        self.policies.sort_by(|one, other| one.reference.cmp(&other.reference));
    }

    /// Reads the labels of namespaces, where a policy asks for them, and whether those that were named are there.
    async fn read_namespaces(&mut self, cluster: &Cluster, named: &[String]) {
        let is_needed = self.policies.iter().any(|policy| policy.namespace_selector.is_some());
        for name in named {
            match cluster.get(Kind::Namespace, None, name).await {
                Ok(namespace) => self.add_namespace(&namespace),
                Err(CallError::Gone(_)) => self.lost(format!("there is no namespace {name}")),
                Err(error) if is_needed => {
                    self.lost(format!("cannot get namespaces, whose labels a cluster policy asks for: {error}"));
                }
                // It may well be there.
                Err(_) => {}
            }
        }
        if named.is_empty() && is_needed {
            let mut namespaces = Vec::new();
            let listed = cluster.list(Kind::Namespace, None, |namespace| namespaces.push(namespace)).await;
            for namespace in namespaces {
                self.add_namespace(&namespace);
            }
            if let Err(error) = listed {
                self.not_listed(Kind::Namespace, cluster, &error);
            }
        }
    }

    fn add_namespace(&mut self, namespace: &Value) {
        let labels = namespace.pointer("/metadata/labels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        self.namespace_labels.insert(text(namespace, "/metadata/name").to_owned(), labels.collect());
    }

    async fn read_workloads(&mut self, kind: Kind, scope: &Cluster, labels: Option<&str>) {
        let (workloads, pods) = (&mut self.workloads, &mut self.pods);
        let mut listed = scope
            .list(kind, labels, |object| {
                if !is_made_from_another(&object) {
                    workloads.push(Workload::new(object));
                } else if labels.is_none() {
                    keep_pod(pods, object);
                }
            })
            .await;
        if kind == Kind::Pod && labels.is_some() && listed.is_ok() {
            // The pods of a StatefulSet that was selected need not have its labels.
            listed = scope.list(kind, None, |pod| keep_pod(pods, pod)).await;
        }
        if let Err(error) = listed {
            self.not_listed(kind, scope, &error);
        }
    }

    /// Reads what probes run.
    async fn read_config_maps(&mut self, cluster: &Cluster, progress: &Progress) {
        let mut config_maps = ConfigMaps::default();
        for index in 0..self.workloads.len() {
            let Some(workload) = self
                .workloads
                .get(index)
                .filter(|workload| !workload.config_maps_of_probes(&Files::default()).is_empty())
            else {
                continue;
            };
            progress.tell(|| "reading configmaps that probes run".to_owned());
            match config_maps.read_for(cluster, workload.clone()).await {
                Ok(read) => {
                    if let Some(workload) = self.workloads.get_mut(index) {
                        *workload = read;
                    }
                }
                Err(error) => {
                    let namespace = workload.namespace();
                    let reason =
                        format!("cannot get configmaps in the namespace {namespace}, which probes run: {error}");
                    self.lost(reason);
                    return;
                }
            }
        }
    }

    fn not_listed(&mut self, kind: Kind, scope: &Cluster, error: &CallError) {
        self.lost(match error {
            CallError::Gone(_) => format!("the server has no {}", kind.plural()),
            error => format!("cannot list {} {}: {error}", kind.plural(), scope.place(kind)),
        });
    }

    fn lost(&mut self, reason: String) {
        self.unread.push(UnreadDocument { file: self.source.clone(), line: 0, column: 0, reason, lost: true });
    }

    fn doubt(&mut self, reason: String) {
        self.unread.push(UnreadDocument { file: self.source.clone(), line: 0, column: 0, reason, lost: false });
    }

    fn select(&self, workload: &Workload) -> Selection<'_> {
        select(workload, self.namespace_labels.get(workload.namespace()), &self.policies)
    }

    /// What the operator would do at that time.
    fn report(mut self, now: jiff::Timestamp, keeps_subjects: bool) -> Report {
        let mut report = Report::new();
        report.unread = std::mem::take(&mut self.unread);
        // As the operator counts them, for `maxConcurrent`.
        let mut rolling: BTreeMap<&PolicyReference, usize> = BTreeMap::new();
        for workload in self.workloads.iter().filter(|workload| is_of_the_operator(workload) && is_rolling(workload)) {
            if let Selection::Policy(policy) = self.select(workload) {
                *rolling.entry(&policy.reference).or_default() += 1;
            }
        }
        for workload in &self.workloads {
            report.add(self.judge(workload, &rolling, now, keeps_subjects));
        }
        report
    }

    fn judge(
        &self,
        workload: &Workload,
        rolling: &BTreeMap<&PolicyReference, usize>,
        now: jiff::Timestamp,
        keeps_subject: bool,
    ) -> WorkloadReport {
        let defaults = Policy {
            reference: PolicyReference { namespace: None, name: String::new() },
            spec: PolicySpec::default(),
            namespace_selector: None,
        };
        let selection = self.select(workload);
        let policy = match selection {
            Selection::Policy(policy) => policy,
            Selection::Nothing | Selection::Conflict(_) | Selection::Missing(_) => &defaults,
        };
        let pods = self.pods.get(workload.uid()).cloned().unwrap_or_default();
        let rolling = rolling.get(&policy.reference).copied().unwrap_or(0);
        let observation = Observation {
            workload: workload.clone(),
            policy: policy.clone(),
            pods,
            rolling_elsewhere: rolling - usize::from(rolling > 0 && is_rolling(workload)),
            memory: self.statuses.get(&policy.reference).and_then(|own| Memory::in_status(own, workload.uid())),
            now,
        };
        let mut judgement = foresee(&observation);
        let add = |message: &str, more: &str| format!("{}. {more}", message.trim_end_matches('.'));
        match &selection {
            Selection::Policy(_) => {}
            Selection::Nothing => {
                if is_of_the_operator(workload) && !judgement.findings.is_empty() {
                    judgement.message =
                        add(&judgement.message, "no policy selects it, so the operator leaves it alone");
                }
            }
            Selection::Conflict(several) => {
                let names: Vec<_> = several.iter().map(|policy| policy.reference.to_string()).collect();
                judgement.decision = Decision::Refuse;
                judgement.reason = "PolicyConflict";
                judgement.message = format!("{} select it, so none of them acts", names.join(" and "));
                judgement.plan = None;
            }
            Selection::Missing(named) => {
                let sentence = format!("it names {named}, which does not exist, so the operator leaves it alone");
                judgement.message = add(&judgement.message, &sentence);
            }
        }
        let ownership = Ownership::read(workload);
        let owner = (ownership.is_reapplied() || ownership.controller.is_some()).then(|| ownership.to_string());
        let kept = keeps_subject.then(|| Subject {
            workload: workload.clone(),
            policy: policy.spec.clone(),
            judgement: judgement.clone(),
        });
        let mut report = WorkloadReport::new(
            Source { file: self.source.clone(), document: 0, line: 0 },
            (workload.kind(), workload.namespace(), workload.name()),
            matches!(selection, Selection::Policy(_)).then(|| policy.reference.to_string()),
            owner,
            judgement,
            |_| (0, 0),
        );
        report.subject = kept.map(Box::new);
        report
    }
}

fn is_of_the_operator(workload: &Workload) -> bool {
    workload.kind() == "StatefulSet"
}

/// Whether an object's template is that of another object which is listed too.
fn is_made_from_another(object: &Value) -> bool {
    let same_group = |one: &str, other: &str| one.split_once('/').map(|p| p.0) == other.split_once('/').map(|p| p.0);
    controller(object).is_some_and(|owner| {
        KINDS.iter().map(|kind| kind.resource()).any(|resource| {
            resource.kind == text(owner, "/kind") && same_group(&resource.api_version, text(owner, "/apiVersion"))
        })
    })
}

/// Keeps a pod of a StatefulSet, and nothing else.
fn keep_pod(pods: &mut HashMap<String, Vec<Value>>, mut pod: Value) {
    let owner = controller(&pod).filter(|owner| text(owner, "/kind") == "StatefulSet");
    let Some(uid) = owner.map(|owner| text(owner, "/uid").to_owned()) else { return };
    // A third of a pod, and nobody looks at them.
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    pods.entry(uid).or_default().push(pod);
}

fn controller(object: &Value) -> Option<&Value> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    owners.iter().find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
