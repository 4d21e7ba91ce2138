//! `reprieve scan` as a black box.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const LOOPING: &str = "\
# a comment
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: pg
  namespace: db
spec:
  template:
    spec:
      containers:
        - name: pg
          image: postgres:16
          livenessProbe:
            exec: {command: [pg_isready]}
            timeoutSeconds: 5
          readinessProbe:
            exec: {command: [psql, -c, select 1]}
            timeoutSeconds: 5
";

const POLICY: &str = "\
apiVersion: reprieve.dev/v1alpha1
kind: ProbePolicy
metadata: {name: patient, namespace: db}
spec:
  selectAll: true
  liveness: {periodSeconds: 20, failureThreshold: 9}
  resources: {requests: {cpu: 500m, memory: 1Gi}}
";

fn scan(arguments: &[&str], input: &str) -> (i32, String, String) {
    let output =
        Command::cargo_bin("reprieve").unwrap().arg("scan").args(arguments).write_stdin(input).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn report(arguments: &[&str], input: &str) -> (i32, Value) {
    let (code, out, error) = scan(&[&["-o", "json"], arguments].concat(), input);
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{error}")))
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_finding_has_its_place_and_its_patch() {
    let (code, report) = report(&["-"], LOOPING);
    assert_eq!(code, 1);
    assert_eq!(report["apiVersion"], "reprieve.dev/report/v1");
    let workload = &report["workloads"][0];
    assert_eq!((&workload["source"]["file"], &workload["source"]["line"]), (&Value::from("-"), &Value::from(2)));
    assert_eq!(workload["containers"][0]["engine"], "PostgreSQL");
    let finding = &workload["findings"][0];
    assert_eq!((&finding["rule"], &finding["line"], &finding["column"]), (&"RP001".into(), &13.into(), &11.into()));
    assert_eq!(finding["path"], "/spec/template/spec/containers/0/livenessProbe");
    assert_eq!((&workload["decision"], &workload["remedy"]), (&"Patch".into(), &"Swap".into()));
    let liveness = workload["patch"].pointer("/spec/template/spec/containers/0/livenessProbe").unwrap();
    assert!(liveness["exec"].is_null() && liveness["tcpSocket"]["port"] == 5432, "{liveness}");
}

#[test]
fn people_get_sentences_and_no_colours_in_a_pipe() {
    let (code, out, error) = scan(&["-"], LOOPING);
    assert_eq!(code, 1, "{error}");
    assert!(out.starts_with("StatefulSet db/pg  PostgreSQL in pg  -:2\n"), "{out}");
    assert!(out.contains("critical RP001 13:11  it runs pg_isready"), "{out}");
    assert!(!out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn the_exit_code_follows_what_is_asked() {
    let clean = LOOPING.replace("exec: {command: [pg_isready]}", "tcpSocket: {port: 5432}");
    for (arguments, input, expected) in [
        (vec!["-"], LOOPING, 1),
        (vec!["--fail-on", "critical", "-"], LOOPING, 1),
        (vec!["--fail-on", "never", "-"], LOOPING, 0),
        (vec!["--fail-on", "critical", "-"], clean.as_str(), 0),
        (vec!["-"], "kind: Service\nmetadata: {name: a}\n", 0),
        (vec!["-"], "kind: [\n", 2),
        (vec!["/no/such/file"], "", 2),
        (vec![], "", 2),
    ] {
        let (code, out, error) = scan(&arguments, input);
        assert_eq!(code, expected, "{arguments:?}: {out}{error}");
    }
}

#[test]
fn a_bad_document_is_named_and_the_rest_is_scanned() {
    let input = format!("kind: StatefulSet\nmetadata: {{name: broken\n---\n{LOOPING}");
    let (code, report) = report(&["-"], &input);
    assert_eq!(code, 2);
    assert_eq!(report["unread"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["workloads"][0]["name"], "pg");
    assert_eq!(report["workloads"][0]["source"]["line"], 5);
}

#[test]
fn a_template_is_to_be_rendered_first() {
    let (code, report) = report(&["-"], "kind: StatefulSet\nspec: {{ toYaml .Values.spec }}\n  name: a\n");
    assert_eq!(code, 2);
    assert!(report["unread"][0]["reason"].as_str().unwrap().contains("helm template"), "{report}");
}

#[test]
fn folders_are_searched_and_policies_are_applied() {
    let folder = tempfile::tempdir().unwrap();
    let manifests = folder.path().join("manifests");
    write(&manifests, "b.yaml", LOOPING);
    write(&manifests, "deep/a.yml", &LOOPING.replace("name: pg\n  namespace", "name: other\n  namespace"));
    write(&manifests, "notes.txt", "no manifest");
    write(&manifests, ".hidden/c.yaml", "kind: [");
    let policy = write(folder.path(), "policy.yaml", POLICY);
    let (code, report) = report(&["--policy", &policy, &manifests.display().to_string()], "");
    assert_eq!(code, 1);
    assert_eq!(report["summary"]["files"], 2);
    let names: Vec<_> = report["workloads"].as_array().unwrap().iter().map(|w| w["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["pg", "other"], "in the order of their names");
    let workload = &report["workloads"][0];
    assert_eq!(workload["policy"], "ProbePolicy db/patient");
    let container = workload["patch"].pointer("/spec/template/spec/containers/0").unwrap();
    assert_eq!(
        (&container["livenessProbe"]["periodSeconds"], &container["livenessProbe"]["failureThreshold"]),
        (&20.into(), &9.into())
    );
    assert_eq!(container["resources"]["requests"]["cpu"], "500m");
}

#[test]
fn a_policy_reaches_what_leaves_its_namespace_open_and_doubts_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let policy = write(folder.path(), "policy.yaml", POLICY);
    let open = LOOPING.replace("  namespace: db\n", "");
    let (_, report) = report(&["--policy", &policy, "-"], &open);
    assert_eq!(report["workloads"][0]["policy"], "ProbePolicy db/patient");
    let elsewhere = LOOPING.replace("namespace: db", "namespace: web");
    let (_, report) = self::report(&["--policy", &policy, "-"], &elsewhere);
    assert_eq!(report["workloads"][0]["policy"], Value::Null);
    let twin = write(folder.path(), "twin.yaml", &POLICY.replace("patient", "twin"));
    let (_, report) = self::report(&["--policy", &policy, "--policy", &twin, "-"], LOOPING);
    let reason = report["workloads"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("ProbePolicy db/patient and ProbePolicy db/twin select it"), "{reason}");
    let named = LOOPING.replace("  name: pg\n", "  name: pg\n  annotations: {reprieve.dev/policy: gone}\n");
    let (_, report) = self::report(&["-"], &named);
    assert!(report["workloads"][0]["reason"].as_str().unwrap().contains("it names ProbePolicy db/gone"), "{report}");
}

#[test]
fn a_policy_that_cannot_be_used_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("kind: Pod\n", "Pod is no ProbePolicy"),
        ("kind: ProbePolicy\nspec: {mode: Loud}\n", "unknown variant `Loud`"),
        ("kind: ProbePolicy\nspec: {resources: {requests: {cpu: 1e3m}}}\n", "spec.resources.requests.cpu"),
        ("kind: ProbePolicy\nspec: {livenes: {}}\n", "livenes"),
    ] {
        let policy = write(folder.path(), "policy.yaml", text);
        let (code, out, error) = scan(&["--policy", &policy, "-"], LOOPING);
        assert_eq!(code, 2, "{out}{error}");
        assert!(error.contains(expected) && error.contains("policy.yaml:1"), "{error}");
    }
}

#[test]
fn odd_amounts_and_probes_are_named_and_stop_nothing() {
    let odd = "\
kind: StatefulSet
metadata: {name: odd}
spec:
  template:
    spec:
      containers:
        - name: db
          image: postgres
          livenessProbe: {periodSeconds: 10}
          resources: {requests: {cpu: 1e3m, memory: .5Gi}, limits: {memory: -1}}
";
    let (code, report) = report(&["-"], &format!("{odd}---\n{LOOPING}"));
    assert_eq!(code, 1);
    let workload = &report["workloads"][0];
    assert_eq!(workload["decision"], "Refuse");
    assert!(
        workload["reason"].as_str().unwrap().contains("/resources/requests/cpu: \"1e3m\" is not a quantity"),
        "{workload}"
    );
    assert!(workload["findings"].as_array().unwrap().iter().any(|finding| finding["rule"] == "RP018"), "{workload}");
    assert_eq!(report["workloads"][1]["decision"], "Patch");
}

#[test]
fn ten_megabytes_are_read() {
    let mut input = String::from("kind: ConfigMap\nmetadata: {name: big}\ndata:\n");
    while input.len() < 10 << 20 {
        let key = input.len();
        let value = "x".repeat(200);
        writeln!(input, "  k{key}: \"{value}\"").unwrap();
    }
    input.push_str("---\n");
    input.push_str(LOOPING);
    let (code, report) = report(&["-"], &input);
    assert_eq!((code, &report["summary"]["documents"]), (1, &Value::from(2)));
    assert_eq!(report["workloads"][0]["name"], "pg");
}

#[test]
fn the_schema_fits_the_report() {
    let (code, out, error) = scan(&["--print-schema"], "");
    assert_eq!(code, 0, "{error}");
    let schema: Value = serde_json::from_str(&out).unwrap();
    let (_, report) = report(&["-"], LOOPING);
    let described = schema["properties"].as_object().unwrap();
    for field in report.as_object().unwrap().keys() {
        assert!(described.contains_key(field), "{field} is not in the schema");
    }
}

#[test]
fn what_is_opted_out_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let ignoring = |ids: &str| {
        LOOPING.replace(
            "  namespace: db\n",
            &format!("  namespace: db\n  annotations: {{reprieve.dev/ignore: \"{ids}\"}}\n"),
        )
    };
    assert_eq!(report(&["-"], LOOPING).1["workloads"][0]["ignored"], serde_json::json!([]));
    let (_, found) = report(&["-"], &ignoring("RP001, RP009"));
    assert_eq!(found["workloads"][0]["ignored"], serde_json::json!(["RP001", "RP009"]));
    let policy =
        write(folder.path(), "policy.yaml", &POLICY.replace("spec:\n", "spec:\n  rules: {disable: [RP014]}\n"));
    let (_, found) = report(&["--policy", &policy, "-"], &ignoring("RP001"));
    assert_eq!(found["workloads"][0]["ignored"], serde_json::json!(["RP001", "RP014"]), "by policy and by annotation");
    let (_, table, _) = scan(&["-"], &ignoring("RP001"));
    assert!(table.contains("left out: RP001\n"), "{table}");
    // A database without a finding is shown where that is because it opts out.
    let (code, table, _) = scan(&["-"], &ignoring("*"));
    assert!(code == 0 && table.contains("StatefulSet db/pg") && table.contains("left out: *\n"), "{table}");
}

/// One file that cannot be read, among others that can: the rest is told all the same.
#[test]
fn a_missing_file_is_told_and_the_rest_is_scanned() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.yaml");
    std::fs::write(
        &good,
        "kind: StatefulSet\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: db, image: postgres, \
         livenessProbe: {exec: {command: [pg_isready]}}}]}}}\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(folder.path().join("nowhere"), folder.path().join("dangling.yaml")).unwrap();
    std::os::unix::fs::symlink(&good, folder.path().join("link.yaml")).unwrap();
    let scan = |path: &std::path::Path| {
        let mut command = assert_cmd::Command::cargo_bin("reprieve").unwrap();
        let output = command.args(["scan", "-o", "json"]).arg(path).arg(folder.path().join("missing.yaml")).output();
        let output = output.unwrap();
        (output.status.code(), serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap())
    };
    let (code, report) = scan(folder.path());
    assert_eq!(code, Some(2));
    let unread: Vec<_> =
        report["unread"].as_array().unwrap().iter().map(|entry| entry["file"].as_str().unwrap()).collect();
    assert_eq!(unread.len(), 2, "{unread:?}");
    assert!(unread[0].ends_with("dangling.yaml") && unread[1].ends_with("missing.yaml"), "{unread:?}");
    assert_eq!(report["workloads"].as_array().unwrap().len(), 2, "the file, and the link to it");
}

/// What a failed `helm template | reprieve scan -` leaves.
#[test]
fn nothing_at_all_is_no_success() {
    let mut command = assert_cmd::Command::cargo_bin("reprieve").unwrap();
    let output = command.args(["scan", "-"]).write_stdin("").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing to scan"));
}
