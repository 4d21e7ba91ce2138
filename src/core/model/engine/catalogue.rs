//! Health scripts that are not in the pod spec but that everybody has: files of well-known images and charts, known by
//! image and path. With them "nobody can tell what it does" becomes rare.

use super::profile::{Answers, FAILS, PASSES, Runtime, has_word, prints};
use crate::core::model::command::Call;

/// A health script that is known by its path and image.
#[derive(Clone, Copy, Debug)]
pub struct KnownScript {
    /// The end of its path.
    pub path: &'static str,
    /// A part of the image reference, or empty where the path alone is enough.
    pub image: &'static str,
    /// The versions of the image for which this holds, from the first on and before the second, as in `("7.0", "8")`;
    /// None for all. A tag that is no version is in no range.
    pub versions: Option<(&'static str, &'static str)>,
    /// Words that have to be among its arguments, as in [`super::Client::with`].
    pub with: &'static [&'static str],
    /// What it does, for people, as a sentence without its end.
    pub does: &'static str,
    /// Its exit code in each situation.
    pub answers: Answers,
    /// What else decides where it fails alone.
    pub depends_on: &'static str,
    /// The heaviest program that it starts.
    pub runtime: Runtime,
    /// Where that can be read: `repository: path`.
    pub source: &'static str,
}

impl KnownScript {
    /// A script for every image and version, that asks its own server only.
    const ANY: Self = Self {
        path: "",
        image: "",
        versions: None,
        with: &[],
        does: "",
        answers: Answers::UNKNOWN,
        depends_on: "",
        runtime: Runtime::Light,
        source: "",
    };

    fn matches(&self, image: &str, call: &Call) -> bool {
        call.path.ends_with(self.path)
            && image.contains(self.image)
            && self.with.iter().all(|word| has_word(call, word))
            && self.versions.is_none_or(|range| in_range(image, range))
    }
}

/// The script that a container of this image calls, if it is known.
#[must_use]
pub fn known_script(image: &str, call: &Call) -> Option<&'static KnownScript> {
    SCRIPTS.iter().find(|script| script.matches(image, call))
}

/// Whether the tag of an image is a version from `first` on and before `end`.
fn in_range(image: &str, (first, end): (&str, &str)) -> bool {
    let tag = image.split('@').next().unwrap_or("").rsplit('/').next().unwrap_or("");
    let Some((_, tag)) = tag.split_once(':') else { return false };
    let numbers = |text: &str| -> Option<Vec<u32>> {
        let text = text.trim_start_matches('v');
        let text = text.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        text.split('.').map(|part| part.parse().ok()).collect()
    };
    match (numbers(tag), numbers(first), numbers(end)) {
        (Some(version), Some(first), Some(end)) => version >= first && version < end,
        _ => false,
    }
}

/// Every known script; the special before the general.
pub static SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/docker-healthcheck.sh",
        image: "harbor-db",
        does: "Harbor's /docker-healthcheck.sh runs psql with SELECT 1, which PostgreSQL refuses while it recovers",
        answers: Answers::LOCAL,
        source: "goharbor/harbor: make/photon/db/docker-healthcheck.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/usr/libexec/check-container",
        does: "check-container runs pg_isready for readiness and accepts everything for liveness",
        answers: Answers::UNKNOWN,
        source: "sclorg/postgresql-container#320",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "healthcheck.sh",
        image: "mariadb",
        does: "the image's healthcheck.sh asks the server, which refuses connections until recovery is over",
        answers: Answers::LOCAL,
        source: "MariaDB/mariadb-docker: healthcheck.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/var/lib/mysql/liveness-check.sh",
        does: "the operator's liveness-check.sh excuses recovery, startup and a state transfer",
        answers: Answers::TOLERANT,
        source: "percona/percona-xtradb-cluster-operator: build/liveness-check.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/health/ping_liveness_local.sh",
        does: "Bitnami's ping_liveness_local.sh accepts LOADING and MASTERDOWN",
        answers: Answers { login_refused: FAILS, ..Answers::TOLERANT },
        source: "bitnami/charts: bitnami/redis/templates/health-configmap.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/health/ping_readiness_local.sh",
        does: "Bitnami's ping_readiness_local.sh accepts PONG only, and a loading server answers LOADING",
        answers: Answers { serving: prints("PONG"), recovering: FAILS, login_refused: FAILS, alone: PASSES },
        source: "bitnami/charts: bitnami/redis/templates/health-configmap.yaml",
        ..KnownScript::ANY
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (image, expected) in [
            ("a/b:7.0", true),
            ("a/b:7.10.1-debian-12", true),
            ("registry:5000/a/b:v7.2@sha256:0", true),
            ("a/b:8.0", false),
            ("a/b:6.9", false),
            ("a/b:latest", false),
            ("a/b", false),
        ] {
            assert_eq!(in_range(image, ("7.0", "8")), expected, "{image}");
        }
    }

    #[test]
    fn every_script_says_where_that_can_be_read() {
        for script in SCRIPTS {
            assert!(!script.source.is_empty() && !script.does.is_empty() && !script.path.is_empty(), "{script:?}");
        }
    }
}
