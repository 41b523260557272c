//! Checks the required fields of a patient, and adds an ID, version and date. Profiles are not
//! validated.

use serde_json::{Map, Value, json};

use super::{answer::FhirError, names::fold};

pub(super) struct Patient(Map<String, Value>);

impl Patient {
    pub(super) fn parse(body: &[u8]) -> Result<Self, FhirError> {
        let value = serde_json::from_slice(body)
            .map_err(|error| FhirError::invalid(format!("the body is not JSON: {error}")))?;
        let Value::Object(fields) = value else {
            return Err(FhirError::invalid("the body is not a JSON object"));
        };
        match fields.get("resourceType").and_then(Value::as_str) {
            Some("Patient") => Ok(Self(fields)),
            Some(other) => Err(FhirError::invalid(format!(
                "resourceType is {other}, expected Patient"
            ))),
            None => Err(FhirError::invalid("resourceType is missing")),
        }
    }

    pub(super) fn check_id(&self, in_path: &str) -> Result<(), FhirError> {
        let well_formed = (1..=64).contains(&in_path.len())
            && in_path
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.');
        if !well_formed {
            return Err(FhirError::invalid(
                "an id has 1 to 64 letters, digits, '-' and '.'",
            ));
        }
        match self.0.get("id").and_then(Value::as_str) {
            Some(id) if id == in_path => Ok(()),
            Some(id) => Err(FhirError::invalid(format!(
                "the body's id {id} is not the path's id {in_path}"
            ))),
            None => Err(FhirError::invalid("the body has no id")),
        }
    }

    pub(super) fn stamp(&self, id: &str, version: u64) -> String {
        let mut meta = match self.0.get("meta") {
            Some(Value::Object(meta)) => meta.clone(),
            _ => Map::new(),
        };
        meta.insert("versionId".to_owned(), version.to_string().into());
        meta.insert(
            "lastUpdated".to_owned(),
            crate::wall_clock::instant_utc().into(),
        );
        let mut stamped = json!({ "resourceType": "Patient", "id": id, "meta": meta });
        for (key, value) in &self.0 {
            if !matches!(key.as_str(), "resourceType" | "id" | "meta") {
                stamped[key.as_str()] = value.clone();
            }
        }
        stamped.to_string()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = list(self.0.get("name"))
            .flat_map(|name| {
                name.get("family")
                    .into_iter()
                    .chain(list(name.get("given")))
            })
            .filter_map(Value::as_str)
            .map(fold)
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
