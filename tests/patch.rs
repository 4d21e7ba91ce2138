//! `reprieve patch` as a black box.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::process;

use assert_cmd::Command;
use serde::Deserialize as _;
use serde_json::{Value, json};

/// A registry's database, as its owner wrote it.
const REGISTRY: &str = "\
# The registry keeps its tags in here.
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: registry-database
  namespace: registry
  labels: {component: database}
spec:
  serviceName: registry-database
  selector: {matchLabels: {component: database}}
  template:
    metadata: {labels: {component: database}}
    spec:
      containers:
        - name: database      # the only one
          image: goharbor/harbor-db:v2.10.0
          ports: [{containerPort: 5432}]
          livenessProbe:
            # A query.
            exec:
              command: [/docker-healthcheck.sh]
            initialDelaySeconds: 300
            periodSeconds: 10
            timeoutSeconds: 1   # quick!
            failureThreshold: 3
          resources: {}         # as the chart has it
          volumeMounts:
            - {name: data, mountPath: /var/lib/postgresql/data}
";

const FIXED: &str = "\
# The registry keeps its tags in here.
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: registry-database
  namespace: registry
  labels: {component: database}
spec:
  serviceName: registry-database
  selector: {matchLabels: {component: database}}
  template:
    metadata: {labels: {component: database}}
    spec:
      containers:
        - name: database      # the only one
          image: goharbor/harbor-db:v2.10.0
          ports: [{containerPort: 5432}]
          livenessProbe:
            # A query.
            tcpSocket:
              port: 5432
            initialDelaySeconds: 60
            periodSeconds: 10
            timeoutSeconds: 3   # quick!
            failureThreshold: 6
          startupProbe:
            tcpSocket:
              port: 5432
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 360
          readinessProbe:
            exec:
              command: [/docker-healthcheck.sh]
            initialDelaySeconds: 10
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          resources:         # as the chart has it
            requests:
              cpu: \"1\"
              memory: 2Gi
            limits:
              memory: 3Gi
          volumeMounts:
            - {name: data, mountPath: /var/lib/postgresql/data}
";

const POLICY: &str = "\
apiVersion: reprieve.dev/v1alpha1
kind: ProbePolicy
metadata: {name: databases, namespace: registry}
spec:
  selector: {matchLabels: {component: database}}
  databases: [{container: database, engine: PostgreSQL, port: 5432}]
  liveness: {initialDelaySeconds: 60, periodSeconds: 10, timeoutSeconds: 3, failureThreshold: 6}
  readiness: {initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3}
  startup: {recoveryAllowanceSeconds: 3600}
  resources: {requests: {cpu: \"1\", memory: 2Gi}, limits: {memory: 3Gi}}
";

const LOOPING: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: pg
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

/// Nobody can say where this Patroni listens.
const REFUSED: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: patroni
spec:
  template:
    spec:
      containers:
      - name: patroni
        image: ghcr.io/zalando/spilo-16:3.2-p2
        livenessProbe:
          exec: {command: [pg_isready]}
";

fn patch(arguments: &[&str], input: &str) -> (i32, String, String) {
    let output =
        Command::cargo_bin("reprieve").unwrap().arg("patch").args(arguments).write_stdin(input).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The output for an input that can be patched, with a word about it.
fn patched(arguments: &[&str], input: &str) -> String {
    let (code, out, notes) = patch(&[arguments, &["-"]].concat(), input);
    assert_eq!(code, 0, "{notes}");
    assert!(notes.contains("patched, which cures"), "{notes}");
    out
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn documents(text: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(text).map(|document| Value::deserialize(document).unwrap()).collect()
}

fn container(manifest: &Value) -> &Value {
    manifest.pointer("/spec/template/spec/containers/0").unwrap()
}

#[test]
fn the_incident_is_fixed_and_all_else_kept() {
    let folder = tempfile::tempdir().unwrap();
    let policy = write(folder.path(), "policy.yaml", POLICY);
    let (code, out, notes) = patch(&["--policy", &policy, "-"], REGISTRY);
    assert_eq!((code, out.as_str()), (0, FIXED), "{notes}");
    assert!(notes.starts_with("-:2: StatefulSet registry/registry-database: patched, which cures RP001"), "{notes}");
    let (code, out, notes) = patch(&["--policy", &policy, "-"], FIXED);
    assert_eq!((code, out.as_str()), (0, FIXED));
    assert!(!notes.contains("patched, which cures") && !notes.contains("refused"), "{notes}");
}

#[test]
fn a_list_keeps_its_other_items() {
    let items = format!("    {}\n", LOOPING.trim_end().replace('\n', "\n    "));
    let list = format!(
        "kind: List\napiVersion: v1\nitems:\n  # a service\n  - {{kind: Service, apiVersion: v1}}   # flow\n  -{}  - kind: ConfigMap\n",
        &items[3..]
    );
    let out = patched(&[], &list);
    assert!(out.starts_with("kind: List\napiVersion: v1\nitems:\n  # a service\n  - {kind: Service, apiVersion: v1}   # flow\n  - apiVersion"), "{out}");
    assert!(
        out.ends_with("\n  - kind: ConfigMap\n") && out.contains("\n              tcpSocket: {port: 5432}\n"),
        "{out}"
    );
}

#[test]
fn json_stays_json() {
    for text in
        [documents(LOOPING)[0].to_string(), serde_json::to_string_pretty(&documents(LOOPING)[0]).unwrap() + "\n"]
    {
        let out = patched(&[], &text);
        let value: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(container(&value)["livenessProbe"]["tcpSocket"], json!({"port": 5432}));
        assert_eq!(out.contains('\n'), text.contains('\n'), "{out}");
        assert_eq!(out.contains("\n            \"startupProbe\": {\n"), text.contains('\n'), "{out}");
    }
}

#[test]
fn line_breaks_marks_and_missing_ends_stay() {
    let text = format!("\u{feff}{}", LOOPING.trim_end().replace('\n', "\r\n"));
    let out = patched(&[], &text);
    assert!(out.starts_with("\u{feff}apiVersion: apps/v1\r\n"), "{out:?}");
    assert!(!out.replace("\r\n", "").contains('\n') && !out.ends_with('\n'), "{out:?}");
}

#[test]
fn an_anchor_changes_only_what_it_should() {
    let text = LOOPING.replace("livenessProbe:\n", "livenessProbe: &check\n").replace(
        "readinessProbe:\n          exec: {command: [psql, -c, select 1]}\n          timeoutSeconds: 5\n",
        "readinessProbe: *check\n",
    );
    assert!(text.ends_with("readinessProbe: *check\n"));
    let out = patched(&[], &text);
    let container = container(&documents(&out)[0]).clone();
    assert_eq!(container["livenessProbe"]["tcpSocket"], json!({"port": 5432}));
    assert_eq!(container["readinessProbe"]["exec"], json!({"command": ["pg_isready"]}));
    assert!(out.contains("livenessProbe: &check\n") && !out.contains("*check"), "{out}");
}

#[test]
fn files_are_changed_in_place_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let fine = "kind: Service\n";
    let both = format!("{LOOPING}---\n{REFUSED}");
    let path = write(folder.path(), "deep/pg.yaml", LOOPING);
    write(folder.path(), "both.yaml", &both);
    write(folder.path(), "fine.yaml", fine);
    write(folder.path(), "refused.yml", REFUSED);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, folder.path().join("link")).unwrap();
    }
    let folder = folder.path();
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let link = folder.join("link").display().to_string();
    let fixed = patched(&[], LOOPING);

    let (code, out, notes) = patch(&["--write", &link], "");
    assert_eq!((code, out.as_str()), (0, ""), "{notes}");
    assert_eq!(read("deep/pg.yaml"), fixed);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    let (code, out, notes) = patch(&["--write", &folder.display().to_string()], "");
    assert_eq!((code, out.as_str()), (1, ""), "{notes}");
    assert_eq!(read("both.yaml"), format!("{fixed}---\n{REFUSED}"));
    assert_eq!((read("fine.yaml").as_str(), read("refused.yml").as_str()), (fine, REFUSED));
    let refusals: Vec<_> = notes.lines().filter(|line| line.contains("refused: ")).collect();
    assert!(refusals.len() == 2 && refusals[0].contains("REST API"), "{notes}");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 5, "nothing is left behind");

    let (code, _, error) = patch(&["--write", "-"], LOOPING);
    assert_eq!(code, 2);
    assert!(error.contains("standard input cannot be changed"), "{error}");
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let template = "kind: StatefulSet\nspec: {{ toYaml .Values.spec }}\n  name: a\n";
    for rest in [template, "kind: [\n"] {
        let text = format!("{LOOPING}---\n{rest}");
        let (code, out, notes) = patch(&["-"], &text);
        assert_eq!((code, out.as_str()), (2, text.as_str()), "{notes}");
        assert!(notes.contains("-:1: StatefulSet pg: refused: line"), "{notes}");
        assert_eq!(notes.contains("helm template"), rest == template, "{notes}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "latin.yaml", "");
    let latin = [LOOPING.as_bytes(), b"---\n# \xfcber\n"].concat();
    fs::write(&path, &latin).unwrap();
    assert_eq!(patch(&["--write", &path], "").0, 2);
    assert_eq!(fs::read(&path).unwrap(), latin);
}

#[test]
fn git_takes_the_diff() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [
        ("a/pg.yaml", LOOPING.to_owned()),
        ("b with space.yaml", LOOPING.replace('\n', "\r\n")),
        ("c.yaml", LOOPING.trim_end().to_owned()),
        ("d.json", documents(LOOPING)[0].to_string()),
        ("e.yaml", REGISTRY.to_owned()),
        ("fine.yaml", "kind: Service\n".to_owned()),
    ];
    for (name, text) in &texts {
        write(folder.path(), name, text);
    }
    let output = Command::cargo_bin("reprieve")
        .unwrap()
        .current_dir(folder.path())
        .args(["patch", "--output", "diff", "./"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let git = |arguments: &[&str], input: &[u8]| {
        let mut git = Command::from_std(process::Command::new("git"));
        git.current_dir(folder.path()).args(arguments).write_stdin(input).assert().success();
    };
    git(&["init", "--quiet"], b"");
    git(&["-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"], &output.stdout);
    for (name, text) in &texts {
        let (code, out, _) = patch(&["-"], text);
        assert_eq!((code, &out), (0, &fs::read_to_string(folder.path().join(name)).unwrap()), "{name}");
        assert_eq!(*name == "fine.yaml", out == *text, "{name}");
    }
}

#[test]
fn a_strategic_merge_patch_removes_the_other_handlers() {
    let text = format!("{LOOPING}---\n{}", LOOPING.replace("name: pg\nspec", "name: other\n  namespace: db\nspec"));
    let out = patched(&["-o", "strategic-merge"], &text);
    let [first, second] = documents(&out).try_into().unwrap();
    assert_eq!((&first["kind"], &first["metadata"]), (&json!("StatefulSet"), &json!({"name": "pg"})));
    assert_eq!(second["metadata"], json!({"name": "other", "namespace": "db"}));
    let patch = container(&first);
    assert_eq!(patch["name"], "pg");
    assert_eq!(patch["livenessProbe"]["tcpSocket"], json!({"port": 5432}));
    assert!(patch["livenessProbe"].as_object().unwrap().get("exec").is_some_and(Value::is_null), "{out}");
    assert!(out.starts_with("---\n# StatefulSet pg (-:1): cures RP001"), "{out}");
}

#[test]
fn a_json_patch_does_the_same_and_refuses_where_something_moved() {
    let out = patched(&["-o", "json-patch"], LOOPING);
    let operations: json_patch::Patch = serde_json::from_value(documents(&out).remove(0)).unwrap();
    let expected = documents(&patched(&[], LOOPING)).remove(0);
    let mut value = documents(LOOPING).remove(0);
    json_patch::patch(&mut value, &operations).unwrap();
    assert_eq!(value, expected);
    for (from, to) in [("pg_isready", "true"), ("- name: pg", "- name: sidecar")] {
        let mut drifted = documents(&LOOPING.replace(from, to)).remove(0);
        assert!(json_patch::patch(&mut drifted, &operations).is_err(), "{to}");
    }
}

#[test]
fn kustomize_gets_patches_with_their_targets() {
    let text = LOOPING.replace("name: pg\nspec", "name: pg.main\n  namespace: db\nspec");
    let out = patched(&["-o", "kustomize"], &text);
    let kustomization = documents(&out).remove(0);
    let [patch] = kustomization["patches"].as_array().unwrap().as_slice() else { panic!("{out}") };
    let target =
        json!({"group": "apps", "version": "v1", "kind": "StatefulSet", "name": "pg\\.main", "namespace": "db"});
    assert_eq!(patch["target"], target);
    let operations: json_patch::Patch = serde_yaml::from_str(patch["patch"].as_str().unwrap()).unwrap();
    let mut value = documents(&text).remove(0);
    json_patch::patch(&mut value, &operations).unwrap();
    assert_eq!(value, documents(&patched(&[], &text)).remove(0));
}

#[test]
fn several_files_are_one_stream() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [
        write(folder.path(), "a.yaml", LOOPING.trim_end()),
        write(folder.path(), "b.yaml", "---\nkind: Service\n"),
        write(folder.path(), "c.yaml", "kind: Service\n"),
    ];
    let (code, out, _) = patch(&paths.each_ref().map(String::as_str), "");
    assert_eq!(code, 0);
    let kinds: Vec<_> = documents(&out).iter().map(|document| document["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["StatefulSet", "Service", "Service"], "{out}");
}

#[test]
fn what_is_left_to_people_is_no_failure() {
    let script = LOOPING.replace("exec: {command: [pg_isready]}", "tcpSocket: {port: 5432}").replace(
        "        readinessProbe:\n          exec: {command: [psql, -c, select 1]}\n          timeoutSeconds: 5\n",
        "        startupProbe:\n          tcpSocket: {port: 5432}\n          failureThreshold: 360\n          timeoutSeconds: 5\n        resources: {requests: {cpu: 1, memory: 1Gi}}\n",
    );
    let (code, out, notes) = patch(&["-"], &script);
    assert_eq!((code, &out), (0, &script), "{notes}");
    assert!(notes.contains("StatefulSet pg: not patched for RP"), "{notes}");
}
