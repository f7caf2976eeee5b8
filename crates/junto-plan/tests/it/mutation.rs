//! Real files with a few mistakes in them.

use junto_spec::catalog;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value};

/// A mistake somewhere in a file.
#[derive(Clone, Debug)]
pub(crate) struct Mistake {
    place: Index,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The value is not there.
    Dropped,
    /// Another value, of any type.
    Replaced(Value),
    /// A number that many times as large; anything else stays.
    Scaled(f64),
    /// The value of another place.
    Copied(Index),
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0u64..300).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(Value::from("re:(")),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Up to three mistakes.
pub(crate) fn mistakes() -> impl Strategy<Value = Vec<Mistake>> {
    let scales = vec![-1.0, 0.0, 0.5, 1.5, 2.0, 3.0, 7.0, 64.0, 1e3, 1e6, 1e-6, 1e300];
    let kind = prop_oneof![
        1 => Just(Kind::Dropped),
        2 => any_value().prop_map(Kind::Replaced),
        4 => prop::sample::select(scales).prop_map(Kind::Scaled),
        1 => any::<Index>().prop_map(Kind::Copied),
    ];
    let mistake = (any::<Index>(), kind).prop_map(|(place, kind)| Mistake { place, kind });
    prop::collection::vec(mistake, 1..4)
}

/// The text of any file of a folder of the catalog, with its name.
pub(crate) fn file(folder: &'static str) -> impl Strategy<Value = (&'static str, &'static str)> {
    let ending = if folder == "models" { "json" } else { "toml" };
    let text = move |name| (name, catalog::text(folder, name, ending).unwrap());
    prop::sample::select(catalog::names(folder)).prop_map(text)
}

/// The value with mistakes in it.
pub(crate) fn with_mistakes(mut value: Value, mistakes: &[Mistake]) -> Value {
    for Mistake { place, kind } in mistakes {
        let mut paths = Vec::new();
        places(&value, "", &mut paths);
        if paths.is_empty() {
            break;
        }
        let path = &paths[place.index(paths.len())];
        let there = value.pointer(path).unwrap().clone();
        let put = match kind {
            Kind::Dropped => {
                let (parent, key) = path.rsplit_once('/').unwrap();
                if let Some(Value::Object(map)) = value.pointer_mut(parent) {
                    map.remove(key);
                }
                continue;
            }
            Kind::Replaced(other) => other.clone(),
            Kind::Scaled(factor) => scaled(&there, *factor),
            Kind::Copied(from) => value.pointer(&paths[from.index(paths.len())]).unwrap().clone(),
        };
        *value.pointer_mut(path).unwrap() = put;
    }
    value
}

/// TOML text with mistakes in it; values that TOML has not are left out.
pub(crate) fn toml_with_mistakes(text: &str, mistakes: &[Mistake]) -> String {
    let value = with_mistakes(toml::from_str(text).unwrap(), mistakes);
    let Value::Object(map) = value else { return value.to_string() };
    let known = map.into_iter().filter(|(_, value)| toml::Value::try_from(value).is_ok());
    toml::to_string(&known.collect::<Map<String, Value>>()).unwrap_or_default()
}

fn scaled(value: &Value, factor: f64) -> Value {
    match (value.as_i64(), value.as_f64()) {
        (Some(whole), _) => Value::from((whole as f64 * factor) as i64),
        (None, Some(number)) => Value::from(number * factor),
        _ => value.clone(),
    }
}

/// The path to each value inside, objects and lists included.
fn places(value: &Value, path: &str, into: &mut Vec<String>) {
    let mut inside = |key: &str, inner: &Value| {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        places(inner, &path, into);
        into.push(path);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| inside(key, inner)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, inner)| inside(&index.to_string(), inner));
        }
        _ => {}
    }
}
