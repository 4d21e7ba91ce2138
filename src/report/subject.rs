//! A workload with all that was made of it, for reports that show more than the published shape holds.

use crate::api::PolicySpec;
use crate::core::detect::Case;
use crate::core::detect::timeline::Timeline;
use crate::core::model::engine::Database;
use crate::core::model::workload::{Container, Workload};
use crate::core::rollout::Judgement;

/// A workload, the policy that counts for it, and the judgement. Where it came from, a file or a cluster, does not
/// matter here.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The workload as it is.
    pub workload: Workload,
    /// What the policy, or its defaults, ask for.
    pub policy: PolicySpec,
    /// What was found and would be done.
    pub judgement: Judgement,
}

/// One database of a workload, as it is and as the patch would make it.
#[derive(Debug)]
pub struct DatabaseView<'a> {
    /// Its container.
    pub container: &'a Container<'a>,
    /// What is known of it.
    pub database: &'a Database,
    /// What happens in time.
    pub today: Timeline,
    /// The same with the patch; None where nothing would be sent.
    pub patched: Option<Timeline>,
}

impl Subject {
    /// The rules' view of the workload.
    #[must_use]
    pub fn case(&self) -> Case<'_> {
        Case::new(&self.workload, &self.policy, None)
    }

    /// The workload with the patch; None where nothing would be sent.
    #[must_use]
    pub fn patched(&self) -> Option<Workload> {
        // The plan was proved on this very workload, so the patch applies.
        self.judgement.plan.as_ref()?.patched(&self.workload).ok()
    }

    /// The databases in it. `case` and `patched` are those of this subject.
    #[must_use]
    pub fn databases<'a>(&self, case: &'a Case<'a>, patched: Option<&Workload>) -> Vec<DatabaseView<'a>> {
        let after = patched.map(|workload| Case::new(workload, &self.policy, None));
        let timeline_after = |name: &str| {
            let after = after.as_ref()?;
            let (container, database) = after.databases().find(|(container, _)| container.name == name)?;
            Some(Timeline::new(after, container, database))
        };
        case.databases()
            .map(|(container, database)| DatabaseView {
                container,
                database,
                today: Timeline::new(case, container, database),
                patched: timeline_after(container.name),
            })
            .collect()
    }
}
