use std::path::Path;

use formats::{TestFileReader, detect, native::Plans};
use frontend_artillery::ArtilleryScripts;

#[test]
fn scripts_are_told_from_plans() {
    let readers: [&dyn TestFileReader; 2] = [&Plans, &ArtilleryScripts];
    let is_script = |name: &str, text: &str| {
        let found = detect(Path::new(name), text, &readers);
        found.map(|reader| reader.reads() == ArtilleryScripts.reads())
    };
    assert_eq!(
        is_script("a.yml", "target: x\nloadline: 1\nconfig: {}"),
        Ok(true)
    );
    assert_eq!(is_script("a", "scenarios: []"), Ok(true));
    assert_eq!(is_script("a.yml", "config: ["), Ok(true));
    assert_eq!(is_script("a.yml", "loadline: ["), Ok(false));
    assert_eq!(is_script("a.yml", "loadline: 1\nconfig: {}"), Ok(false));
    assert!(is_script("a.yml", "steps: []").is_err());
    assert!(is_script("a", "config: [").is_err());
}
