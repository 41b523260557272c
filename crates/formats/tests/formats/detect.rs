use std::path::Path;

use formats::{FileSample, Inputs, LoadErrors, TestFileReader, detect, native::Plans};
use plan::Plan;

struct Toys;

impl TestFileReader for Toys {
    fn reads(&self) -> &'static str {
        "a toy has a `toy`"
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["toy"]
    }

    fn detects(&self, file: &FileSample<'_>) -> bool {
        file.root().is_some_and(|root| root.get("toy").is_some())
    }

    fn load(&self, _: &Inputs) -> Result<Plan, LoadErrors> {
        Err(LoadErrors::refused("toys are not for tests"))
    }
}

const READERS: [&dyn TestFileReader; 2] = [&Plans, &Toys];

#[test]
fn files_are_detected_by_content_and_name() {
    let reader = |name: &str, text: &str| {
        let found = detect(Path::new(name), text, &READERS);
        found.map(|reader| reader.reads().split(' ').nth(1).unwrap_or_default())
    };
    assert_eq!(reader("a.yml", "# c\nloadline: 1\ntarget: x"), Ok("native"));
    assert_eq!(reader("a.json", "{\"loadline\": 1}"), Ok("native"));
    assert_eq!(
        reader("a.yml", "target: x\nloadline: 1\ntoy: {}"),
        Ok("toy")
    );
    assert_eq!(reader("a", "loadline: 1\nx: ["), Ok("native"));
    assert_eq!(reader("a.yml", "target: x\nload: {}"), Ok("native"));
    assert_eq!(reader("a.yml", "target: x\nstages: []"), Ok("native"));
    assert!(reader("a.yml", "config: {}\nload: {}").is_err());
    assert_eq!(reader("A.TOY", ""), Ok("toy"));
    assert_eq!(
        reader("a.yml", "steps: []"),
        Err(
            "a.yml: not a supported test file: a native plan must start with `loadline: 1`, a toy has a `toy`"
                .to_owned()
        )
    );
    assert!(reader("a.txt", "").is_err());
}

#[test]
fn detected_reader_loads_the_file() {
    let load = |files: &[&str]| {
        let inputs = Inputs {
            files: files.iter().map(Into::into).collect(),
            ..Inputs::default()
        };
        formats::load(&inputs, &READERS).unwrap_err().to_string()
    };
    assert!(load(&["/nowhere/x.yml"]).starts_with("/nowhere/x.yml: No such file"));
    assert_eq!(load(&[]), "no test file was named");
    let folder = crate::support::Folder::new("toys");
    let toy = folder.file("x.yml", "toy: 1");
    assert_eq!(load(&[&toy.to_string_lossy()]), "toys are not for tests");
}
