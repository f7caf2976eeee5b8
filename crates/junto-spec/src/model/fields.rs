//! Reads fields of a config one by one; each refusal names the file, the field and the value.

use crate::model::error::ModelError;
use serde_json::{Map, Value};

/// The most that a field of each kind may say. Far above any model, and low enough that no
/// product of them (layers x experts x width x width x 3 matrices) leaves 64 bits.
pub(crate) mod most {
    pub(crate) const LAYERS: u64 = 1024;
    pub(crate) const EXTRA_LAYERS: u64 = 64;
    pub(crate) const EXPERTS: u64 = 4096;
    pub(crate) const WIDTH: u64 = 1 << 20;
    pub(crate) const HEADS: u64 = 4096;
    pub(crate) const HEAD_DIM: u64 = 8192;
    pub(crate) const VOCABULARY: u64 = 1 << 24;
    pub(crate) const TOKENS: u64 = 1 << 31;
    /// Entries of a list with one for each layer.
    pub(crate) const ENTRIES: usize = 4096;
    /// Modules that a quantization names; by expert, GLM-5's would be 60,000.
    pub(crate) const MODULES: usize = 1 << 20;
}

/// An object of a config, with where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) file: &'a str,
    /// The object's own name with a dot, or empty at the top.
    prefix: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(file: &'a str, prefix: &'a str, map: &'a Map<String, Value>) -> Self {
        Self { file, prefix, map }
    }

    /// The value, unless it is missing or null (which Hugging Face treats alike).
    pub(crate) fn value(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub(crate) fn missing(&self, field: &str) -> ModelError {
        let field = format!("{}{field}", self.prefix);
        ModelError::Missing { file: self.file.to_string(), field }
    }

    pub(crate) fn bad(&self, field: &str, value: &impl ToString, expected: &str) -> ModelError {
        let value = value.to_string();
        let shown: String = value.chars().take(60).collect();
        let ellipsis = if shown.len() < value.len() { "..." } else { "" };
        ModelError::Bad {
            file: self.file.to_string(),
            field: format!("{}{field}", self.prefix),
            value: format!("{shown}{ellipsis}"),
            expected: expected.to_string(),
        }
    }

    /// A whole number in `least..=most`, or `None` when it is missing or null.
    fn number(&self, field: &str, least: u64, most: u64) -> Result<Option<u64>, ModelError> {
        let Some(value) = self.value(field) else { return Ok(None) };
        match value.as_u64() {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(self.bad(field, value, &format!("a whole number from {least} to {most}"))),
        }
    }

    pub(crate) fn size(&self, field: &str, most: u64) -> Result<u64, ModelError> {
        self.number(field, 1, most)?.ok_or_else(|| self.missing(field))
    }

    pub(crate) fn count(&self, field: &str, most: u64) -> Result<u32, ModelError> {
        self.size(field, most).map(|number| number as u32)
    }

    pub(crate) fn optional_count(&self, field: &str, most: u64) -> Result<Option<u32>, ModelError> {
        Ok(self.number(field, 1, most)?.map(|number| number as u32))
    }

    /// A count that may be zero, and is zero when missing.
    pub(crate) fn count_or_zero(&self, field: &str, most: u64) -> Result<u32, ModelError> {
        Ok(self.number(field, 0, most)?.unwrap_or(0) as u32)
    }

    pub(crate) fn flag(&self, field: &str, default: bool) -> Result<bool, ModelError> {
        match self.value(field) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.bad(field, other, "true or false")),
        }
    }

    pub(crate) fn text(&self, field: &str) -> Result<&'a str, ModelError> {
        let value = self.value(field).ok_or_else(|| self.missing(field))?;
        value.as_str().ok_or_else(|| self.bad(field, value, "a text"))
    }

    /// The entries of a list; none when it is missing.
    pub(crate) fn list(&self, field: &str, most: usize) -> Result<&'a [Value], ModelError> {
        match self.value(field) {
            None => Ok(&[]),
            Some(Value::Array(list)) if list.len() <= most => Ok(list),
            Some(other) => {
                Err(self.bad(field, other, &format!("a list of at most {most} entries")))
            }
        }
    }

    /// A list of texts; empty when missing.
    pub(crate) fn texts(&self, field: &str) -> Result<Vec<&'a str>, ModelError> {
        let list = self.list(field, most::MODULES)?;
        list.iter()
            .map(|value| value.as_str().ok_or_else(|| self.bad(field, value, "a list of texts")))
            .collect()
    }

    /// The numbers of a list of layers; empty when missing.
    pub(crate) fn indices(&self, field: &str) -> Result<Vec<u64>, ModelError> {
        let list = self.list(field, most::ENTRIES)?;
        list.iter()
            .map(|value| value.as_u64().ok_or_else(|| self.bad(field, value, "a list of layers")))
            .collect()
    }

    /// The object inside `field`; `prefix` is its name with a dot.
    pub(crate) fn object(
        &self,
        field: &str,
        prefix: &'a str,
    ) -> Result<Option<Fields<'a>>, ModelError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Fields::new(self.file, prefix, map))),
            Some(other) => Err(self.bad(field, other, "an object")),
        }
    }

    /// The objects inside this one.
    pub(crate) fn objects(&self, prefix: &'a str) -> impl Iterator<Item = Fields<'a>> {
        let file = self.file;
        let objects = self.map.values().filter_map(Value::as_object);
        objects.map(move |map| Fields::new(file, prefix, map))
    }
}
