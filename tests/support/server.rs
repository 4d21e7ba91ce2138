//! A stand-in for the API server, the nodes and the pods' ports.

use reprieve::core::remedy::patch;
use reprieve::core::rollout::{Answer, Effect, PodOf};
use serde_json::{Value, json};

use super::defaults;

/// Holds one StatefulSet and answers as the real thing does; each knob makes it refuse something.
#[derive(Clone, Default)]
pub struct Server {
    /// The object as it is stored.
    pub stored: Value,
    /// Limits, and requests below them, that a `LimitRange` puts on containers that state none.
    pub limit_range: Option<(Value, Value)>,
    /// Why pods of the patched template are refused.
    pub refuse_patched_pod: Option<&'static str>,
    /// A quota refuses pods in which a container states no CPU limit.
    pub quota_wants_cpu_limit: bool,
    /// A webhook with side effects stands before pods.
    pub no_pod_dry_run: Option<&'static str>,
    /// Somebody else writes before us.
    pub conflict_on_apply: bool,
    /// What the nodes say.
    pub does_not_fit: Option<&'static str>,
    /// What dialling says.
    pub does_not_answer: Option<&'static str>,
    /// Servers before 1.34 store a StatefulSet whose pods they refuse.
    pub stores_bad_templates: bool,
    /// How often it stored something new.
    pub writes: usize,
    drawn: usize,
}

impl Server {
    /// A server that holds this object, defaults filled in.
    pub fn holding(manifest: &Value) -> Self {
        let mut stored = manifest.clone();
        defaults::stateful_set(&mut stored);
        stored["metadata"]["uid"] = json!("6f1c");
        stored["metadata"]["resourceVersion"] = json!("41");
        stored["metadata"]["generation"] = json!(1);
        Self { stored, ..Self::default() }
    }

    /// The same before 1.34: templates that no pod can be made of are stored.
    pub fn of_old(manifest: &Value) -> Self {
        Self { stores_bad_templates: true, ..Self::holding(manifest) }
    }

    pub fn answer(&mut self, effect: &Effect) -> Answer {
        match effect {
            Effect::DryRunPod(of, pod) => self.create_pod(*of, pod),
            Effect::DryRunWorkload(body) | Effect::ReplayOwner(body) => self.patched(body),
            Effect::CheckFit(_) => Answer::Fit(self.does_not_fit.map_or(Ok(()), |why| Err(why.to_owned()))),
            Effect::CheckPort(_) => Answer::Port(self.does_not_answer.map_or(Ok(()), |why| Err(why.to_owned()))),
            Effect::Apply(body) => {
                if self.conflict_on_apply {
                    return Answer::Conflict;
                }
                let answer = self.patched(body);
                if let Answer::Object(object) = &answer
                    && object["spec"] != self.stored["spec"]
                {
                    self.writes += 1;
                    self.stored = object.clone();
                    self.stored["metadata"]["resourceVersion"] = json!((41 + self.writes).to_string());
                    self.stored["metadata"]["generation"] = json!(1 + self.writes);
                }
                answer
            }
            Effect::ReadBack => Answer::Object(self.stored.clone()),
        }
    }

    /// What a patch would make of the stored object.
    fn patched(&self, body: &Value) -> Answer {
        // Over the wire and back: what a serialiser drops is lost here too.
        let body: Value = serde_json::from_str(&body.to_string()).unwrap();
        for field in ["uid", "resourceVersion"] {
            if body["metadata"][field] != self.stored["metadata"][field] {
                return Answer::Conflict;
            }
        }
        let mut object = patch::apply(&self.stored, &body).unwrap();
        defaults::stateful_set(&mut object);
        match problem(&object["spec"]["template"]["spec"]) {
            Some(message) if !self.stores_bad_templates => Answer::Rejected { code: 422, message },
            _ => Answer::Object(object),
        }
    }

    fn create_pod(&mut self, of: PodOf, pod: &Value) -> Answer {
        let rejected = |code, message: &str| Answer::Rejected { code, message: message.to_owned() };
        if let Some(webhook) = self.no_pod_dry_run {
            return Answer::DryRunUnsupported(format!("admission webhook \"{webhook}\" does not support dry run"));
        }
        if let Some(message) = self.refuse_patched_pod.filter(|_| of == PodOf::PatchedTemplate) {
            return rejected(422, message);
        }
        let mut pod = pod.clone();
        defaults::pod_spec(&mut pod["spec"]);
        if let Some((limits, requests)) = &self.limit_range {
            for container in pod["spec"]["containers"].as_array_mut().into_iter().flatten() {
                fill(container, "limits", limits);
                fill(container, "requests", requests);
            }
        }
        defaults::pod_requests(&mut pod["spec"]);
        if let Some(message) = problem(&pod["spec"]) {
            return rejected(422, &message);
        }
        let has_cpu_limit = |container: &Value| container.pointer("/resources/limits/cpu").is_some();
        if self.quota_wants_cpu_limit && !pod["spec"]["containers"].as_array().unwrap().iter().all(has_cpu_limit) {
            return rejected(403, "exceeded quota: must specify limits.cpu");
        }
        // The token volume's name is drawn anew for each pod.
        self.drawn += 1;
        let name = format!("kube-api-access-{:05}", self.drawn);
        if !pod["spec"]["volumes"].is_array() {
            pod["spec"]["volumes"] = json!([]);
        }
        pod["spec"]["volumes"].as_array_mut().unwrap().push(json!({"name": name, "projected": {"sources": []}}));
        for container in pod["spec"]["containers"].as_array_mut().into_iter().flatten() {
            if !container["volumeMounts"].is_array() {
                container["volumeMounts"] = json!([]);
            }
            container["volumeMounts"].as_array_mut().unwrap().push(
                json!({"name": name, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}),
            );
        }
        pod["metadata"]["uid"] = json!(format!("pod-{}", self.drawn));
        Answer::Object(pod)
    }
}

fn fill(container: &mut Value, section: &str, amounts: &Value) {
    for (name, amount) in amounts.as_object().into_iter().flatten() {
        if !container["resources"][section].is_object() {
            container["resources"][section] = json!({});
        }
        if container["resources"][section].get(name).is_none() {
            container["resources"][section][name] = amount.clone();
        }
    }
}

/// Why the API refuses a pod, as far as probes and resources go.
pub fn problem(spec: &Value) -> Option<String> {
    for list in ["initContainers", "containers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            let name = container["name"].as_str()?;
            for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
                let Some(json) = container.get(probe).filter(|probe| !probe.is_null()) else { continue };
                let handlers = super::judge::handlers(json);
                if handlers.len() != 1 {
                    return Some(format!("{name}.{probe}: {} handlers, and a probe takes one", handlers.len()));
                }
                let thresholds = json["successThreshold"].as_i64().unwrap_or(1);
                if probe != "readinessProbe" && thresholds != 1 {
                    return Some(format!("{name}.{probe}.successThreshold: must be 1"));
                }
                let grace = json.get("terminationGracePeriodSeconds").filter(|grace| !grace.is_null());
                if grace.is_some_and(|grace| probe == "readinessProbe" || grace == 0) {
                    return Some(format!("{name}.{probe}.terminationGracePeriodSeconds: not like this"));
                }
                if list == "initContainers" && container["restartPolicy"] != "Always" {
                    return Some(format!("{name}.{probe}: must not be set for init containers"));
                }
            }
            for (resource, request) in container["resources"]["requests"].as_object().into_iter().flatten() {
                let limit = &container["resources"]["limits"][resource];
                if !limit.is_null() && defaults::thousandths(request) > defaults::thousandths(limit) {
                    return Some(format!("{name}: requests.{resource} must be less than or equal to {resource} limit"));
                }
            }
            if container["image"].as_str().is_none() {
                return Some(format!("{name}.image: Required value"));
            }
        }
    }
    None
}
