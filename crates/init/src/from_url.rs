use formats::LoadErrors;

use crate::{
    address, body,
    draft::{self, Draft, DraftRequest, DraftStep},
    placeholders,
    unknowns::Unknowns,
};

pub fn from_url(text: &str) -> Result<Draft, LoadErrors> {
    if placeholders::is_foreign(text) {
        return Err(LoadErrors::refused(
            "this URL contains U+FDD0 or U+FDD1, which are not allowed: remove them",
        ));
    }
    let address = address::read(text).map_err(LoadErrors::refused)?;
    let mut unknowns = Unknowns::default();
    let mut request = DraftRequest {
        method: "get".to_owned(),
        url: body::path(&address.path, &mut unknowns),
        ..DraftRequest::default()
    };
    if let Some((name, password)) = &address.user {
        request.auth = Some(body::user(name, password.as_deref(), &mut unknowns));
    }
    let mut draft = Draft {
        from: "a URL".to_owned(),
        name: address.host.clone(),
        stem: draft::stem_of_host(&address.host),
        target: address.origin,
        unknowns,
        ..Draft::default()
    };
    draft.set_steps(vec![DraftStep::Request(Box::new(request))]);
    Ok(draft)
}
