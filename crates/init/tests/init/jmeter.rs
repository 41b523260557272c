use formats::LoadErrors;
use init::Draft;

use crate::support::{golden, read};

const PLAN: &str = include_str!("sources/shop.jmx");

fn file(path: &std::path::Path) -> Result<Vec<u8>, String> {
    match path.to_str() {
        Some("users.csv") => Ok(b"user,password\nada,s3cret\n".to_vec()),
        _ => Err("no such file".to_owned()),
    }
}

fn drafted(text: &str) -> Result<Draft, LoadErrors> {
    init::from_text("shop.jmx", text, &file)
}

#[test]
fn plan_with_login_and_think_time_becomes_a_plan() {
    let (text, _) = read(drafted(PLAN).unwrap());
    golden("jmeter.yml", &text);
}
