mod documents;
mod positions;
mod problems;
mod properties;

use super::*;

/// The only document of a text without problems.
fn read_one(text: &str) -> Document {
    let mut reading = read(text.as_bytes());
    assert_eq!(reading.problems, [], "{text}");
    assert_eq!(reading.documents.len(), 1, "{text}");
    reading.documents.remove(0)
}

fn values(text: &str) -> Vec<Value> {
    read(text.as_bytes()).documents.into_iter().map(|document| document.value).collect()
}
