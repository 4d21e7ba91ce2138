//! Which fields of a container belong together, so that a new one stands beside its like.

/// Each family in the order in which people write it.
const FAMILIES: [&[&str]; 4] = [
    &["exec", "grpc", "httpGet", "tcpSocket"],
    &["startupProbe", "livenessProbe", "readinessProbe"],
    &["initialDelaySeconds", "periodSeconds", "timeoutSeconds", "successThreshold", "failureThreshold"],
    &["requests", "limits"],
];

/// Whether both are of one family.
pub(super) fn alike(one: &str, other: &str) -> bool {
    FAMILIES.iter().any(|family| family.contains(&one) && family.contains(&other))
}

/// Whether one may stand where the other stood: a probe has one handler.
pub(super) fn replaces(new: &str, old: &str) -> bool {
    FAMILIES[0].contains(&new) && FAMILIES[0].contains(&old)
}
