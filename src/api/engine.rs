use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A database engine that has a profile, by the name its own project uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Engine {
    /// PostgreSQL, and what is built on it.
    PostgreSQL,
    /// MySQL or Percona Server, alone or with asynchronous replication.
    MySQL,
    /// MariaDB without Galera.
    MariaDB,
    /// MariaDB or Percona XtraDB Cluster with Galera replication.
    Galera,
    /// Redis, alone or as a replica.
    Redis,
    /// Valkey, alone or as a replica.
    Valkey,
    /// KeyDB.
    KeyDB,
    /// The sentinel of Redis or Valkey, which holds no data.
    Sentinel,
}

impl Engine {
    /// The name as it is written in policies and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PostgreSQL => "PostgreSQL",
            Self::MySQL => "MySQL",
            Self::MariaDB => "MariaDB",
            Self::Galera => "Galera",
            Self::Redis => "Redis",
            Self::Valkey => "Valkey",
            Self::KeyDB => "KeyDB",
            Self::Sentinel => "Sentinel",
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
