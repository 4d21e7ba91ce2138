//! Takes the objects out of a `List`.

use serde_json::{Value, json};

use super::Document;
use super::position::{Place, Positions, children};
use crate::core::model::pointer::Pointer;

/// A value that is not a document yet.
struct Part {
    value: Value,
    places: Vec<Place>,
    origin: Pointer,
}

/// The objects of one YAML document in their order: itself, or the items where it is a list, however deep.
pub(super) fn flatten(document: usize, value: Value, places: Vec<Place>, read: &mut Vec<Document>) {
    let mut parts = vec![Part { value, places, origin: Pointer::root() }];
    while let Some(mut part) = parts.pop() {
        if !is_list(&part.value) {
            let Some(first) = part.places.first() else { continue };
            read.push(Document {
                document,
                line: first.value.line,
                origin: part.origin,
                positions: Positions::new(part.places),
                value: part.value,
            });
            continue;
        }
        let number = part.value.as_object().and_then(|members| members.keys().position(|key| key == "items"));
        let items_places = number.and_then(|number| children(&part.places).nth(number)).unwrap_or_default();
        let Value::Array(items) = part.value["items"].take() else { continue };
        let places = children(items_places).collect::<Vec<_>>();
        let origin = part.origin.field("items");
        for (index, (mut value, places)) in items.into_iter().zip(places).enumerate().rev() {
            let mut places = places.to_vec();
            name_kind(&mut value, &mut places, &part.value);
            parts.push(Part { value, places, origin: origin.index(index) });
        }
    }
}

fn is_list(value: &Value) -> bool {
    value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
        && value.get("items").is_some_and(Value::is_array)
}

/// The API server leaves out the kind of each item where that of the list says it: `StatefulSetList`.
fn name_kind(item: &mut Value, places: &mut Vec<Place>, list: &Value) {
    let kind = list["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
    let (Some(kind), Some(members)) = (kind, item.as_object_mut()) else { return };
    if members.contains_key("kind") {
        return;
    }
    let said = [("kind", json!(kind)), ("apiVersion", list["apiVersion"].clone())];
    for (name, value) in said.into_iter().filter(|(_, value)| value.is_string()) {
        if members.contains_key(name) {
            continue;
        }
        members.insert(name.to_owned(), value);
        // What is written nowhere stands where the item does.
        if let Some(item) = places.first_mut() {
            item.size = item.size.saturating_add(1);
            let added = Place { key: None, size: 1, ..*item };
            places.push(added);
        }
    }
}
