//! Vault and OpenBao. After each start they are sealed, and answer as such, until somebody unseals them.

use super::listen::loopback_only;
use super::profile::{
    Answers, Client, Endpoint, Evidence, Http, Opens, OtherPort, Profile, Source, SteadyLiveness, UNKNOWN, fails_with,
};
use crate::api::Engine;

pub(super) static VAULT: Profile = Profile {
    engine: Engine::Vault,
    images: &["vault", "vault-enterprise"],
    servers: &["vault server"],
    ruled_out_by: &["vault agent", "vault proxy", "vault-k8s", "vault-csi-provider", "vault operator", "vault write"],
    environment: &["VAULT_CLUSTER_ADDR", "VAULT_API_ADDR", "VAULT_RAFT_NODE_ID", "VAULT_LOCAL_CONFIG", "VAULT_K8S_*"],
    data_paths: &["/vault/data", "/vault/file", "/bitnami/vault/data"],
    opens_source: Source {
        kind: Evidence::Docs,
        citation: "Vault API, /sys/health: a sealed server answers 503, so its port is open; hashicorp/vault: command/server.go, runUnseal",
    },
    ..VAULT_LIKE
};

pub(super) static OPENBAO: Profile = Profile {
    engine: Engine::OpenBao,
    images: &["openbao", "openbao-ubi", "openbao-hsm-ubi"],
    servers: &["bao server"],
    ruled_out_by: &["bao agent", "bao proxy", "bao operator"],
    environment: &["BAO_CLUSTER_ADDR", "BAO_API_ADDR", "BAO_RAFT_NODE_ID", "BAO_LOCAL_CONFIG", "BAO_K8S_*"],
    data_paths: &["/openbao/data", "/openbao/file"],
    port_names: &["http", "https", "openbao"],
    opens_source: Source {
        kind: Evidence::Docs,
        citation: "OpenBao API, /sys/health: a sealed server answers 503, so its port is open",
    },
    ..VAULT_LIKE
};

/// What the two share.
const VAULT_LIKE: Profile = Profile {
    family: "Vault",
    starts: &["server", "vault", "bao"],
    port: 8200,
    port_names: &["http", "https", "vault"],
    port_arguments: &["-dev-listen-address"],
    client_port_options: &[],
    other_ports: &[OtherPort {
        number: 8201,
        names: &["https-internal", "internal", "cluster"],
        opens: Opens::Unknown,
        what: "requests between its servers",
    }],
    opens: Opens::Early,
    in_recovery: "is sealed after each start until somebody unseals it",
    steady: SteadyLiveness::Socket,
    startup_practice: "Vault's own chart leaves the liveness off",
    clients: &[
        // 0 unsealed, 1 error, 2 sealed (Vault CLI, status). It asks without a token.
        Client {
            with: &["status"],
            answers: Answers { recovering: fails_with("Sealed true"), ..Answers::LOCAL },
            ..CLI
        },
        Client { answers: Answers { serving: UNKNOWN, alone: UNKNOWN, ..Answers::WITH_LOGIN }, ..CLI },
    ],
    endpoints: HEALTH,
    unreachable: |container| loopback_only(container, &["-dev-listen-address"], &[]),
    ..Profile::BLANK
};

const CLI: Client = Client { programs: &["vault", "bao"], ..Client::ANY };
const ACTIVE: &str = "which of its servers is active";

/// 200 active, 429 standby, 501 not initialised, 503 sealed; a query moves each of them (API, /sys/health).
const HEALTH: &[Endpoint] = &[
    Endpoint { query: &["sealedcode=2", "uninitcode=2", "standbyok=true"], ..ALIVE },
    Endpoint { query: &["sealedcode=2", "uninitcode=2", "standbycode=2"], ..ALIVE },
    // It stands the seal, and not a server that was never initialised.
    Endpoint { query: &["sealedcode=2", "standbyok=true"], recovering: Http::Unknown, ..ALIVE },
    Endpoint { query: &["sealedcode=2", "standbycode=2"], recovering: Http::Unknown, ..ALIVE },
    Endpoint { query: &["sealedcode=2", "uninitcode=2"], alone: Http::Refusing, ..ALIVE },
    Endpoint { query: &["sealedcode=2"], recovering: Http::Unknown, alone: Http::Refusing, ..ALIVE },
    Endpoint { query: &["standbyok=true"], ..SEALED_IS_DEAD },
    Endpoint { query: &["standbycode=2"], ..SEALED_IS_DEAD },
    Endpoint { alone: Http::Refusing, does: "is 503 while it is sealed, and 429 on a standby", ..SEALED_IS_DEAD },
    Endpoint {
        path: "/v1/sys/seal-status",
        recovering: Http::Good,
        does: "tells the seal, and answers 200 whatever it is",
        ..Endpoint::ANY
    },
    Endpoint {
        path: "/v1/",
        recovering: Http::Refusing,
        alone: Http::Unknown,
        login_refused: Http::Unknown,
        depends_on: ACTIVE,
        does: "is refused while it is sealed",
        ..Endpoint::ANY
    },
];
const ALIVE: Endpoint = Endpoint {
    path: "/v1/sys/health",
    recovering: Http::Good,
    depends_on: ACTIVE,
    does: "has a query that makes a sealed server a good one",
    ..Endpoint::ANY
};
const SEALED_IS_DEAD: Endpoint = Endpoint { recovering: Http::Refusing, does: "is 503 while it is sealed", ..ALIVE };
