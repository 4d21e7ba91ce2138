//! The command as its users meet it: what it prints, where, and with which exit code.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use serde::Deserialize as _;

fn reprieve(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("reprieve"));
    command.args(arguments);
    command
}

fn stdout(arguments: &[&str]) -> String {
    let output = reprieve(arguments).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

fn stderr_of_failure(arguments: &[&str]) -> String {
    let output = reprieve(arguments).assert().code(2).stdout("").get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

fn yaml_files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            files.insert(path.file_name().unwrap().into(), std::fs::read_to_string(&path).unwrap());
        }
    }
    files
}

mod crds {
    use super::*;

    #[test]
    fn are_printed_as_two_documents() {
        let text = stdout(&["crds"]);
        let names: Vec<String> = serde_yaml::Deserializer::from_str(&text)
            .map(|document| serde_yaml::Value::deserialize(document).unwrap())
            .map(|document| {
                assert_eq!(document["kind"], "CustomResourceDefinition");
                document["metadata"]["name"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(names, ["probepolicies.reprieve.dev", "clusterprobepolicies.reprieve.dev"]);
        assert!(text.starts_with("---\n"), "concatenating with other manifests must be safe");
    }

    #[test]
    fn are_written_to_a_folder_that_is_created() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("new/crds");
        assert_eq!(stdout(&["crds", "--output-dir", folder.to_str().unwrap()]), "");
        let files = yaml_files(&folder);
        assert_eq!(
            files.keys().map(|name| name.to_str().unwrap()).collect::<Vec<_>>(),
            ["reprieve.dev_clusterprobepolicies.yaml", "reprieve.dev_probepolicies.yaml"]
        );
        let printed = stdout(&["crds"]);
        assert!(files.values().all(|text| printed.contains(text.as_str())), "files and output differ");
    }

    /// The folder `crds/` is generated; this is what keeps it true.
    #[test]
    fn in_the_repository_are_current() {
        let fresh = tempfile::tempdir().unwrap();
        stdout(&["crds", "--output-dir", fresh.path().to_str().unwrap()]);
        let kept = yaml_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crds"));
        assert!(
            kept == yaml_files(fresh.path()),
            "crds/ is not what the types say: run `cargo run -- crds --output-dir crds`"
        );
    }

    #[test]
    fn have_no_fractions_and_no_unsigned_integers() {
        let text = stdout(&["crds"]);
        for bad in ["uint", "maximum: 65535.0", "number"] {
            assert!(!text.contains(bad), "{bad}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_with_its_cause() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        std::fs::write(&file, "").unwrap();
        let folder = file.join("crds");
        let message = stderr_of_failure(&["crds", "--output-dir", folder.to_str().unwrap()]);
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), 2, "{message}");
        assert_eq!(lines[0], format!("error: cannot write {}", folder.display()));
        assert!(lines[1].starts_with("  Not a directory"), "{message}");
        assert!(!message.contains('{'), "no Debug output: {message}");
    }
}

mod completions {
    use super::*;

    #[test]
    fn know_the_subcommands_in_every_shell() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let script = stdout(&["completions", shell]);
            assert!(script.contains("crds") && script.contains("output-dir"), "{shell}");
        }
    }

    #[test]
    fn name_the_shells_when_asked_for_another() {
        let message = stderr_of_failure(&["completions", "tcsh"]);
        assert!(message.starts_with("error: invalid value 'tcsh'"), "{message}");
        assert!(message.contains("bash") && message.contains("zsh"), "{message}");
    }
}

mod exit_codes {
    use super::*;

    #[test]
    fn help_and_version_are_success() {
        assert!(stdout(&["--help"]).contains("Usage: reprieve"));
        assert_eq!(stdout(&["--version"]), concat!("reprieve ", env!("CARGO_PKG_VERSION"), "\n"));
    }

    #[test]
    fn unknown_or_missing_arguments_are_two() {
        for arguments in [&["frobnicate"][..], &["crds", "--frobnicate"], &[]] {
            reprieve(arguments).assert().code(2).stdout("");
        }
    }

    /// `reprieve crds | head -1` must not look like a failure to `set -o pipefail`.
    #[test]
    fn a_closed_pipe_is_success() {
        for arguments in [&["crds"][..], &["completions", "bash"]] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let output = std::process::Command::new(cargo_bin!("reprieve"))
                .args(arguments)
                .stdout(writer)
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
                .wait_with_output()
                .unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_not() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = std::process::Command::new(cargo_bin!("reprieve")).arg("crds").stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.starts_with("error: cannot write to standard output\n  No space left"), "{message}");
    }
}

mod rules {
    use super::*;
    use reprieve::core::detect::RULES;

    #[test]
    fn are_listed_a_line_each() {
        let text = stdout(&["rules"]);
        assert_eq!(text.lines().count(), RULES.len());
        for (line, rule) in text.lines().zip(&RULES) {
            assert!(line.starts_with(rule.id) && line.ends_with(rule.summary), "{line}");
        }
    }

    #[test]
    fn are_explained_by_id_or_name() {
        let text = stdout(&["rules", "rp012", "short-termination-grace"]);
        for part in ["RP012 liveness-depends-on-others (critical, Safe)", "\nWhy it is unsafe\n  ", "RP014 "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let page = stdout(&["rules", "RP012", "-o", "markdown"]);
        assert!(page.starts_with("# RP012 liveness-depends-on-others\n\n") && page.contains("\n## References\n"));
        assert!(stderr_of_failure(&["rules", "RP099"]).contains("there is no such rule"));
    }

    #[test]
    fn are_json_for_machines() {
        let all: serde_json::Value = serde_json::from_str(&stdout(&["rules", "-o", "json"])).unwrap();
        assert_eq!(all.as_array().unwrap().len(), RULES.len());
        let one: serde_json::Value = serde_json::from_str(&stdout(&["rules", "RP006", "-o", "json"])).unwrap();
        let expected = serde_json::json!(["RP006", "info", "OptIn", "What it finds"]);
        let rule = &one[0];
        let found = [&rule["id"], &rule["severity"], &rule["applicability"], &rule["page"][0]["heading"]];
        assert_eq!(serde_json::json!(found), expected);
    }

    #[test]
    fn the_kept_pages_are_those_that_are_printed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("new/rules");
        assert_eq!(stdout(&["rules", "--output-dir", folder.to_str().unwrap()]), "");
        let files = |folder: &Path| -> BTreeMap<PathBuf, String> {
            let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            paths.map(|path| (path.file_name().unwrap().into(), std::fs::read_to_string(&path).unwrap())).collect()
        };
        let kept = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules"));
        assert_eq!(files(&folder), kept, "run: cargo run -- rules --output-dir docs/rules");
        assert_eq!(kept.len(), RULES.len() + 1);
    }
}
