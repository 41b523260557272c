use std::{path::Path, sync::OnceLock};

use formats::{Inputs, LoadErrors, native};
use init::Draft;
use plan::{Plan, Request, Step};
use query::value;

/// Files that the plans of several tests refer to.
static FILES: OnceLock<()> = OnceLock::new();

pub fn no_file(path: &Path) -> Result<Vec<u8>, String> {
    match path.to_str() {
        Some("body.json") => Ok(b"{\n  \"n\": 2\n}\n".to_vec()),
        _ => Err("no such file".to_owned()),
    }
}

pub fn text(draft: Draft) -> String {
    read(draft).0
}

pub fn read(draft: Draft) -> (String, Plan) {
    try_read(draft).unwrap_or_else(|reason| panic!("{}\n{}", reason.1, reason.0))
}

pub fn try_read(draft: Draft) -> Result<(String, Plan), Box<(String, LoadErrors)>> {
    let folder = std::env::temp_dir().join(format!("loadline-init-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let name = format!("{:?}.yml", std::thread::current().id());
    let exported = draft.unknowns().iter().map(|unknown| {
        let value = if unknown.variable.is_none() {
            "http://127.0.0.1:9"
        } else {
            "filled in"
        };
        (unknown.env.clone(), value.to_owned())
    });
    let process_env: Vec<_> = exported.collect();
    let text = draft.text("plan.yml");
    let path = folder.join(name);
    std::fs::write(&path, &text).unwrap();
    FILES.get_or_init(|| {
        std::fs::write(folder.join("users.csv"), "user,password\nada,s3cret\n").unwrap();
        std::fs::write(folder.join("scan.png"), "png").unwrap();
    });
    let inputs = Inputs {
        files: vec![path.clone()],
        process_env,
        ..Inputs::default()
    };
    let plan = native::load(&inputs);
    std::fs::remove_file(&path).unwrap();
    match plan {
        Ok(plan) => Ok((text, plan)),
        Err(errors) => Err(Box::new((text, errors))),
    }
}

pub fn requests(plan: &Plan) -> Vec<&Request> {
    let steps = plan.scenarios().iter().flat_map(|scenario| &scenario.steps);
    steps
        .filter_map(|step| match step {
            Step::Request(request) => Some(&**request),
            _ => None,
        })
        .collect()
}

pub fn evaluated(plan: &Plan, template: &plan::Template, more: &[(&str, &str)]) -> String {
    let mut scope = serde_json::Map::new();
    for (name, variable) in &plan.variables {
        if let plan::Variable::Constant(value) = variable {
            scope.insert(name.clone(), value.clone());
        }
    }
    scope.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into())),
    );
    let mut rng = plan::rng::Rng::keyed(0, plan::rng::Purpose::User, 0, 0);
    value::text(template.eval(&scope, &mut rng).as_ref())
}

pub fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/init/golden")
        .join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{name}");
}

pub fn refusal(draft: Result<Draft, LoadErrors>) -> String {
    let line = draft
        .map(|draft| draft.text("plan.yml"))
        .unwrap_err()
        .to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}
