//! `-H 'Name: value'` of `loadline run`: headers for every request of the test. A header that a step sets itself stays the step's.

use plan::{Plan, Request, Step, Template};

/// Reads one header.
///
/// # Errors
/// One line of what is wrong with it.
pub fn read(text: &str) -> Result<(String, String), String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let parts = text.split_once(':');
    let Some((name, value)) = parts.filter(|(name, _)| !name.is_empty() && name.chars().all(token))
    else {
        return Err(format!("-H `{text}` is no header: write 'Name: value'"));
    };
    if value.chars().any(char::is_control) {
        return Err(format!("-H `{name}`: its value holds a control character"));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Adds headers to every request that does not set them.
///
/// # Errors
/// One line of what is wrong with one of them.
pub fn add(plan: &mut Plan, texts: &[String]) -> Result<(), String> {
    let headers: Vec<(String, String)> = texts
        .iter()
        .map(|text| read(text))
        .collect::<Result<_, _>>()?;
    for (name, value) in &headers {
        if plan::is_secret_name(name) {
            plan.secrets.push(value.clone());
        }
    }
    let around = plan.before.iter_mut().chain(&mut plan.after);
    for scenario in plan.scenarios.iter_mut().chain(around) {
        steps(&mut scenario.steps, &headers);
    }
    Ok(())
}

fn steps(all: &mut [Step], headers: &[(String, String)]) {
    for step in all {
        match step {
            Step::Request(request) => set(request, headers),
            Step::Loop(inner) => steps(&mut inner.steps, headers),
            Step::Parallel(inner) => steps(&mut inner.steps, headers),
            Step::Think(_) | Step::Log(_) => {}
        }
    }
}

fn set(request: &mut Request, headers: &[(String, String)]) {
    for (name, value) in headers {
        let known = request.headers.iter();
        if !known
            .clone()
            .any(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            let value = Template::from(value.as_str());
            request.headers.push((name.clone(), value));
        }
    }
}
