use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::{Error, Outcome, print};
use crate::api;

/// Print the custom resource definitions, ready for kubectl apply
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Write a file for each definition into this folder instead
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let documents = api::definitions().iter().map(document).collect::<Result<Vec<_>, _>>()?;
    match &args.output_dir {
        None => print(documents.iter().flat_map(|document| ["---\n", &document.text]).collect::<String>())?,
        Some(folder) => write(folder, &documents)?,
    }
    Ok(Outcome::Clean)
}

/// A definition as it is stored.
struct Document {
    file_name: String,
    text: String,
}

fn document(definition: &CustomResourceDefinition) -> Result<Document, Error> {
    let yaml = |source| Error::Yaml { what: "a custom resource definition", source };
    let value = serde_yaml::to_value(definition).map_err(yaml)?;
    let value = serde_json::to_value(value).expect("a definition has string keys only");
    Ok(Document {
        file_name: format!("{}_{}.yaml", definition.spec.group, definition.spec.names.plural),
        text: serde_yaml::to_string(&whole_numbers(value)).map_err(yaml)?,
    })
}

fn write(folder: &Path, documents: &[Document]) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|source| Error::Write { path: folder.to_owned(), source })?;
    for document in documents {
        let path = folder.join(&document.file_name);
        fs::write(&path, &document.text).map_err(|source| Error::Write { path, source })?;
    }
    Ok(())
}

/// A range is stored as a floating-point number and would be printed as `65535.0`, which reads as if fractions
/// were allowed.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within 32 bits")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < f64::from(i32::MAX) => {
                (float as i64).into()
            }
            _ => number.into(),
        },
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, whole_numbers(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::whole_numbers;

    #[test]
    fn only_whole_floats_lose_their_fraction() {
        let printed = whole_numbers(json!({"a": [1.0, 0.0, 65535.0], "b": 1.5, "c": 7, "d": "1.0"}));
        assert_eq!(printed.to_string(), r#"{"a":[1,0,65535],"b":1.5,"c":7,"d":"1.0"}"#);
    }
}
