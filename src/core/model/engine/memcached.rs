//! Memcached, which holds its data in memory.

use super::listen::{loopback_only, words};
use super::profile::{Evidence, Opens, Profile, Source, SteadyLiveness};
use crate::api::Engine;
use crate::core::model::workload::Container;

pub(super) static MEMCACHED: Profile = Profile {
    engine: Engine::Memcached,
    family: "Memcached",
    images: &["memcached"],
    starts: &["memcached", "memcached.sh"],
    ruled_out_by: &["mcrouter", "twemproxy", "nutcracker"],
    environment: &["MEMCACHED_*"],
    port: 11211,
    port_names: &["memcached", "memcache", "tcp-memcached"],
    port_environment: &["MEMCACHED_PORT_NUMBER"],
    port_arguments: &["-p", "--port"],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "memcached/memcached: restart.c: data outlives a process only with -e (--memory-file), as a memory map; otherwise there is nothing to load",
    },
    in_recovery: "has nothing to recover",
    steady: SteadyLiveness::Socket,
    unreachable,
    ..Profile::BLANK
};

/// `-s` is a unix socket in place of every TCP port; `-l` names addresses.
fn unreachable(container: &Container<'_>) -> Option<String> {
    if words(container).iter().any(|word| *word == "-s" || word.starts_with("--unix-socket")) {
        return Some("-s is set: the server listens on a unix socket only".to_owned());
    }
    loopback_only(container, &["-l", "--listen"], &[])
}
