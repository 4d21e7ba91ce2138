//! The ways off the path of one workload: what is waited for, what is refused, what is never done twice.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

use reprieve::core::model::workload::Workload;
use reprieve::core::rollout::{Answer, Decision, Effect, Memory, Observation, PodOf};
use serde_json::{Value, json};

use support::server::Server;
use support::world::{Run, assert_unwritten, container, drive, manifest, observe, policy, run};

const CATALOG: &str = include_str!("cases/both-ask.yaml");
const WINDOW: &str = "rollout: {windows: [{schedule: \"0 2 * * 6\", duration: 3h, timeZone: Europe/Berlin}]}";

fn catalog() -> Server {
    Server::holding(&manifest(CATALOG))
}

/// Goes the path with an observation that was changed before.
fn run_changed(server: &mut Server, policy_text: &str, change: impl FnOnce(&mut Observation)) -> Run {
    let mut observation = observe(server, &policy(policy_text));
    change(&mut observation);
    drive(&observation, |effect| server.answer(effect))
}

fn with_status(observation: &mut Observation, field: &str, value: Value) {
    let mut object = observation.workload.json().clone();
    object["status"][field] = value;
    observation.workload = Workload::new(object);
}

/// A pod that was killed by its own probe: 21-31 s are the budget of the fixture's liveness.
fn looping_pod(observation: &mut Observation) {
    with_status(observation, "readyReplicas", json!(0));
    let status = &mut observation.pods[0]["status"];
    status["conditions"][0]["status"] = json!("False");
    status["containerStatuses"][0] = json!({
        "name": "store", "restartCount": 12, "state": {"running": {"startedAt": "2026-12-05T02:29:50Z"}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "Error",
            "startedAt": "2026-12-05T02:29:00Z", "finishedAt": "2026-12-05T02:29:28Z"}},
    });
}

fn reason(run: &Run) -> (Decision, &'static str) {
    (run.outcome.decision, run.outcome.reason)
}

#[test]
fn a_closed_window_is_waited_for_after_everything_is_proved() {
    let mut server = catalog();
    let run = run_changed(&mut server, WINDOW, |observation| observation.now = "2026-12-04T12:00:00Z".parse().unwrap());
    assert_eq!(reason(&run), (Decision::Defer, "WindowClosed"));
    assert_eq!(run.outcome.look_again, Some(13 * 3600 + 1), "until two at night in Berlin");
    assert!(
        run.effects.iter().any(|effect| matches!(effect, Effect::DryRunWorkload(_))),
        "so that a fault shows by day"
    );
    assert_unwritten(&server, &run);
    let run = run_changed(&mut server, WINDOW, |observation| observation.now = "2026-12-05T01:30:00Z".parse().unwrap());
    assert_eq!(reason(&run), (Decision::Patch, "Applied"));
}

#[test]
fn an_unreadable_window_opens_nothing() {
    let mut server = catalog();
    let run = run_changed(&mut server, "rollout: {windows: [{schedule: \"every night\", duration: 3h}]}", |_| {});
    assert_eq!(reason(&run), (Decision::Refuse, "InvalidPolicy"), "{}", run.outcome.message);
    assert_unwritten(&server, &run);
}

#[test]
fn others_that_roll_are_waited_for() {
    let mut server = catalog();
    let run = run_changed(&mut server, "", |observation| observation.rolling_elsewhere = 1);
    assert_eq!(reason(&run), (Decision::Defer, "MaxConcurrent"));
    assert_unwritten(&server, &run);
    let run = run_changed(&mut server, "rollout: {maxConcurrent: 2}", |observation| observation.rolling_elsewhere = 1);
    assert_eq!(reason(&run), (Decision::Patch, "Applied"));
}

#[test]
fn a_database_that_is_not_well_is_not_restarted_on_top() {
    type Change = fn(&mut Observation);
    let changes: [(&str, Change); 4] = [
        ("a pod is not ready", |o| with_status(o, "readyReplicas", json!(0))),
        ("a rollout is under way", |o| with_status(o, "updateRevision", json!("r2"))),
        ("the controller has not seen the last change", |o| with_status(o, "observedGeneration", json!(0))),
        ("a pod is on its way out", |o| o.pods[0]["metadata"]["deletionTimestamp"] = json!("2026-12-05T02:29:00Z")),
    ];
    for (what, change) in changes {
        let mut server = catalog();
        let run = run_changed(&mut server, "", change);
        assert_eq!(reason(&run), (Decision::Defer, "NotHealthy"), "{what}: {}", run.outcome.message);
        assert_unwritten(&server, &run);
    }
    // What waits to be deleted by hand is no rollout.
    let mut object = manifest(CATALOG);
    object["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    let mut server = Server::holding(&object);
    let run = run_changed(&mut server, "", |o| with_status(o, "updateRevision", json!("r2")));
    assert_eq!(reason(&run), (Decision::Patch, "Applied"));
}

#[test]
fn a_proved_kill_loop_waits_for_no_window_and_no_health() {
    let at_noon = |observation: &mut Observation| {
        looping_pod(observation);
        let shift = |time: &str| time.replace("2026-12-05T02", "2026-12-04T12");
        let text = shift(&observation.pods[0].to_string());
        observation.pods[0] = serde_json::from_str(&text).unwrap();
        observation.now = "2026-12-04T12:30:00Z".parse().unwrap();
    };
    let mut server = catalog();
    let run = run_changed(&mut server, WINDOW, at_noon);
    assert_eq!(reason(&run), (Decision::Patch, "Applied"), "{}", run.outcome.message);
    assert!(run.outcome.message.contains("was restarted 12 times"), "{}", run.outcome.message);
    assert!(run.outcome.message.contains("kubectl -n shop delete pod catalog-0"), "{}", run.outcome.message);
    // Unless the policy says that it waits.
    let mut server = catalog();
    let waits = format!("{}, killLoop: Wait}}", WINDOW.trim_end_matches('}'));
    let run = run_changed(&mut server, &waits, at_noon);
    assert_eq!(reason(&run), (Decision::Defer, "WindowClosed"));
    // One that has ended is none: the window counts again.
    let mut server = catalog();
    let run = run_changed(&mut server, WINDOW, |observation| {
        at_noon(observation);
        with_status(observation, "readyReplicas", json!(1));
        observation.pods[0]["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] =
            json!("2026-11-04T12:00:00Z");
    });
    assert_eq!(reason(&run), (Decision::Defer, "WindowClosed"));
    // Nor is running out of memory.
    let mut server = catalog();
    let run = run_changed(&mut server, WINDOW, |observation| {
        at_noon(observation);
        observation.pods[0]["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] = json!("OOMKilled");
    });
    assert_eq!(reason(&run), (Decision::Defer, "NotHealthy"));
}

#[test]
fn what_was_reverted_is_contested_by_the_record() {
    let mut server = catalog();
    let policy = policy("");
    let before = server.stored.clone();
    run(&mut server, &policy);
    // Somebody puts the template back and leaves the annotations, as every apply does.
    server.stored["spec"] = before["spec"].clone();
    let again = run(&mut server, &policy);
    assert_eq!(reason(&again), (Decision::Halt, "Reverted"));
    assert_eq!((again.outcome.status, server.writes), ("Contested", 1));
    assert!(again.effects.is_empty());
}

#[test]
fn what_was_reverted_is_contested_by_memory_where_the_record_is_gone() {
    let mut server = catalog();
    let policy_text = "";
    let first = run_changed(&mut server, policy_text, |_| {});
    let memory = first.outcome.written.clone().unwrap();
    assert_eq!(memory.writes, 1);
    let mut server = catalog();
    let again = run_changed(&mut server, policy_text, |observation| observation.memory = Some(memory));
    assert_eq!(reason(&again), (Decision::Halt, "Reverted"));
    assert_unwritten(&server, &again);
    // Of another change nothing is remembered.
    let other = Memory { plan: "0".repeat(16), writes: 3, policy: String::new() };
    let run = run_changed(&mut server, policy_text, |observation| observation.memory = Some(other));
    assert_eq!(reason(&run), (Decision::Patch, "Applied"));
    let state: Value =
        serde_json::from_str(server.stored["metadata"]["annotations"]["reprieve.dev/state"].as_str().unwrap()).unwrap();
    assert_eq!(state["writes"], 4, "the count goes on");
}

/// Two owners in turn bring back two manifests without our change: neither is fought.
#[test]
fn whoever_takes_a_patch_back_is_not_fought_by_another_plan() {
    let mut server = catalog();
    let policy = policy("");
    let one = server.stored["spec"].clone();
    let mut other = one.clone();
    other["template"]["spec"]["containers"][0]["livenessProbe"]["initialDelaySeconds"] = json!(700);
    for turn in 0..6 {
        server.stored["spec"] = if turn % 2 == 0 { one.clone() } else { other.clone() };
        let run = run(&mut server, &policy);
        let expected = if turn < 1 { (Decision::Patch, "Applied") } else { (Decision::Halt, "Reverted") };
        assert_eq!(reason(&run), expected, "turn {turn}: {}", run.outcome.message);
    }
    assert_eq!(server.writes, 1);
    // Another wish of the policy is another matter.
    let asked = support::world::policy("liveness: {failureThreshold: 9}");
    assert_eq!(reason(&support::world::run(&mut server, &asked)), (Decision::Patch, "Applied"));
    assert_eq!(server.writes, 2);
}

/// `kubectl rollout undo` and `kubectl replace` make somebody else the owner, and with that the remedy is another.
#[test]
fn an_undo_that_changes_the_remedy_is_still_an_undo() {
    for (manager, operation) in [("kubectl", "Update"), ("node-fetch", "Update"), ("kubectl-replace", "Update")] {
        let mut server = catalog();
        let policy = policy("");
        let before = server.stored["spec"].clone();
        assert_eq!(reason(&run(&mut server, &policy)), (Decision::Patch, "Applied"));
        server.stored["spec"] = before;
        server.stored["metadata"]["managedFields"] = json!([{"manager": manager, "operation": operation,
            "fieldsV1": {"f:spec": {"f:template": {"f:spec": {}}}}}]);
        let again = run(&mut server, &policy);
        assert_eq!(reason(&again), (Decision::Halt, "Reverted"), "{manager}: {}", again.outcome.message);
        assert!(again.outcome.message.contains(manager), "{}", again.outcome.message);
        assert_eq!(server.writes, 1);
    }
}

#[test]
fn a_lost_record_is_no_licence_to_write_again() {
    let mut server = catalog();
    let first = run_changed(&mut server, "", |_| {});
    let memory = first.outcome.written.clone().unwrap();
    let mut server = catalog();
    server.stored["metadata"]["managedFields"] = json!([{"manager": "node-fetch", "operation": "Update",
        "fieldsV1": {"f:spec": {"f:template": {"f:spec": {}}}}}]);
    let again = run_changed(&mut server, "", |observation| observation.memory = Some(memory));
    assert_eq!(reason(&again), (Decision::Halt, "Reverted"), "{}", again.outcome.message);
    assert_unwritten(&server, &again);
}

#[test]
fn an_opt_out_with_a_mistake_stops_everything() {
    for text in ["true", "RP999,foo", "RP001;RP009", "all"] {
        let mut object = manifest(CATALOG);
        object["metadata"]["annotations"] = json!({"reprieve.dev/ignore": text});
        let mut server = Server::holding(&object);
        let run = run(&mut server, &policy(""));
        assert_eq!(reason(&run), (Decision::Refuse, "IgnoreUnreadable"), "{text}");
        assert_unwritten(&server, &run);
    }
}

#[test]
fn a_start_never_gets_less_time_than_it_had() {
    let late = "kind: StatefulSet\nmetadata: {name: db, namespace: n}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: db, image: 'mariadb:11', livenessProbe: {exec: {command: [mariadb-admin, ping]}, timeoutSeconds: 5, initialDelaySeconds: DELAY}, readinessProbe: {exec: {command: [mariadb-admin, ping]}, timeoutSeconds: 5}, resources: {requests: {cpu: 1, memory: 1Gi}}}\n";
    // It outlasts the allowance as it is: no restart is worth that.
    let mut patient = Server::holding(&manifest(&late.replace("DELAY", "7200")));
    let run = support::world::run(&mut patient, &policy(""));
    assert_unwritten(&patient, &run);
    // A short allowance does not shorten what there was: 320 s.
    let mut server = Server::holding(&manifest(
        &late.replace("DELAY", "300").replace("mariadb:11", "postgres:16").replace("mariadb-admin, ping", "pg_isready"),
    ));
    let run = support::world::run(&mut server, &policy("startup: {recoveryAllowanceSeconds: 60}"));
    assert_eq!(reason(&run), (Decision::Patch, "Applied"), "{}", run.outcome.message);
    let startup = &container(&server, "db")["startupProbe"];
    let number = |field: &str| startup[field].as_i64().unwrap();
    assert!((number("failureThreshold") - 1) * number("periodSeconds") >= 320, "{startup}");
}

#[test]
fn requests_that_do_not_fit_are_withheld_and_the_probes_go_alone() {
    let mut object = manifest(CATALOG);
    object["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({});
    let policy_text = "resources: {requests: {cpu: 8, memory: 4Gi}}";
    let mut server = Server::holding(&object);
    server.does_not_fit = Some("8 CPU asked for and 2 free on n1");
    let before = server.stored.clone();
    let first = run_changed(&mut server, policy_text, |_| {});
    assert_eq!(reason(&first), (Decision::Patch, "Applied"), "{}", first.outcome.message);
    assert!(first.outcome.message.contains("8 CPU asked for and 2 free on n1"), "{}", first.outcome.message);
    support::judge::assert_sound(&before, &server.stored, first.applied().unwrap(), 3600, &[]);
    assert_eq!(container(&server, "store")["resources"], json!({}));
    assert!(container(&server, "store")["livenessProbe"]["tcpSocket"].is_object());
    let dry_runs: Vec<_> = first
        .effects
        .iter()
        .filter_map(|e| if let Effect::DryRunWorkload(body) = e { Some(body) } else { None })
        .collect();
    assert_eq!((dry_runs.len(), dry_runs[1]), (2, first.applied().unwrap()), "what is sent was dry-run itself");
    // The requests stay refused: no second write, and the probes are not in question.
    let again = run_changed(&mut server, policy_text, |_| {});
    assert_eq!(reason(&again), (Decision::Noop, "ResourcesWithheld"));
    assert!(again.outcome.message.contains("8 CPU asked for"), "{}", again.outcome.message);
    assert_eq!(server.writes, 1);
    // Somebody reverts the probes: the withheld plan is recognised after the requests are refused again.
    server.stored["spec"] = before["spec"].clone();
    let reverted = run_changed(&mut server, policy_text, |_| {});
    assert_eq!(reason(&reverted), (Decision::Halt, "Reverted"), "{}", reverted.outcome.message);
    assert_eq!(server.writes, 1);
}

#[test]
fn the_port_of_every_running_pod_is_tried() {
    let mut server = catalog();
    let observation = {
        let mut observation = observe(&server, &policy(""));
        let mut second = observation.pods[0].clone();
        second["metadata"]["name"] = json!("catalog-1");
        second["status"]["podIP"] = json!("2001:db8::7");
        let mut starting = second.clone();
        starting["metadata"]["name"] = json!("catalog-2");
        starting["status"]["containerStatuses"][0]["state"] = json!({"waiting": {}});
        observation.pods.extend([second, starting]);
        observation
    };
    let run = drive(&observation, |effect| server.answer(effect));
    let dialled: Vec<String> = run
        .effects
        .iter()
        .filter_map(|effect| if let Effect::CheckPort(targets) = effect { Some(targets) } else { None })
        .flatten()
        .map(|target| format!("{} {} {}", target.pod, target.ip, target.port))
        .collect();
    assert_eq!(dialled, ["catalog-0 10.1.1.7 5432", "catalog-1 2001:db8::7 5432"]);
}

#[test]
fn without_a_running_pod_no_port_is_proved() {
    let mut server = catalog();
    for change in [
        (|o: &mut Observation| o.pods.clear()) as fn(&mut Observation),
        |o| o.pods[0]["status"]["containerStatuses"][0]["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}}),
        |o| o.pods[0]["status"]["podIP"] = json!(""),
    ] {
        let run = run_changed(&mut server, "", change);
        assert_eq!(reason(&run), (Decision::Defer, "NoRunningPod"));
        assert_unwritten(&server, &run);
    }
    // The additive remedy dials nothing.
    let run = run_changed(&mut server, "remedy: Additive", |o| o.pods.clear());
    assert_eq!(reason(&run), (Decision::Patch, "Applied"));
}

#[test]
fn an_owner_who_would_put_it_back_or_be_refused_is_asked_first() {
    let mut object = manifest(CATALOG);
    let text = json!({"metadata": {"labels": {"team": "a"}}, "spec": object["spec"]}).to_string();
    object["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": text});
    let mut server = Server::holding(&object);
    let before = server.stored.clone();
    let replayed = |server: &mut Server, answer: Answer| {
        let observation = observe(server, &policy(""));
        drive(&observation, |effect| match effect {
            Effect::ReplayOwner(_) => answer.clone(),
            effect => server.answer(effect),
        })
    };
    let run = replayed(&mut server, Answer::Object(before.clone()));
    assert_eq!(reason(&run), (Decision::Refuse, "OwnerPutsBack"));
    assert_unwritten(&server, &run);
    let run = replayed(&mut server, Answer::Rejected { code: 422, message: "two handlers".to_owned() });
    assert_eq!(reason(&run), (Decision::Refuse, "OwnerReplayRefused"));
    assert_unwritten(&server, &run);
    let run = support::world::run(&mut server, &policy(""));
    assert_eq!(reason(&run), (Decision::Patch, "Applied"), "{}", run.outcome.message);
    let replay = run.effects.iter().find_map(|e| if let Effect::ReplayOwner(body) = e { Some(body) } else { None });
    assert_eq!(replay.unwrap()["metadata"]["uid"], before["metadata"]["uid"], "bound to the same object");
    assert_eq!(replay.unwrap()["metadata"]["labels"]["team"], "a", "all of the owner's manifest is in it");
}

#[test]
fn a_record_that_cannot_be_read_stops_everything() {
    for text in ["{", "{\"version\":2,\"plan\":\"a\",\"writes\":1}", "7", ""] {
        let mut server = catalog();
        server.stored["metadata"]["annotations"] = json!({"reprieve.dev/state": text});
        let run = run(&mut server, &policy(""));
        assert_eq!(reason(&run), (Decision::Halt, "RecordUnreadable"), "{text}");
        assert!(run.effects.is_empty());
    }
}

#[test]
fn an_object_that_is_opted_out_is_not_even_asked_about() {
    let mut server = catalog();
    server.stored["metadata"]["annotations"] = json!({"reprieve.dev/ignore": "*"});
    let run = run(&mut server, &policy(""));
    assert_eq!(reason(&run), (Decision::Noop, "OptedOut"));
    assert!(run.effects.is_empty() && run.outcome.findings.is_empty());
}

#[test]
fn what_is_being_deleted_is_let_go() {
    let mut server = catalog();
    server.stored["metadata"]["deletionTimestamp"] = json!("2026-12-05T02:29:00Z");
    let run = run(&mut server, &policy(""));
    assert_eq!(reason(&run), (Decision::Noop, "BeingDeleted"));
    assert!(run.effects.is_empty());
}

#[test]
fn audit_and_suggest_prove_the_patch_and_keep_it() {
    for (text, why) in [("mode: Audit", "Audit"), ("remedy: Suggest", "Suggested")] {
        let mut server = catalog();
        let run = run(&mut server, &policy(text));
        assert_eq!(reason(&run), (Decision::Advise, why));
        assert!(run.effects.iter().any(|effect| matches!(effect, Effect::CheckPort(_))), "{text}");
        assert!(run.outcome.plan.is_some());
        assert_unwritten(&server, &run);
    }
}

#[test]
fn a_manifest_or_policy_that_cannot_be_read_is_named() {
    let mut server = catalog();
    server.stored["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["periodSeconds"] = json!("ten");
    let run = run(&mut server, &policy(""));
    assert_eq!(reason(&run), (Decision::Refuse, "Unreadable"));
    assert!(run.outcome.message.contains("/livenessProbe/periodSeconds"), "{}", run.outcome.message);
    let mut server = catalog();
    let mut broken = policy("resources: {requests: {cpu: lots}}");
    broken.spec.select_all = true;
    let run = support::world::run(&mut server, &broken);
    assert_eq!(reason(&run), (Decision::Refuse, "InvalidPolicy"));
    assert!(run.outcome.message.contains("spec.resources.requests.cpu"), "{}", run.outcome.message);
}

#[test]
fn answers_that_end_the_path_say_which_step_they_answered() {
    let answers = [
        (
            Answer::Forbidden { what: "patch statefulsets in shop".to_owned(), message: "no".to_owned() },
            "MissingPermission",
        ),
        (Answer::Unavailable { message: "429".to_owned(), retry_after: Some(7) }, "ServerUnavailable"),
        (Answer::Gone, "Changed"),
        (Answer::Conflict, "Changed"),
        (Answer::Fit(Ok(())), "UnexpectedAnswer"),
    ];
    for (answer, expected) in answers {
        let mut server = catalog();
        let observation = observe(&server, &policy(""));
        let run = drive(&observation, |effect| match effect {
            Effect::DryRunWorkload(_) => answer.clone(),
            effect => server.answer(effect),
        });
        assert_eq!(run.outcome.reason, expected);
        assert_unwritten(&server, &run);
        match expected {
            "MissingPermission" => assert_eq!(run.outcome.missing_verb.as_deref(), Some("patch statefulsets in shop")),
            "ServerUnavailable" => assert_eq!(run.outcome.look_again, Some(7)),
            _ => {}
        }
    }
}

/// Goes the path with one kind of answer tampered with.
fn run_tampered(of: impl Fn(&Effect) -> bool, tamper: impl Fn(&mut Value)) -> (Server, Run) {
    let mut server = catalog();
    let observation = observe(&server, &policy(""));
    let run = drive(&observation, |effect| match (server.answer(effect), of(effect)) {
        (Answer::Object(mut object), true) => {
            tamper(&mut object);
            Answer::Object(object)
        }
        (answer, _) => answer,
    });
    (server, run)
}

#[test]
fn a_dry_run_that_comes_out_otherwise_is_not_written() {
    type Tamper = fn(&mut Value);
    let on_workload: [(&str, Tamper); 6] = [
        ("another image", |o| o["spec"]["template"]["spec"]["containers"][0]["image"] = json!("postgres:17")),
        ("a container more", |o| {
            o["spec"]["template"]["spec"]["containers"]
                .as_array_mut()
                .unwrap()
                .push(json!({"name": "x", "image": "x"}));
        }),
        ("the old handler beside the new", |o| {
            o["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["exec"] =
                json!({"command": ["pg_isready"]});
        }),
        ("a shorter patience", |o| {
            o["spec"]["template"]["spec"]["containers"][0]["startupProbe"]["failureThreshold"] = json!(3);
        }),
        ("a label", |o| o["metadata"]["labels"] = json!({"a": "b"})),
        ("other replicas", |o| o["spec"]["replicas"] = json!(3)),
    ];
    for (what, tamper) in on_workload {
        let (server, run) = run_tampered(|effect| matches!(effect, Effect::DryRunWorkload(_)), tamper);
        assert_eq!(reason(&run), (Decision::Refuse, "VerificationFailed"), "{what}: {}", run.outcome.message);
        assert_unwritten(&server, &run);
    }
    let on_pod: [(&str, Tamper); 4] = [
        ("the probe that was to go", |pod| {
            pod["spec"]["containers"][0]["livenessProbe"] = json!({"exec": {"command": ["pg_isready"]}});
        }),
        ("a container more", |pod| {
            pod["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "x", "image": "x"}));
        }),
        ("another volume", |pod| pod["spec"]["volumes"] = json!([{"name": "data", "emptyDir": {}}])),
        ("a CPU limit", |pod| pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("100m")),
    ];
    for (what, tamper) in on_pod {
        let is_patched = |effect: &Effect| matches!(effect, Effect::DryRunPod(PodOf::PatchedTemplate, _));
        let (server, run) = run_tampered(is_patched, tamper);
        assert_eq!(reason(&run), (Decision::Refuse, "PodNotAsPlanned"), "{what}: {}", run.outcome.message);
        assert_unwritten(&server, &run);
    }
}

#[test]
fn a_write_that_comes_out_otherwise_is_said() {
    let put_back = |object: &mut Value| {
        let probe = &mut object["spec"]["template"]["spec"]["containers"][0]["livenessProbe"];
        *probe = json!({"exec": {"command": ["pg_isready"]}});
    };
    let (_, run) = run_tampered(|effect| matches!(effect, Effect::Apply(_)), put_back);
    assert_eq!(reason(&run), (Decision::Halt, "WrittenNotAsPlanned"));
    assert!(run.outcome.wrote && run.outcome.written.is_some(), "it counts as a write all the same");
    let (_, run) = run_tampered(|effect| matches!(effect, Effect::ReadBack), put_back);
    assert_eq!(reason(&run), (Decision::Halt, "RevertedAtOnce"));
    assert!(run.outcome.wrote);
}

#[test]
fn a_write_that_was_not_read_back_is_not_said_to_be() {
    let mut server = catalog();
    let observation = observe(&server, &policy(""));
    let run = drive(&observation, |effect| match effect {
        Effect::ReadBack => Answer::Unavailable { message: "timeout".to_owned(), retry_after: None },
        effect => server.answer(effect),
    });
    assert_eq!(reason(&run), (Decision::Patch, "Applied"));
    assert!(run.outcome.message.contains("could not be read back (timeout)"), "{}", run.outcome.message);
}

#[test]
fn a_template_that_makes_no_pod_is_not_touched() {
    let mut object = manifest(CATALOG);
    object["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "beside"}));
    let mut server = Server::of_old(&object);
    let run = run(&mut server, &policy(""));
    assert_eq!(reason(&run), (Decision::Refuse, "TemplateRefused"));
    assert!(run.outcome.message.contains("beside.image"), "{}", run.outcome.message);
    assert_unwritten(&server, &run);
}
