//! The flag `-H 'Name: value'`, which sets a header for all requests that do not set it themselves.

use plan::{Plan, Request, Template};

const LENGTHS: [&str; 2] = ["content-length", "transfer-encoding"];
const ONCE: [&str; 5] = [
    "authorization",
    "content-type",
    "cookie",
    "host",
    "user-agent",
];

pub fn is_token(text: &str) -> bool {
    let is_of_it = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(is_of_it)
}

pub fn read(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once(':');
    let Some((name, value)) = parts.filter(|(name, _)| is_token(name)) else {
        return Err(format!("-H `{text}` is not a header: use 'Name: value'"));
    };
    if LENGTHS
        .iter()
        .any(|length| name.eq_ignore_ascii_case(length))
    {
        return Err(format!(
            "-H `{name}`: the length is set from the body: remove this header"
        ));
    }
    if value.chars().any(char::is_control) {
        return Err(format!(
            "-H `{name}`: the value contains a control character"
        ));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

pub fn add(plan: &mut Plan, texts: &[String]) -> Result<(), String> {
    let headers: Vec<(String, String)> = texts
        .iter()
        .map(|text| read(text))
        .collect::<Result<_, _>>()?;
    for (number, (name, value)) in headers.iter().enumerate() {
        let again = headers[..number]
            .iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(name));
        if again && ONCE.iter().any(|once| name.eq_ignore_ascii_case(once)) {
            return Err(format!("-H `{name}` is set twice: remove one of them"));
        }
        if plan::is_secret_name(name) {
            plan.secrets.push(value.clone());
        }
    }
    let around = plan.setup.iter_mut().chain(&mut plan.teardown);
    for scenario in plan.work.scenarios_mut().iter_mut().chain(around) {
        scenario.change_requests(|request| set(request, &headers));
    }
    Ok(())
}

fn set(request: &mut Request, headers: &[(String, String)]) {
    let given = |name: &str| {
        headers
            .iter()
            .any(|(given, _)| given.eq_ignore_ascii_case(name))
    };
    if given("user-agent") {
        request.headers.retain(|(name, value)| {
            !(name.eq_ignore_ascii_case("user-agent")
                && formats::is_usual_user_agent(value, &crate::front_ends::readers()))
        });
    }
    let own: Vec<String> = request
        .headers
        .iter()
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect();
    for (name, value) in headers {
        if !own.contains(&name.to_ascii_lowercase()) {
            let value = Template::from(value.as_str());
            request.headers.push((name.clone(), value));
        }
    }
}
