//! `reprieve patch`: manifests in, the same manifests with their probes and requests fixed out.
//!
//! A workload is changed only where all agree: the decision is to patch, the verifier has no objection, the editor has
//! read its text back, and judging the result finds nothing more to patch.

mod forms;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::input::{self, Chosen, ConfigMaps, STANDARD_INPUT};
use super::{Error, Outcome, note, print};
use crate::api::PolicySpec;
use crate::core::model::files::Files;
use crate::core::model::policy::Policy;
use crate::core::model::workload::Workload;
use crate::core::remedy::Plan;
use crate::core::rollout::{Decision, Judgement, judge};
use crate::manifest::{self, Document, Reading};

/// Fix probes and requests in manifests, and keep everything else to the byte.
///
/// What was changed, and what was not and why, goes to standard error.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 all that should be patched is, 1 a workload was refused, 2 could not do the job."
)]
pub(super) struct Args {
    /// Files and folders (searched for .yaml, .yml and .json), or - for standard input.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Apply these policies, as the operator would. Without one the defaults count.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    /// What to print. Without it the manifests, or nothing with --write.
    #[arg(long, short, value_enum)]
    output: Option<Output>,
    /// Change the files themselves, each as a whole or not at all.
    #[arg(long)]
    write: bool,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// The manifests, fixed.
    Manifest,
    /// For people, and for git apply.
    Diff,
    /// For kubectl patch: one document for each workload.
    StrategicMerge,
    /// For kubectl patch --type json: RFC 6902, which refuses where a value is no longer what it was here.
    JsonPatch,
    /// The patches: of a kustomization.yaml.
    Kustomize,
}

/// A file as it was read.
struct ReadFile {
    path: PathBuf,
    before: Vec<u8>,
    reading: Reading,
}

impl ReadFile {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let before = input::bytes(&path)?;
        let reading = manifest::read(&before);
        Ok(Self { path, before, reading })
    }

    fn workloads(&self) -> impl Iterator<Item = (usize, &Document)> {
        self.reading.documents.iter().enumerate().filter(|(_, document)| manifest::is_workload(&document.value))
    }

    /// Whether a probe in it runs a script of a `ConfigMap`, which may stand in any file.
    fn runs_scripts(&self) -> bool {
        self.workloads().any(|(_, document)| {
            let workload = Workload::new(document.value.clone());
            !workload.config_maps_of_probes(&Files::default()).is_empty()
        })
    }
}

/// A file on its way.
enum Begun {
    /// It waits for the `ConfigMap`s of all files.
    Read(ReadFile),
    Fixed(FixedFile),
}

/// One file, before and after.
struct FixedFile {
    path: PathBuf,
    before: Vec<u8>,
    after: Vec<u8>,
    fixes: Vec<Fix>,
    /// What there is to say about it, a line each.
    notes: Vec<String>,
    /// Workloads that should be patched and are not.
    refused: usize,
    /// Documents that could not be read.
    lost: usize,
}

/// A workload that was changed, with the proof that nothing else was.
struct Fix {
    /// `FILE:LINE`.
    place: String,
    before: Workload,
    after: Workload,
    plan: Box<Plan>,
}

impl Fix {
    /// The rules that no longer find anything, as in `RP001, RP003`.
    fn cured(&self) -> String {
        let rules: BTreeSet<_> = self.plan.cured.iter().map(|(rule, _)| *rule).collect();
        rules.into_iter().collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    if args.write && args.paths.iter().any(|path| path == Path::new(STANDARD_INPUT)) {
        return Err(Error::WriteStandardInput);
    }
    let policies = input::policies(&args.policy)?;
    let files = input::files(&args.paths)?;
    // All is known before the first file changes.
    let mut config_maps = ConfigMaps::default();
    let mut begun = Vec::new();
    for path in files {
        let file = ReadFile::read(path)?;
        for document in &file.reading.documents {
            config_maps.copy(&document.value);
        }
        begun.push(if file.runs_scripts() { Begun::Read(file) } else { Begun::Fixed(fix(file, &policies, None)) });
    }
    let finish = |begun| match begun {
        Begun::Read(file) => fix(file, &policies, Some(&config_maps)),
        Begun::Fixed(file) => file,
    };
    let files: Vec<FixedFile> = begun.into_iter().map(finish).collect();
    for line in files.iter().flat_map(|file| &file.notes) {
        note(line);
    }
    if args.write {
        for file in files.iter().filter(|file| file.before != file.after) {
            write::replace(&file.path, &file.after)?;
        }
    }
    let all = || files.iter().flat_map(|file| &file.fixes);
    match args.output {
        None if args.write => {}
        None | Some(Output::Manifest) => print(forms::manifests(&files))?,
        Some(Output::Diff) => print(files.iter().map(forms::diff).collect::<String>())?,
        Some(Output::StrategicMerge) => print(all().map(forms::strategic_merge).collect::<Result<String, _>>()?)?,
        Some(Output::JsonPatch) => print(all().map(forms::json_patch).collect::<Result<String, _>>()?)?,
        Some(Output::Kustomize) => print(forms::kustomize(all())?)?,
    }
    let lost: usize = files.iter().map(|file| file.lost).sum();
    if lost > 0 {
        return Err(Error::Unread(lost));
    }
    let refused: usize = files.iter().map(|file| file.refused).sum();
    Ok(if refused == 0 { Outcome::Clean } else { Outcome::Found })
}

/// A workload of a file, and what would be done with it.
struct Candidate {
    /// In the documents of the file.
    index: usize,
    place: String,
    workload: Workload,
    chosen: Chosen,
    judgement: Judgement,
    /// With the plan applied.
    after: Option<Workload>,
}

fn fix(file: ReadFile, policies: &[Policy], config_maps: Option<&ConfigMaps>) -> FixedFile {
    let name = file.path.display();
    let reading = &file.reading;
    let mut notes: Vec<_> = reading.problems.iter().map(|problem| format!("{name}: {problem}")).collect();
    let lost = reading.problems.iter().filter(|problem| problem.reason.loses_document()).count();
    let candidates: Vec<Candidate> = file
        .workloads()
        .map(|(index, document)| {
            let workload = Workload::new(document.value.clone());
            let files = config_maps.map(|maps| maps.files_for(&workload)).unwrap_or_default();
            let workload = workload.with_files(files);
            let place = format!("{name}:{}", document.line);
            candidate(index, place, workload, policies)
        })
        .collect();
    let (after, refusals) = edit(&file.before, reading, &candidates);
    let mut fixes = Vec::new();
    let mut refused = 0;
    for Candidate { index, place, workload, chosen, judgement, after } in candidates {
        let subject = subject(&workload);
        let doubt = chosen.doubt.map_or_else(String::new, |doubt| format!(". {doubt}"));
        let refusal = refusals.iter().find(|(refused, _)| *refused == index).map(|(_, why)| why);
        match (judgement.decision, judgement.plan, after) {
            (Decision::Patch, Some(plan), Some(after)) if refusal.is_none() => {
                let fix = Fix { place, before: workload, after, plan };
                let cures = [vec![format!("which cures {}", fix.cured())], fix.plan.notes.clone()].concat().join(". ");
                notes.push(format!("{}: {subject}: patched, {cures}{doubt}", fix.place));
                fixes.push(fix);
            }
            (Decision::Noop, ..) => {}
            (Decision::Advise, ..) => {
                let rules: BTreeSet<_> = judgement.findings.iter().map(|finding| finding.rule).collect();
                let rules = rules.into_iter().collect::<Vec<_>>().join(", ");
                notes.push(format!("{place}: {subject}: not patched for {rules}: {}{doubt}", judgement.message));
            }
            _ => {
                refused += 1;
                let why = refusal.unwrap_or(&judgement.message);
                notes.push(format!("{place}: {subject}: refused: {why}{doubt}"));
            }
        }
    }
    let ReadFile { path, before, .. } = file;
    FixedFile { path, before, after, fixes, notes, refused, lost }
}

fn candidate(index: usize, place: String, workload: Workload, policies: &[Policy]) -> Candidate {
    let chosen = input::choose(&workload, policies);
    let judgement = judge(&workload, &chosen.spec);
    let plan = judgement.plan.as_ref().filter(|_| judgement.decision == Decision::Patch);
    let after = plan.and_then(|plan| plan.patched(&workload).ok());
    Candidate { index, place, workload, chosen, judgement, after }
}

/// The file with all candidates patched that can be, and why the others are not.
fn edit(before: &[u8], reading: &Reading, candidates: &[Candidate]) -> (Vec<u8>, Vec<(usize, String)>) {
    let mut refusals: Vec<(usize, String)> = Vec::new();
    loop {
        let wanted: Vec<_> = candidates
            .iter()
            .filter(|candidate| refusals.iter().all(|(refused, _)| *refused != candidate.index))
            .filter_map(|candidate| Some((candidate, candidate.after.as_ref()?.json())))
            .collect();
        if wanted.is_empty() {
            return (before.to_vec(), refusals);
        }
        let values: Vec<_> = wanted.iter().map(|(candidate, value)| (candidate.index, *value)).collect();
        let edited = manifest::edit(before, reading, &values);
        let again = manifest::read(&edited.bytes);
        let mut restless: Vec<(usize, String)> =
            edited.refused.into_iter().map(|(index, why)| (index, why.to_string())).collect();
        for (Candidate { index, chosen, workload, .. }, _) in &wanted {
            let is_done = restless.iter().all(|(refused, _)| refused != index);
            let document = again.documents.get(*index).filter(|_| is_done);
            if let Some(why) =
                document.and_then(|document| still_to_do(&workload.changed(document.value.clone()), &chosen.spec))
            {
                restless.push((*index, why));
            }
        }
        if restless.is_empty() {
            return (edited.bytes, refusals);
        }
        // Without those that cannot be, from the start: nothing of them may stay.
        refusals.extend(restless);
    }
}

/// What a second run would do with the result of the first.
fn still_to_do(workload: &Workload, spec: &PolicySpec) -> Option<String> {
    let judgement = judge(workload, spec);
    let is_at_rest = matches!(judgement.decision, Decision::Noop | Decision::Advise);
    (!is_at_rest).then(|| format!("the result would not be at rest: {}", judgement.message))
}

/// `StatefulSet db/pg`, in the words of the scanner.
fn subject(workload: &Workload) -> String {
    let namespace = if workload.namespace().is_empty() { String::new() } else { format!("{}/", workload.namespace()) };
    format!("{} {namespace}{}", workload.kind(), workload.name())
}
