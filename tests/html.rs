//! The HTML report: one page that needs nothing else, and in which nothing from the input is markup.
#![allow(missing_docs, clippy::unwrap_used)]

use assert_cmd::Command;

/// A page of `reprieve scan -o html -`.
fn page(manifest: &str) -> String {
    let mut command = Command::cargo_bin("reprieve").unwrap();
    let output =
        command.args(["scan", "-o", "html", "--fail-on", "never", "-"]).write_stdin(manifest).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const INCIDENT: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: registry-database, namespace: registry}
spec:
  template:
    spec:
      containers:
      - name: database
        image: goharbor/harbor-db:v2.9.1
        livenessProbe:
          exec: {command: [/docker-healthcheck.sh]}
          initialDelaySeconds: 300
";

#[test]
fn shows_the_incident_before_and_after() {
    let page = page(INCIDENT);
    for part in [
        "1 workload in 1 file, 1 with a database; 1 has a critical finding",
        "killed at 5.3-5.5 min",
        "liveness: kills at 5.3-5.5 min",
        "liveness: passes while it recovers",
        "<del>-   exec:",
        "<ins>+   tcpSocket:",
        "prefers-color-scheme: dark",
    ] {
        assert!(page.contains(part), "no {part:?}");
    }
}

#[test]
fn needs_nothing_from_elsewhere() {
    let page = page(INCIDENT);
    for from_elsewhere in ["http://", "https://", "src=", "<script", "<link", "@import", "url(\""] {
        assert!(!page.contains(from_elsewhere), "{from_elsewhere}");
    }
    assert_eq!(page.matches("url(#").count(), page.matches("style=\"fill: url(#").count(), "only its own patterns");
    assert!(page.contains("default-src 'none'"));
}

/// Every reference leads somewhere, and every identifier is there once: a reader of screens follows them.
#[test]
fn identifiers_are_unique_and_references_lead_somewhere() {
    let page = page(&format!(
        "{INCIDENT}---{INCIDENT}---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: m}}\nspec: {{template: {{spec: {{containers: [{{name: m, image: 'mysql:8'}}, {{name: r, image: redis}}]}}}}}}\n"
    ));
    let values = |attribute: &str| -> Vec<&str> {
        page.split(&format!(" {attribute}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
    };
    let mut ids = values("id");
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    let references: Vec<&str> = values("aria-labelledby").into_iter().flat_map(str::split_whitespace).collect();
    let links = values("href").into_iter().map(|link| link.strip_prefix('#').unwrap());
    let patterns = page.split("url(#").skip(1).map(|rest| rest.split(')').next().unwrap());
    assert!(references.len() >= 8, "{references:?}");
    for reference in references.into_iter().chain(links).chain(patterns) {
        assert!(ids.contains(&reference), "{reference}");
    }
}

#[test]
fn nothing_from_the_input_is_markup() {
    let hostile = r#"<script>alert(1)</script>"'&<img src=x onerror=alert(1)>"#;
    let manifest = serde_json::json!({
    "apiVersion": "apps/v1", "kind": "StatefulSet",
    "metadata": {"name": format!("{hostile}\u{0}\u{1b}[31m\u{202e}"), "namespace": hostile,
        "annotations": {"meta.helm.sh/release-name": hostile}},
    "spec": {"template": {"spec": {"containers": [
        {"name": hostile, "image": "postgres:16",
             "livenessProbe": {"exec": {"command": ["psql", "-h", hostile, "a\n</pre>\u{7}"]}},
         "readinessProbe": {"httpGet": {"path": hostile, "port": hostile}},
         "resources": {"limits": {hostile: hostile}}},
        {"name": "x".repeat(5000), "image": "mysql:8", "livenessProbe": {"exec": {"command": ["mysqladmin", "ping"]}}},
    ]}}}});
    let page = page(&manifest.to_string());
    for markup in ["<script", "<img", "</pre>\u{7}", "\u{0}", "\u{1b}", "\u{7}", "\u{202e}"] {
        assert!(!page.contains(markup), "{markup:?}");
    }
    // It is still to be seen, in each of the places where it could have done harm.
    for place in ["against ", "PostgreSQL in <code>", "<small>StatefulSet</small> ", "Helm release "] {
        assert!(page.contains(&format!("{place}&lt;script&gt;")), "{place}");
    }
    assert!(page.contains("\\u{1b}[31m\\u{202e}"));
    // Quotes could only end an attribute.
    for attribute in page.split("=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(!attribute.contains("alert"), "{attribute}");
    }
}

/// The published JSON knows nothing of what the page needs beside it.
#[test]
fn the_json_keeps_its_shape() {
    let mut command = Command::cargo_bin("reprieve").unwrap();
    let output =
        command.args(["scan", "-o", "json", "--fail-on", "never", "-"]).write_stdin(INCIDENT).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["workloads"][0].get("subject").is_none() && report["workloads"][0]["patch"].is_object());
}
