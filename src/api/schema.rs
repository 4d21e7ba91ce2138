//! What the schema generator does not know about a good custom resource definition.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::validation;

/// A label selector with limits, which the cost estimate of rules needs, and with the operators spelled out.
pub(super) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {
                "description": "Labels and the values that they must have, all of them.",
                "type": "object",
                "maxProperties": 64,
                "additionalProperties": {"type": "string", "maxLength": 63}
            },
            "matchExpressions": {
                "description": "Further conditions on labels, all of which must hold.",
                "type": "array",
                "maxItems": 64,
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "description": "A condition on one label.",
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {"description": "The label's key.", "type": "string", "minLength": 1, "maxLength": 317},
                        "operator": {
                            "description": "In and NotIn compare with values. Exists and DoesNotExist look at the key alone.",
                            "type": "string",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"]
                        },
                        "values": {
                            "description": "The values for In and NotIn. Empty for Exists and DoesNotExist.",
                            "type": "array",
                            "maxItems": 64,
                            "x-kubernetes-list-type": "atomic",
                            "items": {"type": "string", "maxLength": 63}
                        }
                    },
                    "x-kubernetes-validations": [
                        {"rule": validation::OPERATOR, "message": validation::OPERATOR_MESSAGE}
                    ]
                }
            }
        }
    })
}

/// A quantity as the API server stores it. Its form is checked by a rule, whose message can give an example.
pub(super) fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true})
}

/// Conditions with the limits that the Kubernetes API sets for its own.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "description": "One statement about the policy.",
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"description": "What the statement is about.", "type": "string", "maxLength": 316},
                "status": {"description": "Whether it holds.", "type": "string", "enum": ["True", "False", "Unknown"]},
                "observedGeneration": {
                    "description": "The generation of the spec that it speaks of.",
                    "type": "integer", "format": "int64", "minimum": 0
                },
                "lastTransitionTime": {
                    "description": "Since when it has this status.", "type": "string", "format": "date-time"
                },
                "reason": {
                    "description": "One word for machines.", "type": "string", "minLength": 1, "maxLength": 1024
                },
                "message": {"description": "A sentence for people.", "type": "string", "maxLength": 32768}
            }
        }
    })
}

/// Turns a generated definition into the one that is installed.
pub(super) fn finish(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|validation| validation.open_api_v3_schema.as_mut()) {
            // Tools show the kind; a title would repeat it.
            schema.title = None;
            tidy(schema);
        }
    }
    definition
}

fn tidy(schema: &mut JSONSchemaProps) {
    // An optional field may be left out, but is never null: the server then drops a null before any rule sees it,
    // while `has()` is true for a null that was let in and the comparison behind it fails with a type error.
    schema.nullable = None;
    // Lines are broken where the source file is; whoever shows them breaks them again.
    if let Some(description) = &mut schema.description {
        *description = description
            .split("\n\n")
            .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
            .join("\n\n");
    }
    for property in schema.properties.iter_mut().flat_map(|properties| properties.values_mut()) {
        tidy(property);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        tidy(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
    }
}

/// The paths in `object` that the definition does not know, for readers of files: there no API server refuses or
/// drops a field, and a misspelt `mode` would silently be the default.
pub fn unknown_fields(definition: &CustomResourceDefinition, object: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let schema =
        definition.spec.versions.first().and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
    if let (Some(schema), Some(fields)) = (schema, object.as_object()) {
        for (name, value) in fields {
            if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                look_up(schema, name, value, "", &mut unknown);
            }
        }
    }
    unknown
}

fn look_up(parent: &JSONSchemaProps, name: &str, value: &Value, path: &str, unknown: &mut Vec<String>) {
    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let property = parent.properties.as_ref().and_then(|properties| properties.get(name));
    let schema = property.or(match &parent.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(schema)) => Some(&**schema),
        _ => None,
    });
    match schema {
        Some(schema) => descend(schema, value, &path, unknown),
        None => unknown.push(path),
    }
}

fn descend(schema: &JSONSchemaProps, value: &Value, path: &str, unknown: &mut Vec<String>) {
    match (value, &schema.items) {
        (Value::Object(fields), _) => {
            for (name, value) in fields {
                look_up(schema, name, value, path, unknown);
            }
        }
        (Value::Array(items), Some(JSONSchemaPropsOrArray::Schema(schema))) => {
            for (index, value) in items.iter().enumerate() {
                descend(schema, value, &format!("{path}[{index}]"), unknown);
            }
        }
        _ => {}
    }
}
