//! YugabyteDB: master and tserver, which one image runs.

use super::listen::loopback_only;
use super::profile::{
    Answers, Client, Evidence, FAILS, Opens, OtherPort, PASSES, Profile, Runtime, Source, SteadyLiveness, UNKNOWN,
};
use crate::api::Engine;

const fn other(number: u16, names: &'static [&'static str], what: &'static str) -> OtherPort {
    OtherPort { number, names, opens: Opens::Unknown, what }
}

pub(super) static YUGABYTEDB: Profile = Profile {
    engine: Engine::YugabyteDB,
    family: "YugabyteDB",
    images: &["yugabyte", "yugabyte-itest"],
    servers: &["yb-master", "yb-tserver", "yugabyted start"],
    // Beside the server the chart runs the same image for its log files and its console.
    ruled_out_by: &["yugabyted-ui", "log_cleanup.sh", "yb-admin", "yb-ctl", "yugaware"],
    data_paths: &["/mnt/disk0", "/home/yugabyte/yb_data"],
    port: 9100,
    port_names: &["tcp-rpc-port"],
    port_arguments: &["--rpc_bind_addresses"],
    other_ports: &[
        other(7100, &[], "the master's RPC"),
        other(7000, &["http-ui"], "the master's console"),
        other(9000, &["http-ui"], "the tserver's console"),
        other(5433, &["tcp-ysql-port"], "SQL"),
        other(9042, &["tcp-yql-port"], "CQL"),
        other(6379, &["tcp-yedis-port"], "the Redis protocol"),
    ],
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "its chart checks the disk instead of a port (yugabyte/charts: stable/yugabyte/templates/service.yaml); when the ports open nobody has read here",
    },
    steady: SteadyLiveness::KeepCheck(
        "its chart's check writes to each disk, which a socket cannot stand in for, and nobody has shown when its ports open",
    ),
    clients: &[
        Client {
            programs: &["ysqlsh"],
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: FAILS, alone: UNKNOWN },
            depends_on: "the masters",
            ..Client::ANY
        },
        Client {
            programs: &["ycqlsh"],
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: FAILS, alone: UNKNOWN },
            depends_on: "the masters",
            runtime: Runtime::Python,
            ..Client::ANY
        },
    ],
    unreachable: |container| loopback_only(container, &["--rpc_bind_addresses"], &[]),
    ..Profile::BLANK
};
