//! The published schemas against policies: what is accepted, what is refused, and with which sentence.
//!
//! The rules run in an implementation of the same language for Rust. What only an API server checks (ranges, patterns,
//! enums, sets, the cost of rules) is compared with the types here, and tried for real in the scenarios of `e2e/`.

use std::sync::LazyLock;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::cel::{CompiledSchema, ErrorKind, Validator, compile_schema, estimate_rule_cost};
use serde::Serialize;
use serde_json::{Value, json};

use super::*;

/// The policy of the incident, with every field stated.
const REFERENCE: &str = r#"
apiVersion: reprieve.dev/v1alpha1
kind: ProbePolicy
metadata: {name: registry-database, namespace: registry}
spec:
  mode: Enforce
  selector: {matchLabels: {component: database}}
  databases:
    - {container: database, engine: PostgreSQL, port: 5432}
  liveness:  {initialDelaySeconds: 60, periodSeconds: 10, timeoutSeconds: 3, failureThreshold: 6}
  readiness: {initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3}
  startup:   {recoveryAllowanceSeconds: 3600}
  resources:
    requests: {cpu: "1", memory: 2Gi}
    limits: {memory: 3Gi}
    cpuLimit: Remove
  rules: {disable: [], optIn: []}
  rollout:
    windows: [{schedule: "0 2 * * 6", duration: 3h, timeZone: Europe/Berlin}]
    killLoop: Immediate
    maxConcurrent: 1
    soakSeconds: 120
    progressDeadlineSeconds: 1200
    onFailure: Rollback
    deleteStuckPods: false
  remedy: Auto
  onDelete: Keep
"#;

fn schema(definition: &CustomResourceDefinition) -> Value {
    let schema = definition.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    serde_json::to_value(schema).unwrap()
}

/// What the rules say to a policy of either kind, each as `PATH: MESSAGE`.
fn refusals(definition: &CustomResourceDefinition, spec: &Value) -> Vec<String> {
    static COMPILED: LazyLock<[CompiledSchema; 2]> =
        LazyLock::new(|| definitions().each_ref().map(|definition| compile_schema(&schema(definition))));
    let [policy, cluster] = &*COMPILED;
    let compiled = if definition.spec.names.kind == "ProbePolicy" { policy } else { cluster };
    match Validator::new().validate_compiled(compiled, &json!({"spec": spec}), None) {
        Ok(()) => Vec::new(),
        Err(errors) => errors
            .into_vec()
            .into_iter()
            .map(|error| {
                assert_eq!(error.kind, ErrorKind::ValidationFailure, "the rule itself failed on {spec}: {error:?}");
                error.to_string()
            })
            .collect(),
    }
}

fn spec(yaml: &str) -> Value {
    serde_yaml::from_str(yaml).unwrap_or_else(|error| panic!("{yaml}: {error}"))
}

#[track_caller]
fn accepted(yaml: &str) {
    for definition in definitions() {
        assert_eq!(refusals(&definition, &spec(yaml)), [""; 0], "{}: {yaml}", definition.spec.names.kind);
    }
}

/// Refused by exactly one rule, on both kinds.
#[track_caller]
fn refused(yaml: &str, path: &str, message: &str) {
    for definition in definitions() {
        let expected = format!("{path}: {message}");
        assert_eq!(refusals(&definition, &spec(yaml)), [expected], "{}: {yaml}", definition.spec.names.kind);
    }
}

mod rules {
    use super::*;

    #[test]
    fn a_policy_without_any_field_waits_for_annotations() {
        accepted("{}");
    }

    #[test]
    fn an_empty_selector_must_be_asked_for() {
        let message = "an empty selector would match every StatefulSet: write matchLabels or matchExpressions, or say \
            selectAll: true if you mean all of them";
        refused("selector: {}", "spec", message);
        refused("selector: {matchLabels: {}, matchExpressions: []}", "spec", message);
        refused("{selector: {}, selectAll: false}", "spec", message);
        accepted("{selector: {}, selectAll: true}");
        accepted("selectAll: true");
        accepted("selector: {matchLabels: {component: database}}");
        accepted("selector: {matchExpressions: [{key: component, operator: Exists}]}");
    }

    #[test]
    fn all_and_some_contradict() {
        let message = "selectAll: true and a selector contradict each other: remove selectAll, or empty the selector";
        refused("{selectAll: true, selector: {matchLabels: {a: b}}}", "spec", message);
        refused("{selectAll: true, selector: {matchExpressions: [{key: a, operator: Exists}]}}", "spec", message);
        accepted("{selectAll: false, selector: {matchLabels: {a: b}}}");
    }

    #[test]
    fn operators_have_the_values_that_they_need() {
        let path = "spec.selector.matchExpressions[1]";
        let message =
            "operators In and NotIn need values, Exists and DoesNotExist must have none: add or remove values";
        for bad in [
            "{key: a, operator: In}",
            "{key: a, operator: NotIn, values: []}",
            "{key: a, operator: Exists, values: [b]}",
            "{key: a, operator: DoesNotExist, values: [b]}",
        ] {
            let yaml = format!("selector: {{matchExpressions: [{{key: x, operator: Exists}}, {bad}]}}");
            refused(&yaml, path, message);
        }
        for good in [
            "{key: a, operator: In, values: [b, c]}",
            "{key: a, operator: NotIn, values: [b]}",
            "{key: a, operator: Exists}",
            "{key: a, operator: DoesNotExist, values: []}",
        ] {
            accepted(&format!("selector: {{matchExpressions: [{good}]}}"));
        }
    }

    #[test]
    fn the_selector_of_namespaces_obeys_the_same_rule() {
        let [_, cluster] = definitions();
        let refusals = refusals(&cluster, &spec("namespaceSelector: {matchExpressions: [{key: a, operator: In}]}"));
        assert_eq!(
            refusals,
            [
                "spec.namespaceSelector.matchExpressions[0]: operators In and NotIn need values, Exists and DoesNotExist \
              must have none: add or remove values"
            ]
        );
        // An empty one means every namespace, which is what leaving it out means too.
        assert_eq!(super::refusals(&cluster, &spec("namespaceSelector: {}")), [""; 0]);
    }

    #[test]
    fn a_container_has_one_hint() {
        refused(
            "databases: [{container: a, engine: MySQL}, {container: b, engine: MySQL}, {container: a, engine: Redis}]",
            "spec",
            "databases names the same container twice: keep one entry for each container",
        );
        accepted("databases: [{container: a, engine: MySQL}, {container: b, engine: MySQL, port: 3307}]");
    }

    #[test]
    fn a_timeout_ends_before_the_next_probe() {
        for probe in ["liveness", "readiness"] {
            let message = format!(
                "{probe}.timeoutSeconds is above periodSeconds, so a probe would still be waiting when the next one is \
                 due: lower the timeout or raise the period"
            );
            refused(&format!("{probe}: {{timeoutSeconds: 11, periodSeconds: 10}}"), &format!("spec.{probe}"), &message);
            accepted(&format!("{probe}: {{timeoutSeconds: 10, periodSeconds: 10}}"));
            accepted(&format!("{probe}: {{timeoutSeconds: 30}}"));
            accepted(&format!("{probe}: {{periodSeconds: 5}}"));
        }
    }

    #[test]
    fn amounts_are_quantities_above_zero() {
        let cpu = "resources.requests.cpu must be a quantity above zero, for example \"1\" or 500m";
        let memory = "resources.requests.memory must be a quantity above zero, for example 2Gi";
        let limit = "resources.limits.memory must be a quantity above zero, for example 3Gi";
        for bad in ["\"\"", "many", "2gb", "1 Gi", "0", "\"0\"", "0Mi", "-1", "\"-500m\""] {
            refused(&format!("resources: {{requests: {{cpu: {bad}}}}}"), "spec.resources.requests", cpu);
            refused(&format!("resources: {{requests: {{memory: {bad}}}}}"), "spec.resources.requests", memory);
            refused(&format!("resources: {{limits: {{memory: {bad}}}}}"), "spec.resources.limits", limit);
        }
        for good in ["1", "\"1\"", "500m", "\"0.5\"", "2Gi", "1.5G", "1e3", "2147483648"] {
            accepted(&format!("resources: {{requests: {{cpu: {good}, memory: {good}}}}}"));
            accepted(&format!("resources: {{limits: {{memory: {good}}}}}"));
        }
        accepted("resources: {requests: {}, limits: {}}");
    }

    #[test]
    fn a_limit_leaves_room_for_the_request() {
        let message = "resources.limits.memory is below resources.requests.memory: raise the limit, one notch above \
            the request is usual";
        for (request, limit) in [("2Gi", "1Gi"), ("2Gi", "2047Mi"), ("2Gi", "2G"), ("1024", "1k")] {
            let yaml = format!("resources: {{requests: {{memory: {request}}}, limits: {{memory: {limit}}}}}");
            refused(&yaml, "spec.resources", message);
        }
        for (request, limit) in [("2Gi", "3Gi"), ("2Gi", "2048Mi"), ("1000", "1k"), ("2G", "2Gi")] {
            accepted(&format!("resources: {{requests: {{memory: {request}}}, limits: {{memory: {limit}}}}}"));
        }
        accepted("resources: {requests: {cpu: \"1\"}, limits: {memory: 3Gi}}");
    }

    /// One sentence for one mistake: what cannot be compared is not also said to be too low.
    #[test]
    fn a_malformed_amount_is_not_also_compared() {
        refused(
            "resources: {requests: {memory: 2Gi}, limits: {memory: 3gb}}",
            "spec.resources.limits",
            "resources.limits.memory must be a quantity above zero, for example 3Gi",
        );
    }

    #[test]
    fn a_rule_is_disabled_or_opted_in() {
        refused(
            "rules: {disable: [RP004, RP006], optIn: [RP007, RP006]}",
            "spec.rules",
            "a rule stands in both rules.disable and rules.optIn: keep it in one of them",
        );
        accepted("rules: {disable: [RP004], optIn: [RP007, RP006]}");
    }

    #[test]
    fn removing_the_cpu_limit_needs_its_rule() {
        refused(
            "{resources: {cpuLimit: Remove}, rules: {disable: [RP006]}}",
            "spec",
            "resources.cpuLimit: Remove asks for rule RP006, which rules.disable leaves out: take RP006 from \
             rules.disable, or keep the limit",
        );
        accepted("{resources: {cpuLimit: Keep}, rules: {disable: [RP006]}}");
        accepted("{resources: {cpuLimit: Remove}, rules: {disable: [RP004]}}");
        accepted("{resources: {cpuLimit: Remove}, rules: {optIn: [RP006]}}");
    }

    #[test]
    fn the_soak_fits_into_the_deadline() {
        let message =
            "rollout.soakSeconds must be below progressDeadlineSeconds, or no rollout could ever be verified in time";
        refused("rollout: {soakSeconds: 600, progressDeadlineSeconds: 600}", "spec.rollout", message);
        // Each against the default of the other.
        refused("rollout: {soakSeconds: 1200}", "spec.rollout", message);
        refused("rollout: {progressDeadlineSeconds: 120}", "spec.rollout", message);
        accepted("rollout: {soakSeconds: 599, progressDeadlineSeconds: 600}");
        accepted("rollout: {soakSeconds: 0}");
    }

    const WINDOW: &str = "spec.rollout.windows[0]";

    #[test]
    fn a_window_has_a_schedule_and_a_duration() {
        refused(
            "rollout: {windows: [{duration: 3h}]}",
            WINDOW,
            "a window needs a schedule: five cron fields, for example \"0 2 * * 6\" for Saturdays at two",
        );
        refused(
            "rollout: {windows: [{schedule: 0 2 * * 6}]}",
            WINDOW,
            "a window needs a duration, for example duration: 3h",
        );
        accepted("rollout: {windows: [{schedule: 0 2 * * 6, duration: 3h}]}");
        accepted("rollout: {windows: []}");
    }

    #[test]
    fn a_duration_is_hours_and_minutes() {
        let message = "duration must be hours and minutes above zero, for example 3h, 90m or 1h30m";
        for bad in ["", "3", "3 hours", "3h ", "1d", "90s", "PT3H", "30m1h", "0h", "0h0m", "-1h", "1.5h", "1000h"] {
            refused(&format!("rollout: {{windows: [{{schedule: 0 2 * * 6, duration: '{bad}'}}]}}"), WINDOW, message);
        }
        for good in ["3h", "90m", "1h30m", "0h30m", "168h", "999h9999m"] {
            accepted(&format!("rollout: {{windows: [{{schedule: 0 2 * * 6, duration: {good}}}]}}"));
        }
    }

    #[test]
    fn a_time_zone_is_a_name() {
        let message = "timeZone must be an IANA name, for example Europe/Berlin or UTC";
        for bad in
            ["", "UTC+1", "+01:00", "GMT+2", "Europe/", "/Berlin", "Europe Berlin", "Europe/Berlin ", "CET-1CEST"]
        {
            refused(
                &format!("rollout: {{windows: [{{schedule: 0 2 * * 6, duration: 3h, timeZone: '{bad}'}}]}}"),
                WINDOW,
                message,
            );
        }
        let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        assert!(known.len() > 400, "only {} time zones are known: the bundled database is missing", known.len());
        // Each name compiles the rule anew, so one in seven stands for the rest.
        let windows =
            known.iter().step_by(7).map(|name| format!("{{schedule: 0 2 * * 6, duration: 3h, timeZone: '{name}'}}"));
        accepted(&format!("rollout: {{windows: [{}]}}", windows.collect::<Vec<_>>().join(", ")));
    }

    const SCHEDULE: &str = "schedule must be five cron fields within their ranges (minute hour day-of-month month \
        day-of-week), for example \"0 2 * * 6\"";

    #[test]
    fn a_schedule_is_five_fields_within_their_ranges() {
        for bad in [
            "",
            "0 2 * *",
            "0 0 2 * * 6",
            "@weekly",
            "every Saturday",
            "60 2 * * 6",
            "0 24 * * 6",
            "0 2 0 * 6",
            "0 2 32 * 6",
            "0 2 * 13 6",
            "0 2 * * 8",
            "0 2 * * XYZ",
            "*/0 2 * * 6",
            "0 2 * * 6#6",
            "0,, 2 * * 6",
            "0 2 * * 6;",
            "5/10 2 * * 6",
            "0 2-  * * 6",
        ] {
            refused(&format!("rollout: {{windows: [{{schedule: {bad:?}, duration: 3h}}]}}"), WINDOW, SCHEDULE);
        }
        for good in [
            "0 2 * * 6",
            " 0  2 * * 6 ",
            "*/15 * * * *",
            "0,30 1-5 1,15 * *",
            "0 2 * JAN-MAR sat,SUN",
            "0 0-6/2 * * 1-5",
            "0 2 ? * 6",
            "0 2 L * ?",
            "0 2 * * 6#1",
            "0 2 * * 6L",
            "0 2 * * 7",
            "00 02 01 01 0",
            "59 23 31 12 7",
        ] {
            accepted(&format!("rollout: {{windows: [{{schedule: {good:?}, duration: 3h}}]}}"));
            croner(good).unwrap_or_else(|error| panic!("the rule accepts {good:?}, the parser does not: {error}"));
        }
    }

    fn croner(schedule: &str) -> Result<croner::Cron, croner::errors::CronError> {
        use croner::parser::{CronParser, Seconds, Year};
        CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build().parse(schedule)
    }

    /// `FRI-MON`, which no regular expression can tell from `MON-FRI`.
    fn runs_backwards(schedule: &str) -> bool {
        let names = "SUN MON TUE WED THU FRI SAT|_ JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC";
        let number = |text: &str| {
            let name = |name: &str| name.eq_ignore_ascii_case(text);
            text.parse().ok().or_else(|| names.split('|').find_map(|names| names.split(' ').position(name))).unwrap()
        };
        schedule
            .split([' ', ','])
            .filter_map(|range| range.split('/').next()?.split_once('-'))
            .any(|(from, to)| number(from) > number(to))
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_the_rule_accepts_can_be_read(schedule in validation::schedule_pattern().as_str()) {
            let read = croner(&schedule);
            proptest::prop_assert!(read.is_ok() || runs_backwards(&schedule), "{schedule:?}: {read:?}");
        }
    }
}

mod schemas {
    use super::*;

    #[test]
    fn every_rule_compiles_and_is_cheap() {
        for definition in definitions() {
            let schema = schema(&definition);
            let compiled = compile_schema(&schema);
            assert!(!compiled.has_errors(), "{:?}", compiled.compilation_errors());
            let mut rules = 0_usize;
            each_schema(&schema, &mut |path, schema| {
                for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
                    rules += 1;
                    let compiled = compile_schema(schema);
                    let warnings = estimate_rule_cost(rule["rule"].as_str().unwrap(), &compiled);
                    assert!(warnings.is_empty(), "{path}: {warnings:?}");
                    let message = rule["message"].as_str().unwrap_or_default();
                    assert!(message.len() > 30 && !message.ends_with('.'), "{path}: {message:?} is no help");
                }
            });
            let namespaces = usize::from(definition.spec.scope == "Cluster");
            assert_eq!(rules, 18 + namespaces, "the walk or the derive lost or doubled some");
        }
    }

    /// The flattened spec brings its rules along, once.
    #[test]
    fn both_kinds_have_the_same_spec_but_for_namespaces() {
        let [mut policy, mut cluster] =
            definitions().map(|definition| schema(&definition)["properties"]["spec"].take());
        let selector = cluster["properties"].as_object_mut().unwrap().remove("namespaceSelector");
        assert!(selector.is_some());
        for spec in [&mut policy, &mut cluster] {
            spec["description"].take();
        }
        assert_eq!(policy, cluster);
    }

    #[test]
    fn every_field_explains_itself_and_nothing_is_nullable() {
        for definition in definitions() {
            each_schema(&schema(&definition), &mut |path, schema| {
                assert!(schema.get("nullable").is_none(), "{path} is nullable");
                assert_ne!(schema["type"], "number", "{path} takes fractions");
                if schema["type"] == "integer" {
                    assert!(
                        matches!(schema["format"].as_str(), Some("int32" | "int64")),
                        "{path}: {}",
                        schema["format"]
                    );
                }
                if schema["type"] == "array" {
                    assert!(schema["maxItems"].is_number(), "{path} has no maxItems");
                    assert!(
                        schema["x-kubernetes-list-type"].is_string() || path.contains(".findings"),
                        "{path} has no list type"
                    );
                }
                let description = schema["description"].as_str().unwrap_or_default();
                assert!(description.len() < 300, "{path}: nobody reads {} characters", description.len());
                let is_field = !path.is_empty() && !path.ends_with("[]") && !path.ends_with("{}");
                if is_field {
                    assert!(
                        description.ends_with('.') && !description.contains(['\n', '`']),
                        "{path}: {description:?}"
                    );
                }
            });
        }
    }

    #[test]
    fn defaults_are_those_of_the_types() {
        let defaults = [
            serde_json::to_value(PolicySpec::default()).unwrap(),
            serde_json::to_value(ClusterProbePolicySpec::default()).unwrap(),
        ];
        for (definition, default) in definitions().iter().zip(defaults) {
            // Whatever the server fills in is what the type would have had…
            let filled = kube::core::cel::apply_defaults(&schema(definition), &json!({"spec": {}}));
            assert_eq!(filled["spec"], default, "{}", definition.spec.names.kind);
            // … and in a block that is stated but empty too.
            each_schema(&schema(definition)["properties"]["spec"], &mut |path, schema| {
                if let (Some(stated), Some(properties)) = (schema.get("default"), schema["properties"].as_object()) {
                    let fields = properties
                        .iter()
                        .filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
                    assert_eq!(stated, &Value::Object(fields.collect()), "{path}");
                }
            });
        }
        assert_eq!(default_of::<Startup>(), json!({"recoveryAllowanceSeconds": 3600}));
        assert_eq!(default_of::<Resources>(), json!({"cpuLimit": "Keep"}));
        assert_eq!(default_of::<Rules>(), json!({}));
        assert_eq!(
            default_of::<Rollout>(),
            json!({
                "killLoop": "Immediate", "maxConcurrent": 1, "soakSeconds": 120, "progressDeadlineSeconds": 1200,
                "onFailure": "Rollback", "deleteStuckPods": false
            })
        );
    }

    /// Default of the type, which must also be what an empty block is read as.
    fn default_of<T>() -> Value
    where
        T: Default + Serialize + PartialEq + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        assert_eq!(serde_json::from_value::<T>(json!({})).unwrap(), T::default());
        serde_json::to_value(T::default()).unwrap()
    }

    #[test]
    fn ranges_are_stated() {
        let expected = [
            ("databases[].port", 1, 65_535),
            ("liveness.failureThreshold", 3, 1000),
            ("liveness.initialDelaySeconds", 0, 86_400),
            ("liveness.periodSeconds", 1, 3600),
            ("liveness.timeoutSeconds", 1, 3600),
            ("readiness.failureThreshold", 1, 1000),
            ("readiness.initialDelaySeconds", 0, 86_400),
            ("readiness.periodSeconds", 1, 3600),
            ("readiness.timeoutSeconds", 1, 3600),
            ("rollout.maxConcurrent", 1, 100),
            ("rollout.progressDeadlineSeconds", 60, 604_800),
            ("rollout.soakSeconds", 0, 86_400),
            ("startup.recoveryAllowanceSeconds", 60, 604_800),
        ];
        for definition in definitions() {
            let mut stated = Vec::new();
            each_schema(&schema(&definition)["properties"]["spec"], &mut |path, schema| {
                if schema["type"] == "integer" {
                    let bound = |name: &str| schema[name].as_f64().unwrap_or_else(|| panic!("{path} has no {name}"));
                    stated.push((path.to_owned(), bound("minimum"), bound("maximum")));
                }
            });
            stated.sort_by(|a, b| a.0.cmp(&b.0));
            let expected = expected.map(|(path, low, high)| (path.to_owned(), f64::from(low), f64::from(high)));
            assert_eq!(stated, expected);
        }
    }

    #[test]
    fn lists_merge_by_what_identifies_an_entry() {
        for definition in definitions() {
            let spec = &schema(&definition)["properties"]["spec"]["properties"];
            assert_eq!(spec["databases"]["x-kubernetes-list-type"], "map");
            assert_eq!(spec["databases"]["x-kubernetes-list-map-keys"], json!(["container"]));
            for list in ["disable", "optIn"] {
                assert_eq!(spec["rules"]["properties"][list]["x-kubernetes-list-type"], "set");
                assert_eq!(spec["rules"]["properties"][list]["items"]["pattern"], "^RP[0-9]{3}$");
            }
            let status = &schema(&definition)["properties"]["status"]["properties"];
            assert_eq!(status["conditions"]["x-kubernetes-list-map-keys"], json!(["type"]));
            assert_eq!(status["workloads"]["maxItems"].as_f64(), Some(100.0));
        }
    }

    #[test]
    fn engines_have_the_names_that_reports_use() {
        let [policy, _] = definitions();
        let engines =
            schema(&policy)["properties"]["spec"]["properties"]["databases"]["items"]["properties"]["engine"].take();
        for name in engines["enum"].as_array().unwrap() {
            let engine: Engine = serde_json::from_value(name.clone()).unwrap();
            assert_eq!(engine.name(), name.as_str().unwrap());
        }
    }

    /// Calls `visit` for the schema and all below it. Paths are those of an object, with `[]` and `{}` for any entry.
    fn each_schema(schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
        fn walk(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
            visit(path, schema);
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(&path, property, visit);
            }
            if schema["items"].is_object() {
                walk(&format!("{path}[]"), &schema["items"], visit);
            }
            if schema["additionalProperties"].is_object() {
                walk(&format!("{path}{{}}"), &schema["additionalProperties"], visit);
            }
        }
        walk("", schema, visit);
    }
}

mod reading {
    use super::*;

    #[test]
    fn the_reference_policy_is_what_it_says() {
        let policy: ProbePolicy = serde_yaml::from_str(REFERENCE).unwrap();
        let quantity = |text: &str| Some(Quantity(text.to_owned()));
        assert_eq!(
            (policy.metadata.namespace.as_deref(), policy.metadata.name.as_deref()),
            (Some("registry"), Some("registry-database"))
        );
        assert_eq!(
            policy.spec,
            PolicySpec {
                mode: Mode::Enforce,
                selector: Some(LabelSelector {
                    match_labels: Some([("component".to_owned(), "database".to_owned())].into()),
                    match_expressions: None,
                }),
                select_all: false,
                databases: vec![DatabaseHint {
                    container: "database".to_owned(),
                    engine: Engine::PostgreSQL,
                    port: Some(5432)
                }],
                liveness: Some(LivenessTimings {
                    initial_delay_seconds: Some(60),
                    period_seconds: Some(10),
                    timeout_seconds: Some(3),
                    failure_threshold: Some(6),
                }),
                readiness: Some(ReadinessTimings {
                    initial_delay_seconds: Some(10),
                    period_seconds: Some(10),
                    timeout_seconds: Some(5),
                    failure_threshold: Some(3),
                }),
                startup: Startup { recovery_allowance_seconds: 3600 },
                resources: Resources {
                    requests: Some(RequestAmounts { cpu: quantity("1"), memory: quantity("2Gi") }),
                    limits: Some(MemoryLimit { memory: quantity("3Gi") }),
                    cpu_limit: CpuLimit::Remove,
                },
                rules: Rules { disable: vec![], opt_in: vec![] },
                rollout: Rollout {
                    windows: vec![Window {
                        schedule: Some("0 2 * * 6".to_owned()),
                        duration: Some("3h".to_owned()),
                        time_zone: Some("Europe/Berlin".to_owned()),
                    }],
                    kill_loop: KillLoop::Immediate,
                    max_concurrent: 1,
                    soak_seconds: 120,
                    progress_deadline_seconds: 1200,
                    on_failure: OnFailure::Rollback,
                    delete_stuck_pods: false,
                },
                remedy: RemedyChoice::Auto,
                on_delete: OnDelete::Keep,
            }
        );
        assert_eq!(policy.status, None);
    }

    #[test]
    fn the_reference_policy_passes_the_rules_as_either_kind() {
        let spec = spec(REFERENCE)["spec"].take();
        for definition in definitions() {
            assert_eq!(refusals(&definition, &spec), [""; 0]);
        }
    }

    #[test]
    fn a_cluster_policy_reads_the_same_fields_beside_its_own() {
        let mut object = spec(REFERENCE);
        let policy: ProbePolicy = serde_json::from_value(object.clone()).unwrap();
        object["kind"] = "ClusterProbePolicy".into();
        object["spec"]["namespaceSelector"] = json!({"matchLabels": {"databases": "yes"}});
        let cluster: ClusterProbePolicy = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(cluster.spec.policy, policy.spec);
        assert_eq!(cluster.spec.namespace_selector.unwrap().match_labels.unwrap()["databases"], "yes");
    }

    /// A policy that cannot be read would stop the watch of all policies.
    #[test]
    fn whatever_the_server_stores_can_be_read() {
        for spec in [
            json!({}),
            json!({"resources": {"requests": {"cpu": 1, "memory": 2_147_483_648_i64}}}),
            json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}),
            json!({"rollout": {"windows": [{"schedule": "0 2 * * 6", "duration": "3h"}]}}),
            // From a newer version of the definitions, or from an older one.
            json!({"future": {"field": true}, "rollout": {"future": 1}, "databases": []}),
        ] {
            for definition in definitions() {
                let filled = kube::core::cel::apply_defaults(&schema(&definition), &json!({"spec": spec}));
                let read = match definition.spec.names.kind.as_str() {
                    "ProbePolicy" => serde_json::from_value::<PolicySpec>(filled["spec"].clone()).map(drop),
                    _ => serde_json::from_value::<ClusterProbePolicySpec>(filled["spec"].clone()).map(drop),
                };
                read.unwrap_or_else(|error| panic!("{spec}: {error}"));
            }
        }
        let cpu = serde_json::from_value::<RequestAmounts>(json!({"cpu": 1})).unwrap().cpu;
        assert_eq!(cpu, Some(Quantity("1".to_owned())));
    }

    #[test]
    fn unknown_fields_are_found_where_they_stand() {
        let [policy, cluster] = definitions();
        let mut object = spec(REFERENCE);
        assert_eq!(unknown_fields(&policy, &object), [""; 0]);
        assert_eq!(unknown_fields(&cluster, &object), [""; 0]);

        object["spec"]["mod"] = "Enforce".into();
        object["spec"]["selector"]["matchLabels"]["any"] = "label".into();
        object["spec"]["rollout"]["windows"][0]["timezone"] = "UTC".into();
        object["spec"]["namespaceSelector"] = json!({});
        object["sped"] = json!({"mode": "Enforce"});
        let expected = ["spec.rollout.windows[0].timezone", "spec.mod", "spec.namespaceSelector", "sped"];
        assert_eq!(unknown_fields(&policy, &object), expected);
        assert_eq!(unknown_fields(&cluster, &object), ["spec.rollout.windows[0].timezone", "spec.mod", "sped"]);
    }

    #[test]
    fn a_status_survives_being_written_and_read() {
        let status = PolicyStatus {
            observed_generation: Some(3),
            summary: Summary { matched: 1, findings: 2, ..Summary::default() },
            workloads: vec![WorkloadStatus {
                name: "pg".to_owned(),
                decision: "Advise".to_owned(),
                ..WorkloadStatus::default()
            }],
            ..PolicyStatus::default()
        };
        let written = serde_json::to_value(&status).unwrap();
        assert_eq!(serde_json::from_value::<PolicyStatus>(written.clone()).unwrap(), status);
        for definition in definitions() {
            assert_eq!(unknown_fields(&definition, &json!({"status": written})), [""; 0]);
        }
    }
}
