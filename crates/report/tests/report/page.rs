use std::{fs::OpenOptions, io::Write as _};

use analysis::page;
use report::derived;
use serde_json::Value;

use crate::support::{Folder, plan, write};

fn columns(value: &Value, at: &str, found: &mut Vec<(String, Vec<Value>)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                columns(value, &format!("{at}.{name}"), found);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_array) => {
            for (i, item) in items.iter().enumerate() {
                columns(item, &format!("{at}.{i}"), found);
            }
        }
        Value::Array(items) => found.push((at.to_owned(), items.clone())),
        _ => panic!("{at} is no column"),
    }
}

#[test]
fn tick_has_new_values_of_every_column() {
    let folder = Folder::new();
    let run = write(&folder.0, &plan(&["p95 < 1s", "errors < 1%"]));
    let page = page::build(&run);
    let (_, points) = page.extent();
    assert!(points >= 3);
    let whole = serde_json::to_value(&page).unwrap();
    let tick = serde_json::to_value(page::tick(&page, points - 1).unwrap()).unwrap();
    assert_eq!(tick["from"], points - 1);
    assert_eq!(tick["summary"], whole["summary"]);
    assert_eq!(tick["series"]["heat"], whole["series"]["heat"]);
    assert_eq!(tick["series"]["labels"], whole["series"]["labels"]);
    for name in ["points", "criteria_timeline"] {
        let (mut all, mut new) = (Vec::new(), Vec::new());
        columns(&whole["series"][name], name, &mut all);
        columns(&tick["series"][name], name, &mut new);
        assert_eq!(all.len(), new.len());
        for ((at, all), (_, new)) in all.iter().zip(&new) {
            assert_eq!(all.len(), points, "{at}");
            assert_eq!(all[points - 1..], new[..], "{at}");
        }
    }
}

#[test]
fn derived_page_is_read_back_until_the_record_changes() {
    let folder = Folder::new();
    let run = write(&folder.0, &plan(&["p95 < 1s", "errors < 1%"]));
    let dir = run.dir.clone().unwrap();
    assert!(derived::read_page(&dir).is_none());
    let page = page::build(&run);
    derived::write(&dir, &page).unwrap();
    assert!(derived::read_page(&dir).unwrap() == page);
    let mut events = OpenOptions::new()
        .append(true)
        .open(dir.join("events.jsonl"))
        .unwrap();
    events.write_all(b"\n").unwrap();
    assert!(derived::read_page(&dir).is_none());
    derived::write(&dir, &page).unwrap();
    assert!(derived::read_page(&dir).is_some());
    derived::unstamp(&dir).unwrap();
    assert!(derived::read_page(&dir).is_none());
}
