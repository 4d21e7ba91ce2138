//! `reprieve explain`: what it takes, what it refuses, and what it exits with.
#![allow(missing_docs, clippy::unwrap_used)]

use assert_cmd::Command;

const MANIFESTS: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: database, namespace: registry}
spec:
  template:
    spec:
      containers:
      - name: database
        image: postgres:16
        livenessProbe: {exec: {command: [pg_isready]}, initialDelaySeconds: 300}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, namespace: registry}
spec: {template: {spec: {containers: [{name: redis, image: 'redis:7'}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: web, image: nginx}]}}}
";

/// The exit code, standard output and standard error.
fn reprieve(arguments: &[&str], input: &str) -> (i32, String, String) {
    let output = Command::cargo_bin("reprieve").unwrap().args(arguments).write_stdin(input).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn explained(arguments: &[&str]) -> (i32, String, String) {
    reprieve(&[&["explain", "-"], arguments].concat(), MANIFESTS)
}

#[test]
fn explains_what_holds_a_database_or_is_asked_for() {
    let titles = |arguments: &[&str]| -> Vec<String> {
        let (code, out, error) = explained(arguments);
        assert_eq!((code, error.as_str()), (0, ""));
        assert!(!out.contains('\u{1b}'), "nobody sees colours in a pipe");
        out.lines()
            .filter(|line| line.contains("  -:"))
            .map(|line| line.split("  ").next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(titles(&[]), ["StatefulSet registry/database", "Deployment registry/cache"]);
    for wanted in ["cache", "registry/cache", "deployment/cache", "Deployment/registry/cache"] {
        assert_eq!(titles(&["--workload", wanted]), ["Deployment registry/cache"], "{wanted}");
    }
    assert_eq!(titles(&["--workload", "web"]), ["Deployment shop/web"], "also one in which nothing is recognised");
    let (_, out, _) = explained(&["--workload", "web"]);
    assert!(out.contains("No database is recognised in it: web (nginx)"), "{out}");
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let (code, out, error) = explained(&["--workload", "shop/cache"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("no workload shop/cache in what was read, but StatefulSet/registry/database"), "{error}");
    let (code, _, error) = reprieve(&["explain", "-"], "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n");
    assert_eq!(code, 2);
    assert!(error.contains("no workload in what was read"), "{error}");
}

#[test]
fn numbers_are_taken_or_refused_with_a_sentence() {
    let (_, out, _) = explained(&["--stall", "45", "--stall", "7"]);
    let rows: Vec<_> =
        out.lines().map(str::trim_start).filter(|line| line.starts_with("45 s") || line.starts_with("7 s")).collect();
    assert!(rows[0].starts_with("45 s") && rows[0].contains("killed at 21-31 s"), "{rows:?}");
    assert!(rows[1].starts_with("7 s") && rows[1].ends_with("lives"), "{rows:?}");
    assert!(!out.contains("300 s (5 min)  "), "the usual ones are left out");
    for (argument, value, part) in [("--stall", "0", "0 is not in"), ("--write-rate", "fast", "a number comes first")] {
        let (code, _, error) = explained(&[argument, value]);
        assert_eq!(code, 2);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_document_that_cannot_be_read_does_not_hide_the_others() {
    let (code, out, error) = reprieve(&["explain", "-"], &format!("{MANIFESTS}---\na: [\n"));
    assert_eq!(code, 2);
    assert!(out.contains("StatefulSet registry/database") && error.contains("-:"), "{error}");
}

#[test]
fn a_scan_explains_below_its_table() {
    let scan = |arguments: &[&str]| reprieve(&[&["scan", "-"], arguments].concat(), MANIFESTS);
    let (plain_code, plain, _) = scan(&[]);
    let (code, out, _) = scan(&["--explain"]);
    assert_eq!(code, plain_code, "it changes no verdict");
    let explanation = out.strip_prefix(plain.as_str()).unwrap();
    assert!(explanation.contains("A start that has to recover") && explanation.contains("Deployment registry/cache"));
    assert!(!explanation.contains("shop/web"));
    let (code, _, error) = scan(&["--explain", "-o", "json"]);
    assert_eq!(code, 2);
    assert!(error.contains("--explain adds to the table"), "{error}");
}
