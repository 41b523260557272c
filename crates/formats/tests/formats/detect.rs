//! Which reader a file belongs to.

use std::path::Path;

use formats::{Kind, detect};

#[test]
fn by_content_and_by_name() {
    let kind = |name: &str, text: &str| detect(Path::new(name), text);
    assert_eq!(
        kind("a.yml", "# c\nloadline: 1\ntarget: x"),
        Ok(Kind::Native)
    );
    assert_eq!(kind("a.json", "{\"loadline\": 1}"), Ok(Kind::Native));
    assert_eq!(
        kind("a.yml", "target: x\nloadline: 1\nconfig: {}"),
        Ok(Kind::Artillery)
    );
    assert_eq!(kind("a", "scenarios: []"), Ok(Kind::Artillery));
    assert_eq!(kind("a.yml", "config: ["), Ok(Kind::Artillery));
    assert_eq!(kind("a", "loadline: 1\nx: ["), Ok(Kind::Native));
    assert_eq!(kind("a.py", "import locust"), Ok(Kind::Locust));
    assert_eq!(kind("A.LUA", ""), Ok(Kind::WrkLua));
    let message = kind("a.yml", "steps: []").unwrap_err();
    assert!(
        message.starts_with("a.yml: ")
            && message.contains("loadline: 1")
            && message.contains(".lua"),
        "{message}"
    );
    assert!(kind("a.txt", "").is_err());
}

#[test]
fn loading_says_which_door() {
    let load = |name: &str| {
        formats::load(&formats::Inputs {
            files: vec![name.into()],
            ..formats::Inputs::default()
        })
        .unwrap_err()
        .to_string()
    };
    assert!(load("/nowhere/x.yml").starts_with("/nowhere/x.yml: No such file"));
    assert_eq!(
        formats::load(&formats::Inputs::default())
            .unwrap_err()
            .to_string(),
        "no test file was named"
    );
}
