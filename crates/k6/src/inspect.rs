//! Output of `k6 inspect`.

use serde_json::Value;

use crate::{duration::DurationNs, options::Options, scenario::Plan};

/// Returns the options as indented JSON. For `--execution-requirements`, `plan` adds the maximum
/// duration and the maximum number of virtual users.
#[must_use]
pub fn inspect(options: &Options, plan: Option<&Plan>) -> String {
    let mut value = options.to_json();
    if let (Some(plan), Value::Object(members)) = (plan, &mut value) {
        let duration = i64::try_from(plan.max_duration_ns()).unwrap_or(i64::MAX);
        let duration = DurationNs(duration).to_string();
        members.insert("totalDuration".to_owned(), Value::String(duration));
        members.insert("maxVUs".to_owned(), Value::from(plan.max_vus()));
    }
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{options::OptionSource, scenario};
    use serde_json::json;

    #[test]
    fn requirements_follow_the_options() {
        let options = json!({"vus": 3, "duration": "10s"});
        let options = Options::from_json(&options, OptionSource::Script).unwrap();
        let plan = scenario::plan(&options.options, &|_| true).unwrap();
        let text = inspect(&options.options, Some(&plan));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["vus"], &value["maxVUs"]), (&json!(3), &json!(3)));
        assert_eq!(value["totalDuration"], "40s");
        assert_eq!(value["stages"], Value::Null);
        assert!(!inspect(&options.options, None).contains("maxVUs"));
    }
}
