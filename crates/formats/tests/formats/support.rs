use formats::{Inputs, LoadErrors};
use plan::{Load, Phase, Plan, Request, Step};

pub fn phases(plan: &Plan) -> &[Phase] {
    match &plan.load {
        Load::Open { phases, .. } => phases,
        other => panic!("{other:?}"),
    }
}

pub fn requests(plan: &Plan) -> Vec<&Request> {
    fn walk<'a>(steps: &'a [Step], requests: &mut Vec<&'a Request>) {
        for step in steps {
            match step {
                Step::Request(request) => requests.push(request),
                Step::Loop(inner) => walk(&inner.steps, requests),
                _ => {}
            }
        }
    }
    let mut requests = Vec::new();
    walk(&plan.scenarios()[0].steps, &mut requests);
    requests
}

pub fn header(request: &Request, name: &str) -> Option<String> {
    request
        .headers
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| render(value))
}

pub fn render(template: &plan::Template) -> String {
    use plan::{Template, template::Piece};
    match template {
        Template::Literal(value) => query::value::text(Some(value)),
        Template::Variable(path) => format!("{{{{{}}}}}", path.text()),
        Template::Text(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Variable(path) => format!("{{{{{}}}}}", path.text()),
                Piece::Call(call) => format!("{call:?}"),
            })
            .collect(),
        other => format!("{other:?}"),
    }
}

pub fn lines(errors: &LoadErrors) -> Vec<String> {
    errors.problems.iter().map(ToString::to_string).collect()
}

pub struct Folder(std::path::PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("loadline-formats-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{error}"));
        Folder(path)
    }

    pub fn file(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{error}"));
        path
    }

    pub fn inputs(&self, name: &str, text: &str) -> Inputs {
        Inputs {
            files: vec![self.file(name, text)],
            test_id: "t-id".into(),
            ..Inputs::default()
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
