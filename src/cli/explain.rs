//! `reprieve explain`: a workload and the reasons for all that is said of it.

use std::path::PathBuf;

use super::{Error, Outcome, input, print_styled, scan};
use crate::core::model::quantity::Quantity;
use crate::manifest;
use crate::report::{Questions, WorkloadReport, explain};

/// Explain the databases in manifests: their probes in words, when they kill, what a stall does, and why
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files and folders, or - for standard input.
    #[arg(value_name = "FILE", required = true)]
    paths: Vec<PathBuf>,
    /// Only this workload. Without it, all that hold a database.
    #[arg(long, value_name = "[KIND/][NAMESPACE/]NAME")]
    workload: Option<String>,
    /// Apply these policies, as the operator would. Without one the defaults count.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    /// What a server that answers nothing for so many seconds comes to; may be given more than once.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    stall: Vec<u32>,
    /// How much WAL is written per second, to tell what a lag= of Patroni means.
    #[arg(long, value_name = "BYTES", default_value = "16Mi", value_parser = bytes_per_second)]
    write_rate: u64,
}

fn bytes_per_second(text: &str) -> Result<u64, String> {
    let quantity = Quantity::parse(text).map_err(|error| error.to_string())?;
    u64::try_from(quantity.units()).map_err(|_| "that is more than a number of bytes can hold".to_owned())
}

pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let policies = input::policies(&args.policy)?;
    let mut questions = Questions { write_rate: args.write_rate, ..Questions::default() };
    if !args.stall.is_empty() {
        questions.stalls = args.stall.iter().copied().map(i64::from).collect();
    }
    let mut documents = Vec::new();
    let mut config_maps = input::ConfigMaps::default();
    let mut lost = 0;
    for path in input::files(&args.paths)? {
        let file = path.display().to_string();
        let reading = manifest::read(&input::bytes(&path)?);
        for problem in &reading.problems {
            anstream::eprintln!("{file}:{}:{}: {}", problem.line, problem.column, problem.reason);
            lost += usize::from(problem.reason.loses_document());
        }
        for mut document in reading.documents {
            if manifest::is_workload(&document.value) {
                documents.push((file.clone(), document));
            } else {
                config_maps.take(&mut document.value);
            }
        }
    }
    let judge = |(file, document): (String, _)| scan::judge_document(&file, document, &policies, &config_maps, true);
    let reports: Vec<WorkloadReport> = documents.into_iter().map(judge).collect();
    let chosen: Vec<&WorkloadReport> = match &args.workload {
        Some(wanted) => reports.iter().filter(|report| report.is_called(wanted)).collect(),
        None => reports.iter().filter(|report| report.has_database()).collect(),
    };
    if chosen.is_empty() {
        let wanted = args.workload.clone();
        let present = reports.iter().map(|report| format!("{}/{}", report.kind, report.full_name())).collect();
        return Err(Error::NothingToExplain { wanted, present });
    }
    let texts: Vec<String> = chosen.into_iter().map(|report| explain(report, &questions)).collect();
    print_styled(&texts.join("\n\n"))?;
    if lost > 0 { Err(Error::Unread(lost)) } else { Ok(Outcome::Clean) }
}
