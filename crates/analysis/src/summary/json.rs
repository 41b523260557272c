//! The summary as JSON. Imported runs omit figures that the original tool did not report.

use serde_json::{Map, Value};

use super::Summary;

const OWN: [&str; 4] = ["exit_code", "in_flight", "users", "connections_opened"];

pub fn json(summary: &Summary) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(summary)?;
    if summary.run.imported_from.is_none() {
        return Ok(value);
    }
    if let Some(members) = value.as_object_mut() {
        leave_out(summary, members);
    }
    Ok(value)
}

fn leave_out(summary: &Summary, members: &mut Map<String, Value>) {
    for name in OWN {
        members.remove(name);
    }
    if let Some(run) = members.get_mut("run").and_then(Value::as_object_mut) {
        for name in ["elapsed_ns", "started_wall_ns"] {
            if run.get(name) == Some(&Value::from(0)) {
                run.remove(name);
            }
        }
        if summary.run.started_wall_ns == 0 {
            run.remove("started_utc");
        }
    }
    for name in ["all", "labels", "iterations", "transactions"] {
        let rows = match members.get_mut(name) {
            Some(Value::Array(rows)) => rows.iter_mut().collect(),
            Some(row) => vec![row],
            None => Vec::new(),
        };
        rows.into_iter().for_each(row);
    }
    let all = &summary.all;
    if !all.reports("count") {
        members.remove("requests");
    } else if let Some(requests) = members.get_mut("requests").and_then(Value::as_object_mut) {
        requests.remove("redirects");
        if !all.reports("errors") {
            requests.retain(|name, _| name == "issued");
        }
    }
}

fn row(row: &mut Value) {
    let Some(row) = row.as_object_mut() else {
        return;
    };
    row.remove("bytes_out");
    let unreported = row.remove("unreported");
    let names = unreported.as_ref().and_then(Value::as_array);
    for name in names.into_iter().flatten().filter_map(Value::as_str) {
        row.remove(name);
        if name == "errors" {
            row.remove("error_share");
            row.remove("none");
        }
    }
}
