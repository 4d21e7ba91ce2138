use std::fmt;

use super::Memory;
use crate::core::detect::Finding;
use crate::core::remedy::Plan;

/// What is done with a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// There is nothing to do.
    Noop,
    /// It is written.
    Patch,
    /// It is reported only.
    Advise,
    /// Something that will come is waited for.
    Defer,
    /// It is not written until somebody changes something.
    Refuse,
    /// It is left alone for good: something happened that must not be repeated.
    Halt,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Noop => "Noop",
            Self::Patch => "Patch",
            Self::Advise => "Advise",
            Self::Defer => "Defer",
            Self::Refuse => "Refuse",
            Self::Halt => "Halt",
        })
    }
}

/// What a reconcile came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What is done.
    pub decision: Decision,
    /// Where the workload stands: Clean, Reported, Planned, Deferred, Refused, Applied, Contested, Failed.
    pub status: &'static str,
    /// One word for machines.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
    /// What was found.
    pub findings: Vec<Finding>,
    /// The plan that was or would be written.
    pub plan: Option<Box<Plan>>,
    /// Our last write to this object, if there was one.
    pub written: Option<Memory>,
    /// Who re-applies the object.
    pub owner: String,
    /// Seconds after which to look again although nothing changed.
    pub look_again: Option<u32>,
    /// A verb, resource and namespace that the operator lacks.
    pub missing_verb: Option<String>,
    /// Whether this very reconcile wrote to the object.
    pub wrote: bool,
}
