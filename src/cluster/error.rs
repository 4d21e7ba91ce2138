//! What a failed call means.

use std::error::Error;

/// A call that failed, by what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The object changed since it was read (409).
    #[error("it changed meanwhile: {0}")]
    Conflict(String),
    /// There is no such object (404).
    #[error("it is gone: {0}")]
    Gone(String),
    /// The account lacks the verb (403 by authorisation, not by admission).
    #[error("{0}")]
    Forbidden(String),
    /// A webhook that declares side effects cannot be asked in a dry-run.
    #[error("{0}")]
    DryRunUnsupported(String),
    /// Validation or admission says no.
    #[error("{message}")]
    Rejected {
        /// The HTTP status.
        code: u16,
        /// The server's sentence.
        message: String,
    },
    /// The server asks for patience, failed, or did not answer.
    #[error("{message}")]
    Unavailable {
        /// What happened.
        message: String,
        /// Seconds that the server asks to wait.
        retry_after: Option<u32>,
    },
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        let status = match error {
            kube::Error::Api(status) => status,
            other => return Self::Unavailable { message: chain(&other), retry_after: None },
        };
        let message = shorten(&status.message);
        let retry_after = status.details.as_ref().map(|details| details.retry_after_seconds);
        match status.code {
            404 => Self::Gone(message),
            409 => Self::Conflict(message),
            // Quotas, limit ranges and pod security answer 403 as well; only the authoriser names user and verb.
            403 if message.contains("User \"") && message.contains(" cannot ") => Self::Forbidden(message),
            400 if message.contains("does not support dry run") => Self::DryRunUnsupported(message),
            401 => Self::Unavailable { message: format!("not logged in: {message}"), retry_after: None },
            429 | 500.. => Self::Unavailable { message, retry_after: retry_after.filter(|seconds| *seconds > 0) },
            code => Self::Rejected { code, message },
        }
    }
}

/// An error and its causes in one line. kube's own `Display` prints its debug form too, so an API error is shown by
/// the server's sentence.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let sentence = |error: &(dyn Error + 'static)| match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => (status.message.clone(), true),
        // Only says that its cause is one.
        Some(kube::Error::Service(cause)) => (cause.to_string(), false),
        _ => (error.to_string(), false),
    };
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let (mut text, is_whole) = sentence(error);
        next = error.source().filter(|_| !is_whole);
        if let Some(cause) = next {
            // A parent that quotes its cause quotes the debug form with it.
            text = text.replace(&cause.to_string(), &sentence(cause).0);
        }
        // A cause that its parent has quoted already says nothing new.
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
    }
    shorten(&parts.join(": "))
}

/// Servers and proxies may answer with whole pages.
fn shorten(text: &str) -> String {
    const MOST: usize = 600;
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if one_line.chars().count() <= MOST {
        return one_line;
    }
    let cut: String = one_line.chars().take(MOST).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn of(code: u16, message: &str) -> CallError {
        kube::Error::Api(Box::new(Status { code, message: message.to_owned(), ..Status::default() })).into()
    }

    #[test]
    fn authorisation_is_told_from_admission() {
        let authoriser = r#"pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group "" in the namespace "c""#;
        assert!(matches!(of(403, authoriser), CallError::Forbidden(_)));
        for admission in [
            r#"pods "db" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#,
            r#"pods "db" is forbidden: violates PodSecurity "restricted:latest""#,
            r#"pods "db" is forbidden: maximum cpu usage per Container is 200m, but limit is 1"#,
        ] {
            assert!(matches!(of(403, admission), CallError::Rejected { code: 403, .. }), "{admission}");
        }
    }

    #[test]
    fn the_rest_by_code() {
        let webhook = r#"admission webhook "sign.example.com" does not support dry run"#;
        assert!(matches!(of(400, webhook), CallError::DryRunUnsupported(_)));
        assert!(matches!(of(409, "x"), CallError::Conflict(_)));
        assert!(matches!(of(404, "x"), CallError::Gone(_)));
        assert!(matches!(of(422, "x"), CallError::Rejected { code: 422, .. }));
        for code in [429, 500, 502, 503, 504] {
            assert!(matches!(of(code, "<html>bad gateway</html>"), CallError::Unavailable { .. }), "{code}");
        }
    }

    #[test]
    fn a_watch_that_is_forbidden_says_so_in_one_sentence() {
        let message = r#"pods is forbidden: User "a" cannot watch resource "pods" in API group """#.to_owned();
        let forbidden = kube::Error::Api(Box::new(Status { code: 403, message: message.clone(), ..Status::default() }));
        let watch = kube::runtime::watcher::Error::WatchStartFailed(forbidden);
        assert_eq!(chain(&watch), format!("failed to start watching object: {message}"));
    }

    #[test]
    fn a_page_of_html_becomes_a_line() {
        let CallError::Unavailable { message, .. } = of(502, &"<p>\n  sorry\n</p>".repeat(500)) else { panic!() };
        assert!(message.chars().count() <= 601 && !message.contains('\n'));
    }
}
