use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OnceCell};

use crate::harness::binaries::{Binaries, Source};
use crate::harness::control_plane::Options;
use crate::harness::{Cluster, Failure};

/// Scenarios mostly wait for the server, so more of them than processors may run side by side.
const SIDE_BY_SIDE: usize = 4;

const LONGEST: Duration = Duration::from_secs(300);

/// A scenario's name, what it stands on, and the scenario.
pub struct Scenario {
    name: String,
    needs: Needs,
    run: Body,
}

type Body = Box<dyn FnOnce(&Clusters) -> Result<(), Failure> + Send>;

/// What a scenario stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Any cluster will do, even one with real nodes.
    AnyCluster,
    /// A control plane of ours: the scenario plays the kubelet, or looks behind the API.
    OwnControlPlane,
    /// Starts what it needs by itself.
    Binaries,
    /// Runs without any cluster.
    Nothing,
}

impl Scenario {
    fn new<Run>(function_name: &str, needs: Needs, run: Run) -> Self
    where
        Run: FnOnce(&Clusters) -> Result<(), Failure> + Send + 'static,
    {
        let name = function_name.split_once("scenarios::").map_or(function_name, |(_, name)| name);
        Self { name: name.to_owned(), needs, run: Box::new(run) }
    }
}

/// On the shared cluster, which may be somebody else's: nothing outside of its own namespaces, no playing the kubelet.
pub fn on_any_cluster<Run>(run: Run) -> Scenario
where
    Run: AsyncFn(&Cluster) -> Result<(), Failure> + Send + 'static,
{
    Scenario::new(std::any::type_name::<Run>(), Needs::AnyCluster, move |clusters| clusters.on_shared(&run))
}

/// On the shared cluster, which is a control plane of ours.
pub fn on_own_control_plane<Run>(run: Run) -> Scenario
where
    Run: AsyncFn(&Cluster) -> Result<(), Failure> + Send + 'static,
{
    Scenario::new(std::any::type_name::<Run>(), Needs::OwnControlPlane, move |clusters| clusters.on_shared(&run))
}

/// On a server that behaves as that version of Kubernetes does. All scenarios of one version share it.
pub fn emulating<Run>(version: &'static str, run: Run) -> Scenario
where
    Run: AsyncFn(&Cluster) -> Result<(), Failure> + Send + 'static,
{
    let name = std::any::type_name::<Run>();
    Scenario::new(name, Needs::OwnControlPlane, move |clusters| clusters.on_emulated(version, &run))
}

/// With binaries from which the scenario starts control planes of its own, for example to break them.
pub fn with_binaries<Run>(run: Run) -> Scenario
where
    Run: AsyncFn(&Binaries) -> Result<(), Failure> + Send + 'static,
{
    Scenario::new(std::any::type_name::<Run>(), Needs::Binaries, move |clusters| {
        let binaries = clusters.source.binaries()?;
        clusters.runtime.block_on(in_time(run(&binaries)))
    })
}

/// Without a cluster.
pub fn without_cluster<Run>(run: Run) -> Scenario
where
    Run: AsyncFn() -> Result<(), Failure> + Send + 'static,
{
    Scenario::new(std::any::type_name::<Run>(), Needs::Nothing, move |clusters| {
        clusters.runtime.block_on(in_time(run()))
    })
}

/// Runs the scenarios that the command line asks for, in the manner of `cargo test`.
pub fn run(scenarios: Vec<Scenario>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SIDE_BY_SIDE);
    let source = Source::find();
    let clusters = match Clusters::new(source) {
        Ok(clusters) => Arc::new(clusters),
        Err(failure) => {
            eprintln!("{failure}");
            return ExitCode::FAILURE;
        }
    };

    let mut missed = 0;
    let trials = scenarios
        .into_iter()
        .map(|scenario| {
            let possible = clusters.offers(scenario.needs);
            let clusters = Arc::clone(&clusters);
            let trial = Trial::test(scenario.name, move || {
                (scenario.run)(&clusters).map_err(|failure| Failed::from(failure.to_string()))
            });
            let trial = trial.with_ignored_flag(!possible);
            if !possible && !arguments.is_filtered_out(&trial) {
                missed += 1;
            }
            trial
        })
        .collect();

    let mut must_fail = false;
    if missed > 0 && !arguments.list {
        if let Source::Nothing(what_to_do) = &clusters.source {
            eprintln!("{missed} SCENARIOS ARE SKIPPED: {what_to_do}");
            // A person sees the line; a pipeline would stay green for ever.
            must_fail = std::env::var("CI").is_ok_and(|value| value == "true");
        } else {
            eprintln!("{missed} scenarios are skipped: they need a control plane of their own; unset E2E_KUBECONFIG");
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    // The trials are gone, and with them all other holders.
    if let Some(clusters) = Arc::into_inner(clusters) {
        clusters.close();
    }
    if must_fail {
        eprintln!("CI=true, and scenarios were skipped: failing");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// Holds the clusters that scenarios share. Each is started when the first scenario needs it.
struct Clusters {
    source: Source,
    runtime: Runtime,
    shared: OnceCell<Option<Cluster>>,
    emulated: Mutex<BTreeMap<&'static str, Arc<OnceCell<Option<Cluster>>>>>,
}

impl Clusters {
    fn new(source: Source) -> Result<Self, Failure> {
        Ok(Self { source, runtime: Runtime::new()?, shared: OnceCell::new(), emulated: Mutex::default() })
    }

    fn offers(&self, needs: Needs) -> bool {
        match (&self.source, needs) {
            (_, Needs::Nothing) | (Source::Assets(_) | Source::Build, _) => true,
            (Source::Kubeconfig(_), needs) => needs == Needs::AnyCluster,
            (Source::Nothing(_), _) => false,
        }
    }

    fn on_shared(&self, run: &impl AsyncFn(&Cluster) -> Result<(), Failure>) -> Result<(), Failure> {
        self.runtime.block_on(async {
            let cluster = self.shared.get_or_init(|| self.start(Options::default())).await;
            in_time(run(started(cluster.as_ref())?)).await
        })
    }

    fn on_emulated(
        &self,
        version: &'static str,
        run: &impl AsyncFn(&Cluster) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.runtime.block_on(async {
            let cell = Arc::clone(self.emulated.lock().await.entry(version).or_default());
            let options = Options { emulated_version: Some(version.to_owned()), ..Options::default() };
            let cluster = cell.get_or_init(|| self.start(options)).await;
            in_time(run(started(cluster.as_ref())?)).await
        })
    }

    /// Says once why there is no cluster; a hundred scenarios need not repeat the end of a log.
    async fn start(&self, options: Options) -> Option<Cluster> {
        Cluster::start(&self.source, &options)
            .await
            .inspect_err(|failure| eprintln!("the cluster did not start: {failure}"))
            .ok()
    }

    fn close(self) {
        self.runtime.block_on(async {
            if let Some(Some(cluster)) = self.shared.into_inner() {
                cluster.finish().await;
            }
        });
    }
}

/// A scenario that waits for ever would keep the others' results from being shown.
async fn in_time(scenario: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::time::timeout(LONGEST, scenario)
        .await
        .map_err(|_| Failure::new(format!("came to no end in {} s", LONGEST.as_secs())))?
}

fn started(cluster: Option<&Cluster>) -> Result<&Cluster, Failure> {
    cluster.ok_or_else(|| Failure::new("the cluster for this scenario did not start; the reason is shown above"))
}
