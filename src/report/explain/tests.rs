use super::*;
use crate::api::PolicySpec;
use crate::core::model::workload::Workload;
use crate::core::rollout::judge;
use crate::report::Source;
use serde_json::{Value, json};

fn explained(containers: &Value, questions: &Questions) -> String {
    let workload = Workload::new(json!({"kind": "StatefulSet", "metadata": {"name": "db", "namespace": "registry"},
        "spec": {"template": {"spec": {"containers": containers}}}}));
    let policy = PolicySpec::default();
    let judgement = judge(&workload, &policy);
    let source = Source { file: "db.yaml".to_owned(), document: 1, line: 3 };
    let identity = (workload.kind(), workload.namespace(), workload.name());
    let mut report = WorkloadReport::new(source, identity, None, None, judgement.clone(), |_| (7, 1));
    report.subject = Some(Box::new(Subject { workload, policy, judgement }));
    explain(&report, questions)
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn the_incident_explained() {
    let liveness =
        json!({"exec": {"command": ["/docker-healthcheck.sh"]}, "initialDelaySeconds": 300, "periodSeconds": 10});
    let text = explained(
        &json!([{"name": "database", "image": "goharbor/harbor-db:v2.9.1", "livenessProbe": liveness}]),
        &Questions::default(),
    );
    has(
        &text,
        &[
            "Certain: image goharbor/harbor-db:v2.9.1",
            "early: the port opens before recovery",
            "measured: ",
            "runs /docker-healthcheck.sh",
            "1 s (by default) to answer",
            "killed 320-331 s (5.3-5.5 min) after the start",
            "3600 s (1 h) is asked for; liveness allows 320 s (5.3 min), 3280 s (54.7 min) too little",
            "killed 20-31 s after it begins to fail",
            "BestEffort: none of its containers",
            "oom_score_adj 1000",
            "RP001 exec-liveness-during-recovery",
            "the patch below cures it",
            "Patch: a patch would cure",
            "tcpSocket:",
        ],
    );
}

#[test]
fn a_stall_takes_traffic_before_it_takes_life() {
    let probe =
        |failures: i64| json!({"exec": {"command": ["pg_isready"]}, "timeoutSeconds": 5, "failureThreshold": failures});
    let text = explained(
        &json!([{"name": "db", "image": "postgres", "livenessProbe": probe(6), "readinessProbe": probe(3)}]),
        &Questions { stalls: vec![24, 30, 36, 70], ..Questions::default() },
    );
    let line = |seconds: &str| {
        let mut lines = text.lines().map(str::trim_start);
        lines.rfind(|line| line.starts_with(seconds)).unwrap_or_default().to_owned()
    };
    has(&line("24 s"), &["stays", "lives"]);
    has(&line("30 s"), &["may be gone from 25-35 s", "lives"]);
    has(&line("36 s"), &["gone from 25-35 s", "lives"]);
    has(&line("70 s"), &["gone from 25-35 s", "killed at 55-65 s"]);
    has(&text, &["another 25-35 s (readiness decides)", "3 × 10 s + 5 s"]);
}

#[test]
fn lag_is_bytes() {
    let with = |path: &str, write_rate: u64| {
        let container = json!({"name": "db", "image": "ghcr.io/zalando/spilo-16", "readinessProbe": {"httpGet": {"path": path, "port": 8008}}});
        explained(&json!([container]), &Questions { write_rate, ..Questions::default() })
    };
    has(
        &with("/replica?lag=64MB", 16 << 20),
        &["lag=64MB", "is 64 MiB of WAL", "at 16 MiB of WAL per second that is 4 s", "160 MiB at that rate"],
    );
    has(&with("/replica?lag=64MB", 1 << 20), &["that is 64 s"]);
    has(&with("/replica?lag=30s", 1 << 20), &["no limit at all", "cannot say seconds"]);
    assert!(!with("/replica", 1).contains("lag="));
}

#[test]
fn both_weights_of_every_container() {
    let cpu = |amount: &str| json!({"requests": {"cpu": amount, "memory": "2Gi"}});
    let text = explained(
        &json!([{"name": "db", "image": "redis:7", "resources": cpu("1")}, {"name": "side", "image": "busybox", "resources": cpu("250m")}, {"name": "bare", "image": "busybox"}]),
        &Questions::default(),
    );
    let row = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{name} "))).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("db"), ["db", "1", "1024", "39", "100"]);
    assert_eq!(row("side"), ["side", "250m", "256", "10", "35"]);
    assert_eq!(row("bare"), ["bare", "none", "2", "1", "1"]);
    has(&text, &["Burstable: not BestEffort because db", "875 on a node with 16 GiB, 969 on a node with 64 GiB"]);
}

#[test]
fn nothing_from_the_input_steers_the_terminal() {
    let text = explained(
        &json!([{"name": "a\u{1b}[2Jb", "image": "postgres", "livenessProbe": {"exec": {"command": ["psql", "\u{1b}]0;x\u{7}"]}}}]),
        &Questions::default(),
    );
    for (at, _) in text.match_indices('\u{1b}') {
        let is_ours = [BOLD, DIM, PLAIN].iter().any(|own| text[at..].starts_with(own));
        assert!(is_ours, "{:?}", &text[at..(at + 12).min(text.len())]);
    }
    assert!(!text.contains('\u{7}'));
}
