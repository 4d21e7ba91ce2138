//! The forms of the report of `reprieve scan`, as whoever reads them sees them.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use quick_xml::events::Event;
use serde_json::{Value, json};

/// A database that its liveness would kill. RP001 is critical, RP005 a warning.
const LOOPING: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: pg, namespace: db}
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

/// Nothing wrong with it, and no database either.
const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: nginx}]}}}
";

const BROKEN: &str = "kind: StatefulSet\nmetadata: {name: broken\n";
const TWICE: &str = "kind: ConfigMap\nkind: ConfigMap\nmetadata: {name: twice}\n";

/// Scans in a folder of its own, so that paths are as a CI job names them.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    /// All that can go wrong, side by side.
    fn mixed() -> Self {
        Self::with(&[("a b/pg.yaml", LOOPING), ("broken.yaml", BROKEN), ("twice.yaml", TWICE), ("web.yaml", WEB)])
    }

    fn scan(&self, arguments: &[&str], input: &str) -> (i32, String) {
        let output = Command::cargo_bin("reprieve")
            .unwrap()
            .current_dir(self.0.path())
            .arg("scan")
            .args(arguments)
            .write_stdin(input)
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn assert_valid(schema: &Value, instance: &Value) {
    let validator = jsonschema::options().should_validate_formats(true).build(schema).unwrap();
    let problems: Vec<_> =
        validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{}\n{instance:#}", problems.join("\n"));
}

fn findings(report: &Value) -> impl Iterator<Item = &Value> {
    report["workloads"].as_array().unwrap().iter().flat_map(|workload| workload["findings"].as_array().unwrap())
}

#[test]
fn json_keeps_to_its_own_schema() {
    let folder = Folder::mixed();
    let schema = parse(&folder.scan(&["--print-schema"], "").1);
    let (code, text) = folder.scan(&["-o", "json", "."], "");
    let report = parse(&text);
    assert_eq!(code, 2);
    assert!(findings(&report).count() >= 2, "{report}");
    assert_eq!(report["unread"].as_array().unwrap().len(), 2);
    assert_valid(&schema, &report);
    assert_valid(&schema, &parse(&folder.scan(&["-o", "json", "web.yaml"], "").1));
}

#[test]
fn yaml_says_what_json_says() {
    let folder = Folder::mixed();
    let (_, yaml) = folder.scan(&["-o", "yaml", "."], "");
    let (_, json) = folder.scan(&["-o", "json", "."], "");
    assert!(yaml.starts_with("apiVersion: reprieve.dev/report/v1\n"), "{yaml}");
    assert_eq!(serde_yaml::from_str::<Value>(&yaml).unwrap(), parse(&json));
}

fn sarif(folder: &Folder, arguments: &[&str], input: &str) -> Value {
    let schema = fs::read_to_string(root().join("tests/schemas/sarif-2.1.0.json")).unwrap();
    // The published pattern of languages has a bracket too many, which is no regular expression for strict readers.
    let schema = parse(&schema.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$"));
    let log = parse(&folder.scan(&[&["-o", "sarif"], arguments].concat(), input).1);
    assert_valid(&schema, &log);
    log["runs"][0].clone()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn sarif_has_rules_results_and_what_was_not_read() {
    let folder = Folder::mixed();
    let run = sarif(&folder, &["."], "");
    let report = parse(&folder.scan(&["-o", "json", "."], "").1);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), findings(&report).count());
    for (result, finding) in results.iter().zip(findings(&report)) {
        assert_eq!(result["ruleId"], finding["rule"]);
        assert_eq!(rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()]["id"], finding["rule"]);
        let expected = match finding["severity"].as_str().unwrap() {
            "critical" => "error",
            "info" => "note",
            same => same,
        };
        assert_eq!(result["level"], expected);
        let location = &result["locations"][0];
        assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "a%20b/pg.yaml");
        let region = &location["physicalLocation"]["region"];
        assert_eq!((&region["startLine"], &region["startColumn"]), (&finding["line"], &finding["column"]));
        assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "db/StatefulSet/pg/pg");
        for field in ["evidence", "applicability", "fix"] {
            assert_eq!(result["properties"][field], finding[field]);
        }
    }
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notifications = invocation["toolExecutionNotifications"].as_array().unwrap();
    let told: Vec<_> = notifications
        .iter()
        .map(|told| {
            let place = &told["locations"][0]["physicalLocation"];
            (told["level"].clone(), place["artifactLocation"]["uri"].clone(), place["region"]["startLine"].clone())
        })
        .collect();
    assert_eq!(
        told,
        [(json!("error"), json!("broken.yaml"), json!(2)), (json!("warning"), json!("twice.yaml"), json!(2)),]
    );
    assert_eq!(sarif(&folder, &["web.yaml"], "")["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn sarif_knows_a_finding_again_when_its_line_moves() {
    let folder = Folder::with(&[]);
    let prints = |input: &str| -> Vec<String> {
        let run = sarif(&folder, &["-"], input);
        let results = run["results"].as_array().unwrap();
        assert!(
            results
                .iter()
                .all(|result| { result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "stdin" })
        );
        results.iter().map(|result| result["partialFingerprints"]["finding/v1"].as_str().unwrap().to_owned()).collect()
    };
    let before = prints(LOOPING);
    assert_eq!(prints(&format!("# moved\n\n{WEB}---\n{LOOPING}")), before);
    let other = prints(&LOOPING.replace("name: pg, namespace", "name: other, namespace"));
    assert!(before.iter().all(|print| !other.contains(print)));
    let mut each = before.clone();
    each.sort();
    each.dedup();
    assert_eq!(each.len(), before.len(), "findings of one workload are told apart");
}

/// Elements with their attributes, and the text in them.
fn elements(xml: &str) -> Vec<(String, Value, String)> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut elements: Vec<(String, Value, String)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                let attributes = start.attributes().map(|attribute| {
                    let attribute = attribute.unwrap();
                    let value = quick_xml::escape::unescape(&attribute.value).unwrap().into_owned();
                    (attribute.key.0.to_owned(), Value::from(value))
                });
                let attributes = Value::Object(attributes.collect());
                open.push(elements.len());
                elements.push((start.name().0.to_owned(), attributes, String::new()));
            }
            Event::Text(text) => {
                if let Some(index) = open.last() {
                    elements[*index].2.push_str(&text);
                }
            }
            Event::GeneralRef(reference) => {
                let text = format!("&{};", &*reference);
                elements[*open.last().unwrap()].2.push_str(&quick_xml::escape::unescape(&text).unwrap());
            }
            Event::End(_) => {
                open.pop();
            }
            Event::Eof => return elements,
            _ => {}
        }
    }
}

#[test]
fn junit_has_a_suite_for_each_file_and_a_test_for_each_database() {
    let folder = Folder::mixed();
    let (code, xml) = folder.scan(&["-o", "junit", "."], "");
    assert_eq!(code, 2);
    let elements = elements(&xml);
    let named = |name: &str| elements.iter().filter(|element| element.0 == name).collect::<Vec<_>>();
    let report = parse(&folder.scan(&["-o", "json", "."], "").1);
    let failing: Vec<_> = findings(&report).filter(|finding| finding["severity"] != "info").collect();
    let suites: Vec<_> = named("testsuite").iter().map(|suite| suite.1.clone()).collect();
    let suite = |name: &str, failures: usize, errors: usize| json!({"name": name, "tests": "1", "failures": failures.to_string(), "errors": errors.to_string()});
    let expected = [suite("a b/pg.yaml", failing.len(), 0), suite("broken.yaml", 0, 1), suite("twice.yaml", 0, 0)];
    for expected in &expected {
        assert!(suites.contains(expected), "{expected} is not in {xml}");
    }
    assert_eq!(suites.len(), expected.len(), "a file without a database is no suite: {xml}");
    assert_eq!(named("testsuites")[0].1["failures"], failing.len().to_string());
    assert!(
        named("testcase").iter().any(|test| test.1 == json!({"classname": "a b/pg.yaml", "name": "StatefulSet db/pg"}))
    );
    let failures = named("failure");
    assert_eq!(failures.len(), failing.len());
    for (failure, finding) in failures.iter().zip(failing) {
        assert_eq!(failure.1["message"], finding["message"]);
        assert!(failure.2.contains(&format!("a b/pg.yaml:{}:{}", finding["line"], finding["column"])), "{xml}");
    }
    assert_eq!(named("error").len(), 1);
    assert!(named("system-out").iter().any(|told| told.2.contains("PostgreSQL in pg")), "{xml}");
}

#[test]
fn junit_fails_as_the_exit_code_does() {
    let folder = Folder::with(&[("pg.yaml", LOOPING)]);
    let report = parse(&folder.scan(&["-o", "json", "."], "").1);
    let count = |severities: &[&str]| {
        findings(&report).filter(|finding| severities.contains(&finding["severity"].as_str().unwrap())).count()
    };
    assert!(count(&["critical"]) > 0 && count(&["warning"]) > 0, "{report}");
    for (least, severities) in [
        ("never", &[][..]),
        ("critical", &["critical"]),
        ("warning", &["critical", "warning"]),
        ("info", &["critical", "warning", "info"]),
    ] {
        let (_, xml) = folder.scan(&["-o", "junit", "--fail-on", least, "."], "");
        let elements = elements(&xml);
        assert_eq!(elements.iter().filter(|e| e.0 == "failure").count(), count(severities), "{least}: {xml}");
        let output = elements.iter().find(|e| e.0 == "system-out").unwrap();
        assert_eq!(
            output.2.matches("warning RP").count(),
            if least == "critical" || least == "never" { count(&["warning"]) } else { 0 },
            "{xml}"
        );
    }
}

#[test]
fn junit_is_xml_whatever_stands_in_a_manifest() {
    let folder = Folder::with(&[]);
    let odd = LOOPING
        .replace("[pg_isready]", "[sh, -c, \"pg_isready -d \\\"<a&b>\\\" \\e[31m]]> \\0\"]")
        .replace("name: pg, namespace", "name: \"<pg>&'\\a\", namespace");
    let (code, xml) = folder.scan(&["-o", "junit", "-"], &odd);
    assert_eq!(code, 1, "{xml}");
    assert!(!xml.chars().any(|c| c.is_control() && c != '\n'), "{xml:?}");
    let elements = elements(&xml);
    let test = elements.iter().find(|element| element.0 == "testcase").unwrap();
    assert_eq!(test.1, json!({"classname": "stdin", "name": "StatefulSet db/<pg>&'\u{fffd}"}));
}

#[test]
fn github_gets_an_annotation_for_each_finding_and_each_broken_document() {
    let folder = Folder::with(&[("a, b:c%.yaml", LOOPING), ("broken.yaml", BROKEN), ("twice.yaml", TWICE)]);
    let (code, text) = folder.scan(&["-o", "github", "."], "");
    assert_eq!(code, 2);
    let report = parse(&folder.scan(&["-o", "json", "."], "").1);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2 + findings(&report).count(), "{text}");
    assert!(lines[0].starts_with("::error file=broken.yaml,line=2,col=11,title=not read::"), "{text}");
    assert!(lines[1].starts_with("::warning file=twice.yaml,line=2,col=1,title=read with a doubt::"), "{text}");
    for (line, finding) in lines[2..].iter().zip(findings(&report)) {
        let level = match finding["severity"].as_str().unwrap() {
            "critical" => "error",
            "info" => "notice",
            same => same,
        };
        let start = format!(
            "::{level} file=a%2C b%3Ac%25.yaml,line={},col={},title={} {}::StatefulSet db/pg, container pg: ",
            finding["line"],
            finding["column"],
            finding["rule"].as_str().unwrap(),
            finding["name"].as_str().unwrap()
        );
        assert!(line.starts_with(&start), "{line}\nshould start with\n{start}");
        assert!(line.ends_with(&format!(". Fix: {}", finding["fix"].as_str().unwrap())), "{line}");
    }
}

#[test]
fn github_annotates_no_file_that_is_not_there() {
    let folder = Folder::with(&[]);
    let sneaky = LOOPING.replace("name: pg, namespace", "name: \"a\\n::error::b\", namespace");
    let (_, text) = folder.scan(&["-o", "github", "-"], &sneaky);
    assert!(text.lines().all(|line| line.starts_with("::")), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("::error::b")), "{text}");
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("::error title=RP001 ") && first.ends_with(" (stdin:10:11)"), "{first}");
}

#[test]
fn the_table_obeys_no_escape_of_a_manifest() {
    let folder = Folder::with(&[]);
    let sneaky = LOOPING.replace("name: pg, namespace", "name: \"\\e[8mpg\", namespace");
    let (_, text) = folder.scan(&["-"], &sneaky);
    assert!(text.starts_with("StatefulSet db/\u{fffd}[8mpg  PostgreSQL in pg  -:1\n"), "{text:?}");
    assert!(text.contains("\n1 workload in 1 file, 1 with a database: "), "{text}");
}
