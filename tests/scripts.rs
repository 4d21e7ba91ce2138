//! Health scripts that stand in a `ConfigMap`, as `reprieve scan` and `reprieve patch` read them.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

/// In the manner of the scripts that charts mount: forgives a server that loads, or whose master is away.
const TOLERANT: &str = r#"#!/bin/bash
[[ -f $REDIS_PASSWORD_FILE ]] && export REDIS_PASSWORD="$(< "${REDIS_PASSWORD_FILE}")"
[[ -n "$REDIS_PASSWORD" ]] && export REDISCLI_AUTH="$REDIS_PASSWORD"
answer=$(
  timeout -s 15 $1 \
  redis-cli -h localhost -p $REDIS_PORT ping
)
if [ "$?" -eq "124" ]; then
  echo "no answer within $1 s"
  exit 1
fi
first=$(echo $answer | head -n1 | awk '{print $1;}')
if [ "$answer" != "PONG" ] && [ "$first" != "LOADING" ] && [ "$first" != "MASTERDOWN" ]; then
  echo "$answer"
  exit 1
fi
"#;

/// The same without patience.
const STRICT: &str = r#"#!/bin/sh
. /lib/common.sh
answer=$(redis-cli ping)
is_well "$answer"
"#;

const LIBRARY: &str = r#"is_well() {
  case "$1" in
    PONG) return 0 ;;
    *) return 1 ;;
  esac
}
"#;

fn redis(command: &Value, namespace: Option<&str>) -> String {
    let mut metadata = json!({"name": "cache"});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    let probe = json!({"exec": {"command": command}, "timeoutSeconds": 6, "periodSeconds": 10, "failureThreshold": 5});
    let object = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"template": {"spec": {
        "containers": [{
            "name": "redis", "image": "redis:7", "livenessProbe": probe,
            "volumeMounts": [{"name": "checks", "mountPath": "/checks"}, {"name": "health", "mountPath": "/health"}, {"name": "lib", "mountPath": "/lib/common.sh", "subPath": "common.sh"}],
        }],
        "volumes": [
            {"name": "checks", "configMap": {"name": "checks", "defaultMode": 493}},
            {"name": "health", "configMap": {"name": "checks", "items": [{"key": "strict.sh", "path": "ping_liveness_local.sh"}]}},
            {"name": "lib", "projected": {"sources": [{"configMap": {"name": "library"}}]}},
        ],
    }}}});
    object.to_string()
}

fn config_map(name: &str, namespace: Option<&str>, data: &Value) -> String {
    let mut metadata = json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}).to_string()
}

fn checks(namespace: Option<&str>) -> String {
    config_map("checks", namespace, &json!({"alive.sh": TOLERANT, "strict.sh": STRICT, "redis.conf": "port 6379"}))
}

fn library(namespace: Option<&str>) -> String {
    config_map("library", namespace, &json!({ "common.sh": LIBRARY }))
}

fn folder(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (index, text) in files.iter().enumerate() {
        fs::write(folder.path().join(format!("{index}.json")), text).unwrap();
    }
    folder
}

fn run(subcommand: &str, arguments: &[&str], path: &Path) -> String {
    let output = Command::cargo_bin("reprieve").unwrap().arg(subcommand).args(arguments).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

/// What RP001 and RP002 say of the liveness, with the rule.
fn said(files: &[&str]) -> Vec<String> {
    let folder = folder(files);
    let report: Value = serde_json::from_str(&run("scan", &["-o", "json"], folder.path())).unwrap();
    let findings =
        report["workloads"].as_array().unwrap().iter().flat_map(|workload| workload["findings"].as_array().unwrap());
    findings
        .filter(|finding| ["RP001", "RP002"].contains(&finding["rule"].as_str().unwrap_or("")))
        .map(|finding| format!("{} {}", finding["rule"].as_str().unwrap(), finding["message"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_mounted_script_is_read_like_inline_text() {
    let alive = redis(&json!(["/bin/bash", "-ec", "/checks/alive.sh 5"]), Some("db"));
    let strict = redis(&json!(["sh", "/checks/strict.sh"]), Some("db"));
    // What a probe runs may stand in a file that comes later.
    assert_eq!(said(&[&alive, &checks(Some("db")), &library(Some("db"))]), [""; 0], "it forgives LOADING");
    let found = said(&[&strict, &library(Some("db")), &checks(Some("db"))]);
    assert!(matches!(found.as_slice(), [one] if one.starts_with("RP001 it runs redis-cli")), "{found:?}");
    let open = [redis(&json!(["/checks/strict.sh"]), None), checks(None), library(None)];
    assert_eq!(said(&open.each_ref().map(String::as_str)).len(), 1, "without a namespace on either side");
    // The text counts more than what is known of files of this name.
    let known = redis(&json!(["sh", "-c", "/health/ping_liveness_local.sh 5"]), Some("db"));
    assert_eq!(said(&[&known]), [""; 0]);
    let found = said(&[&known, &checks(Some("db")), &library(Some("db"))]);
    assert!(matches!(found.as_slice(), [one] if one.starts_with("RP001")), "{found:?}");
}

#[test]
fn what_is_not_there_or_not_sure_stays_unread() {
    let alive = redis(&json!(["/bin/bash", "-ec", "/checks/alive.sh 5"]), Some("db"));
    let unread = |files: &[&str], why: &str| {
        let found = said(files);
        assert!(matches!(found.as_slice(), [one] if one.starts_with("RP002") && one.contains(why)), "{found:?}");
    };
    unread(&[&alive], "is in the ConfigMap checks, which is not in what was read");
    unread(&[&alive, &checks(Some("other"))], "which is not in what was read");
    unread(&[&alive, &checks(None)], "which is not in what was read");
    let other = config_map("checks", Some("db"), &json!({"alive.sh": "#!/bin/sh\ntrue\n"}));
    unread(&[&alive, &checks(Some("db")), &other], "of which there are several");
    assert_eq!(said(&[&alive, &checks(Some("db")), &checks(Some("db"))]), [""; 0], "twice the same is sure");
    let secret =
        alive.replace(r#""configMap":{"name":"checks","defaultMode":493}"#, r#""secret":{"secretName":"checks"}"#);
    assert_ne!(secret, alive);
    unread(&[&secret, &checks(Some("db"))], "the text of /checks/alive.sh is not in the pod spec");
}

#[test]
fn a_patch_rests_on_the_script_and_keeps_it_in_mind() {
    let strict = redis(&json!(["/checks/strict.sh"]), Some("db"));
    let folder = folder(&[&strict, &checks(Some("db")), &library(Some("db"))]);
    let said = run("patch", &["--write"], folder.path());
    assert!(said.contains("patched, which cures") && said.contains("RP001"), "{said}");
    let patched: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("0.json")).unwrap()).unwrap();
    let container = &patched["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["livenessProbe"]["tcpSocket"]["port"], 6379);
    assert_eq!(fs::read_to_string(folder.path().join("1.json")).unwrap(), checks(Some("db")), "left as it is");
    let again = run("patch", &["--output", "diff"], folder.path());
    assert!(!again.contains("patched,"), "{again}");
}

#[test]
fn an_explanation_reads_it_too() {
    let alive = redis(&json!(["/bin/bash", "-ec", "/checks/alive.sh 5"]), Some("db"));
    let folder = folder(&[&alive, &checks(Some("db"))]);
    let text = run("explain", &[], folder.path());
    assert!(text.contains("redis-cli") && !text.contains("is not in"), "{text}");
}
