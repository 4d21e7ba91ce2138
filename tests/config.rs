//! What `kubectl apply -k config/default` installs, and the samples.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kube::core::cel::{AdmissionRequest, Validator, VapEvaluator, VapExpression};
use reprieve::api::{self, ClusterProbePolicy, Mode, ProbePolicy};
use serde::Deserialize as _;
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// All files below a folder, in a stable order.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

fn documents(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_yaml::Deserializer::from_str(&text)
        .map(|document| Value::deserialize(document).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
        .collect()
}

/// The kustomization of a folder, under the names that kustomize looks for.
fn kustomization(folder: &Path) -> Option<Value> {
    let names = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
    let file = names.iter().map(|name| folder.join(name)).find(|file| file.is_file())?;
    let [document] = <[Value; 1]>::try_from(documents(&file)).unwrap();
    Some(document)
}

/// The objects that a kustomization brings, following folders.
fn build(folder: &Path) -> Vec<Value> {
    let kustomization = kustomization(folder).unwrap_or_else(|| panic!("{} has no kustomization", folder.display()));
    let mut objects = Vec::new();
    for resource in kustomization["resources"].as_array().unwrap() {
        let path = folder.join(resource.as_str().unwrap());
        if path.is_dir() {
            objects.extend(build(&path));
        } else {
            objects.extend(documents(&path));
        }
    }
    objects
}

fn installed() -> Vec<Value> {
    build(&root().join("config/default"))
}

fn one<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let found: Vec<_> = objects.iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind}");
    found[0]
}

#[test]
fn every_file_is_yaml_and_used() {
    let mut used = BTreeSet::new();
    let mut folders = BTreeSet::new();
    let all: BTreeSet<PathBuf> = files(&root().join("config")).into_iter().chain(files(&root().join("crds"))).collect();
    for file in &all {
        for document in documents(file) {
            assert!(document["kind"].is_string() && document["apiVersion"].is_string(), "{}", file.display());
        }
        folders.insert(file.parent().unwrap());
    }
    for folder in folders {
        let kustomization =
            kustomization(folder).unwrap_or_else(|| panic!("{} is in no kustomization", folder.display()));
        for resource in kustomization["resources"].as_array().unwrap() {
            let path = folder.join(resource.as_str().unwrap());
            used.insert(path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        }
    }
    for file in &all {
        let is_kustomization = file.file_stem().unwrap().eq_ignore_ascii_case("kustomization");
        assert!(
            is_kustomization || used.contains(&file.canonicalize().unwrap()),
            "{} is in no kustomization",
            file.display()
        );
    }
}

#[test]
fn the_default_installs_each_thing_once() {
    let objects = installed();
    let mut kinds = BTreeMap::new();
    for object in &objects {
        *kinds.entry(object["kind"].as_str().unwrap()).or_insert(0) += 1;
    }
    let expected = [
        ("ClusterRole", 1),
        ("ClusterRoleBinding", 1),
        ("CustomResourceDefinition", 2),
        ("Deployment", 1),
        ("Namespace", 1),
        ("ServiceAccount", 1),
        ("ValidatingAdmissionPolicy", 1),
        ("ValidatingAdmissionPolicyBinding", 1),
    ];
    assert_eq!(kinds, expected.into());
}

/// The whole list, so that a verb more is a decision and not an accident.
#[test]
fn the_operator_may_do_this_and_nothing_else() {
    let objects = installed();
    let mut granted = BTreeMap::new();
    for rule in one(&objects, "ClusterRole")["rules"].as_array().unwrap() {
        let strings = |field: &str| -> Vec<String> { serde_json::from_value(rule[field].clone()).unwrap() };
        assert_eq!(rule.as_object().unwrap().len(), 3, "only groups, resources and verbs: {rule}");
        for group in strings("apiGroups") {
            for resource in strings("resources") {
                let before = granted.insert(format!("{group}/{resource}"), strings("verbs").join(" "));
                assert_eq!(before, None, "{resource} stands in two rules");
            }
        }
    }
    let expected = [
        ("/configmaps", "get"),
        ("/namespaces", "get list watch"),
        ("/nodes", "get"),
        ("/pods", "get list watch create"),
        ("apps/statefulsets", "get list watch patch"),
        ("events.k8s.io/events", "create patch"),
        ("reprieve.dev/clusterprobepolicies", "get list watch"),
        ("reprieve.dev/clusterprobepolicies/status", "patch"),
        ("reprieve.dev/probepolicies", "get list watch"),
        ("reprieve.dev/probepolicies/status", "patch"),
    ];
    assert_eq!(granted, expected.map(|(resource, verbs)| (resource.to_owned(), verbs.to_owned())).into());
}

#[test]
fn role_account_and_deployment_belong_together() {
    let objects = installed();
    let namespace = one(&objects, "Namespace")["metadata"]["name"].clone();
    let account = &one(&objects, "ServiceAccount")["metadata"];
    let deployment = one(&objects, "Deployment");
    let binding = one(&objects, "ClusterRoleBinding");
    assert_eq!(account["namespace"], namespace);
    assert_eq!(deployment["metadata"]["namespace"], namespace);
    assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], account["name"]);
    assert_eq!(
        binding["subjects"],
        json!([{"kind": "ServiceAccount", "name": account["name"], "namespace": namespace}])
    );
    assert_eq!(binding["roleRef"]["name"], one(&objects, "ClusterRole")["metadata"]["name"]);
    let selector = &deployment["spec"]["selector"]["matchLabels"];
    assert_eq!(selector, &deployment["spec"]["template"]["metadata"]["labels"]);
}

mod pods_dry_run_only {
    use super::*;

    /// Whether the policy lets a request pass, as the API server decides.
    fn allows(username: &str, dry_run: bool) -> bool {
        let objects = installed();
        let policy = &one(&objects, "ValidatingAdmissionPolicy")["spec"];
        let evaluate = |list: &str| -> bool {
            let expressions: Vec<VapExpression> = policy[list]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| VapExpression {
                    expression: entry["expression"].as_str().unwrap().to_owned(),
                    message: None,
                    message_expression: None,
                })
                .collect();
            assert!(!expressions.is_empty());
            let mut request = AdmissionRequest { operation: "CREATE".to_owned(), dry_run, ..Default::default() };
            username.clone_into(&mut request.username);
            let evaluator = VapEvaluator::builder().object(json!({"kind": "Pod"})).request(request).build();
            evaluator.evaluate(&expressions).iter().all(|result| result.passed)
        };
        !evaluate("matchConditions") || evaluate("validations")
    }

    #[test]
    fn holds_for_the_operator_and_nobody_else() {
        let operator = {
            let objects = installed();
            let account = &one(&objects, "ServiceAccount")["metadata"];
            let part = |name: &str| account[name].as_str().unwrap().to_owned();
            format!("system:serviceaccount:{}:{}", part("namespace"), part("name"))
        };
        assert!(allows(&operator, true));
        assert!(!allows(&operator, false), "the operator could create a real pod");
        for other in ["kubernetes-admin", "system:serviceaccount:kube-system:replicaset-controller"] {
            assert!(allows(other, false) && allows(other, true), "{other} is hindered");
        }
    }

    #[test]
    fn is_bound_and_denies() {
        let objects = installed();
        let policy = one(&objects, "ValidatingAdmissionPolicy");
        let binding = one(&objects, "ValidatingAdmissionPolicyBinding");
        assert_eq!(binding["spec"], json!({"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}));
        assert_eq!(policy["spec"]["failurePolicy"], "Fail");
        assert_eq!(
            policy["spec"]["matchConstraints"],
            json!({"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ]})
        );
    }
}

mod deployment {
    use super::*;

    fn pod() -> Value {
        one(&installed(), "Deployment")["spec"]["template"]["spec"].clone()
    }

    /// Field by field, what the Pod Security Standard "restricted" asks of a pod on Linux.
    #[test]
    fn meets_the_restricted_standard() {
        let objects = installed();
        assert_eq!(
            one(&objects, "Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"],
            "restricted"
        );
        let pod = pod();
        for shared in ["hostNetwork", "hostPID", "hostIPC", "hostUsers", "initContainers", "ephemeralContainers"] {
            assert!(pod.get(shared).is_none(), "{shared}");
        }
        for volume in pod["volumes"].as_array().into_iter().flatten() {
            assert!(volume.get("hostPath").is_none(), "{volume}");
        }
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_ne!(pod["securityContext"]["runAsUser"], 0);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        for container in pod["containers"].as_array().unwrap() {
            assert_eq!(
                container["securityContext"],
                json!({
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]}
                })
            );
            for port in container["ports"].as_array().into_iter().flatten() {
                assert!(port.get("hostPort").is_none(), "{port}");
            }
        }
    }

    /// What the operator tells others, it does itself.
    #[test]
    fn has_requests_and_headroom_and_no_cpu_limit() {
        let resources = &pod()["containers"][0]["resources"];
        assert_eq!(resources, &json!({"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}));
    }

    #[test]
    fn never_runs_twice_and_claims_no_health() {
        let objects = installed();
        let spec = &one(&objects, "Deployment")["spec"];
        assert_eq!((&spec["replicas"], &spec["strategy"]), (&json!(1), &json!({"type": "Recreate"})));
        let container = &pod()["containers"][0];
        assert_eq!(container["args"], json!(["run"]));
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            assert!(container.get(probe).is_none(), "{probe} needs a health endpoint to ask");
        }
    }

    /// A placeholder must at least not be older than what it stands for.
    #[test]
    fn names_the_image_of_this_version() {
        let image = format!("ghcr.io/reprieve-dev/reprieve:{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(pod()["containers"][0]["image"], image);
    }
}

mod samples {
    use super::*;

    fn all() -> Vec<Value> {
        let samples = build(&root().join("config/samples"));
        assert_eq!(samples.len(), 3);
        samples
    }

    #[test]
    fn have_known_fields_only_and_pass_the_rules() {
        for sample in all() {
            let definitions = api::definitions();
            let definition =
                definitions.iter().find(|definition| sample["kind"] == definition.spec.names.kind.as_str());
            let definition = definition.unwrap_or_else(|| panic!("{} is not ours", sample["kind"]));
            assert_eq!(sample["apiVersion"], format!("{}/{}", api::GROUP, api::VERSION));
            assert_eq!(api::unknown_fields(definition, &sample), [""; 0]);
            assert_eq!(sample["metadata"].get("namespace").is_some(), definition.spec.scope == "Namespaced");
            let schema = definition.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
            Validator::new().validate(&serde_json::to_value(schema).unwrap(), &sample, None).unwrap();
        }
    }

    #[test]
    fn only_the_one_that_says_so_writes() {
        let modes: Vec<(String, Mode)> = all()
            .into_iter()
            .map(|sample| {
                let name = sample["metadata"]["name"].as_str().unwrap().to_owned();
                let mode = match sample["kind"].as_str().unwrap() {
                    "ProbePolicy" => serde_json::from_value::<ProbePolicy>(sample).unwrap().spec.mode,
                    _ => serde_json::from_value::<ClusterProbePolicy>(sample).unwrap().spec.policy.mode,
                };
                (name, mode)
            })
            .collect();
        let expected =
            [("databases", Mode::Audit), ("registry-database", Mode::Enforce), ("all-databases", Mode::Audit)];
        assert_eq!(modes, expected.map(|(name, mode)| (name.to_owned(), mode)));
    }
}
