//! What the fuzz targets do with an input. The tests do the same with every seed.

use reprieve::api::PolicySpec;
use reprieve::core::model::command::{Answer, Call, Outcome, Script};
use reprieve::core::model::pointer::Pointer;
use reprieve::core::model::workload::Workload;
use reprieve::core::rollout::judge;

/// A file: read, and every workload in it judged. Nothing may panic, and every finding has its place.
pub(crate) fn manifest(bytes: &[u8]) {
    let reading = reprieve::manifest::read(bytes);
    for problem in &reading.problems {
        assert!(problem.line > 0 && problem.column > 0, "a problem without a place: {problem:?}");
    }
    for document in reading.documents {
        assert!(document.position(&Pointer::root()).is_some(), "a document without a place");
        if !reprieve::manifest::is_workload(&document.value) {
            continue;
        }
        let positions = document.positions;
        let workload = Workload::new(document.value);
        let judgement = judge(&workload, &PolicySpec::default());
        for finding in &judgement.findings {
            let place = positions.key_position(workload.json(), &finding.pointer);
            assert!(place.is_some(), "a finding without a place: {finding}");
        }
    }
}

/// The command of a probe, its words separated by zero bytes: read, and followed with every answer that a client may
/// give. Nothing may panic, and what is certain with an unknown answer is never the opposite with a known one.
pub(crate) fn command(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let words: Vec<&str> = text.split('\0').collect();
    let script = Script::read(&words);
    let _ = script.normal_form();
    let outcome = |outcome, output| script.evaluate(&|_: &Call| Some(Answer { outcome, output }));
    let unknown = script.evaluate(&|_: &Call| None);
    for known in [Outcome::Passes, Outcome::Fails] {
        for output in [None, Some(""), Some("PONG"), Some("LOADING Redis is loading the dataset in memory")] {
            let with_answer = outcome(known, output);
            // With more known it may be given up sooner, since what is known may grow without end.
            if unknown != Outcome::Unknown && with_answer != Outcome::Unknown {
                assert_eq!(with_answer, unknown, "certain without an answer, and other with one: {words:?}");
            }
        }
    }
}
