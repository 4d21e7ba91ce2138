//! Fixing manifests in whatever layout: it comes out right, or it is refused.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "layouts/print.rs"]
mod print;

use print::{Dice, Printer};
use proptest::prelude::*;
use reprieve::api::PolicySpec;
use reprieve::core::model::workload::Workload;
use reprieve::core::rollout::{Decision, judge};
use reprieve::manifest;
use serde_json::{Value, json};

/// A database that its probes may kill.
fn workload(dice: &mut Dice) -> Value {
    let script = "set -e\nif ! pg_isready; then # no\n  exit 1\nfi\n";
    let commands = [
        json!(["pg_isready"]),
        json!(["pg_isready", "-U", "it's: #me", "-h", "localhost"]),
        json!(["sh", "-c", "exec pg_isready -U \"$POSTGRES_USER\" -h 127.0.0.1"]),
        json!(["sh", "-c", script]),
        json!(["/docker-healthcheck.sh"]),
    ];
    let check = commands[usize::try_from(dice.roll(5)).unwrap()].clone();
    let probe = |dice: &mut Dice, command: &Value| {
        let mut probe = json!({});
        let timings = ["initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold"];
        let split = dice.roll(5);
        for (index, timing) in timings.iter().enumerate() {
            if index as u64 == split {
                probe["exec"] = json!({ "command": command });
            }
            if dice.one_in(2) {
                probe[timing] = json!(dice.pick(&[1, 3, 5, 10]));
            }
        }
        probe["exec"] = json!({ "command": command });
        probe
    };
    let mut database = json!({"name": "db", "image": "postgres:16"});
    if dice.one_in(2) {
        database["ports"] = json!([{"containerPort": 5432, "name": "pg"}]);
    }
    database["livenessProbe"] = probe(dice, &check);
    match dice.roll(4) {
        0 => {}
        1 => database["readinessProbe"] = database["livenessProbe"].clone(),
        2 => {
            database["readinessProbe"] = database["livenessProbe"].clone();
            database["readinessProbe"]["successThreshold"] = json!(1);
        }
        _ => database["readinessProbe"] = probe(dice, &json!(["psql", "-c", "select 1"])),
    }
    match dice.roll(5) {
        0 => database["startupProbe"] = json!(null),
        1 => database["startupProbe"] = probe(dice, &check),
        2 => database["startupProbe"] = json!({"tcpSocket": {"port": 5432}, "failureThreshold": 2}),
        _ => {}
    }
    match dice.roll(5) {
        0 => database["resources"] = json!({}),
        1 => database["resources"] = json!({"limits": {"memory": "4Gi", "cpu": "2"}}),
        2 => database["resources"] = json!({"requests": {}, "limits": null}),
        3 => database["resources"] = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"}}),
        _ => {}
    }
    if dice.one_in(2) {
        database["volumeMounts"] = json!([{"name": "data", "mountPath": "/var/lib/postgresql/data"}]);
    }
    let sidecar = json!({"name": "exporter", "image": "exporter:1", "args": ["--all", "yes"], "livenessProbe": database["livenessProbe"]});
    let containers = match dice.roll(3) {
        0 => json!([database, sidecar]),
        1 => json!([sidecar, database]),
        _ => json!([database]),
    };
    let labels = json!({"app": "db", "tier": "on"});
    let mut workload = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "labels": labels},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    });
    if dice.one_in(3) {
        workload["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}, "spec": {}}]);
    }
    workload
}

/// A file around it, and the number of the workload among its objects.
fn file(dice: &mut Dice, workload: &Value) -> (String, usize) {
    if dice.one_in(6) {
        return (
            if dice.one_in(2) { workload.to_string() } else { serde_json::to_string_pretty(workload).unwrap() },
            0,
        );
    }
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b\nc\n", "d": "e"}});
    let is_list = dice.one_in(4);
    let mut printer = Printer::new(dice);
    if is_list {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [config, workload, config]});
        return (printer.document(&list), 1);
    }
    let text = printer.document(workload);
    match printer.dice.roll(4) {
        0 => (format!("# keep the head\n---\n{text}"), 0),
        1 => {
            let other = printer.document(&config);
            (format!("{other}\n---\n# keep before\n{text}\n# keep behind\n---\n{other}"), 1)
        }
        _ => (text, 0),
    }
}

fn policy(dice: &mut Dice) -> PolicySpec {
    let policies = [
        json!({}),
        json!({"liveness": {"periodSeconds": 20, "failureThreshold": 9}, "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}),
        json!({
            "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "3Gi"}, "cpuLimit": "Remove"},
            "databases": [{"container": "db", "engine": "PostgreSQL", "port": 5432}],
        }),
    ];
    serde_json::from_value(policies[usize::try_from(dice.roll(3)).unwrap()].clone()).unwrap()
}

/// What became of one file.
#[derive(Debug, PartialEq)]
enum Fate {
    NothingToDo,
    Refused(String),
    Fixed,
}

fn lines_to_keep(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| Some(line[line.find("# keep")?..].trim_end())).collect()
}

fn fix(seed: u64) -> Fate {
    let mut dice = Dice::new(seed);
    let dice = &mut dice;
    let before = workload(dice);
    let (mut text, number) = file(dice, &before);
    let policy = policy(dice);
    // Without its line break a `|` text at the end would be another one.
    if !dice.one_in(4) || text.ends_with("fi") {
        text.push('\n');
    }
    if dice.one_in(5) {
        text = text.replace('\n', "\r\n");
    }
    if dice.one_in(8) {
        text.insert(0, '\u{feff}');
    }
    let reading = manifest::read(text.as_bytes());
    assert_eq!(reading.problems, [], "{seed}:\n{text}");
    assert_eq!(reading.documents[number].value, before, "{seed}: the printer is wrong:\n{text}");
    let workload = Workload::new(before);
    let judgement = judge(&workload, &policy);
    let Some(plan) = judgement.plan.filter(|_| judgement.decision == Decision::Patch) else { return Fate::NothingToDo };
    let after = plan.patched(&workload).unwrap();
    let edited = manifest::edit(text.as_bytes(), &reading, &[(number, after.json())]);
    let new = String::from_utf8(edited.bytes).unwrap();
    if let Some((_, why)) = edited.refused.first() {
        assert_eq!(new, text, "{seed}");
        return Fate::Refused(format!("{seed}: {why}\n{text}"));
    }
    let again = manifest::read(new.as_bytes());
    assert_eq!(again.problems, [], "{seed}:\n{text}\n=>\n{new}");
    assert_eq!(again.documents.len(), reading.documents.len(), "{seed}:\n{text}\n=>\n{new}");
    for (index, (found, old)) in again.documents.iter().zip(&reading.documents).enumerate() {
        let wanted = if index == number { after.json() } else { &old.value };
        assert_eq!(&found.value, wanted, "{seed}:\n{text}\n=>\n{new}");
    }
    let second = judge(&Workload::new(after.json().clone()), &policy);
    assert_ne!(second.decision, Decision::Patch, "{seed}: {}", second.message);
    assert_eq!(lines_to_keep(&new), lines_to_keep(&text), "{seed}:\n{text}\n=>\n{new}");
    assert_eq!(new.contains("\r\n"), text.contains("\r\n"), "{seed}");
    assert_eq!(new.ends_with('\n'), text.ends_with('\n'), "{seed}:\n{text}\n=>\n{new}");
    assert!(!new.replace("\r\n", "").contains('\n') || !text.contains("\r\n"), "{seed}");
    Fate::Fixed
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_is_fixed_or_refused(seed in any::<u64>()) {
        fix(seed);
    }
}

/// Refusing everything would be right, and useless.
#[test]
fn few_are_refused() {
    let fates: Vec<Fate> = (0..200).map(fix).collect();
    let fixed = fates.iter().filter(|fate| **fate == Fate::Fixed).count();
    let refused: Vec<_> = fates.iter().filter(|fate| matches!(fate, Fate::Refused(_))).collect();
    assert!(fixed > 150, "only {fixed}");
    assert!(refused.len() * 50 < fixed, "{} of {fixed}, as {:?}", refused.len(), refused.first());
}
