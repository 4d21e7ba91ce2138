//! Readiness: RP011.

use super::*;

#[test]
fn rp011_no_readiness() {
    let of = |fields: &Value| found("RP011", &postgres(fields));
    assert_eq!(of(&json!({"livenessProbe": asks()})), ["readinessProbe warning Safe"], "the check moves there");
    assert_eq!(of(&json!({"livenessProbe": {"tcpSocket": {"port": 5432}}})), ["readinessProbe info ReportOnly"]);
    assert_eq!(of(&json!({})), ["readinessProbe info ReportOnly"]);
    assert_eq!(of(&json!({"readinessProbe": asks()})), NOTHING);
    let left_out = json!({"rules": {"disable": ["RP001"]}});
    let asked = postgres(&json!({"livenessProbe": asks()}));
    assert_eq!(found_under("RP011", &asked, &left_out), ["readinessProbe info ReportOnly"]);
}
