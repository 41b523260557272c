//! Reads entries of a HAR file.

use std::str::FromStr;

use base64::{Engine, engine::general_purpose::STANDARD};
use formats::document::{Mark, Node};
use jiff::Timestamp;
use url::form_urlencoded;

use crate::address::{self, Address};

#[derive(Debug)]
pub struct HarEntry {
    pub method: String,
    pub url: String,
    pub address: Address,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    pub body_is_missing: bool,
    pub status: u16,
    pub has_response: bool,
    pub mime: String,
    pub body_kind: Option<String>,
    pub answer: Option<String>,
    pub redirect: Option<String>,
    pub cookies: Vec<String>,
    pub sets: Vec<String>,
    pub time: Option<(f64, f64)>,
    pub page: Option<String>,
    pub kind: String,
}

pub type BrokenEntry = (Mark, String);

pub fn is_incomplete(node: &Node) -> bool {
    if node.is_null() {
        return true;
    }
    let request = node.get("request");
    let is_null = |key: &str| {
        let field = request.and_then(|request| request.get(key));
        field.is_some_and(Node::is_null)
    };
    request.is_some_and(Node::is_null) || is_null("method") || is_null("url")
}

pub fn read(node: &Node) -> Result<Option<HarEntry>, BrokenEntry> {
    let request = child(node, "request", "this entry")?;
    let method = text(child(request, "method", "this request")?)?;
    let url_node = child(request, "url", "this request")?;
    let url = text(url_node)?;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Ok(None);
    }
    let address = address::read(&url).map_err(|reason| (url_node.mark, reason))?;
    let empty = Node::scalar(node.mark, serde_json::Value::Null);
    let response = node.get("response").filter(|response| response.is_map());
    let answer = response.unwrap_or(&empty);
    let content = answer.get("content").unwrap_or(&empty);
    let headers = pairs(request.get("headers"));
    let answered = pairs(answer.get("headers"));
    let (body, body_is_missing) = body(request.get("postData"));
    let cookies = sent_cookies(request, &headers);
    let of_header = |headers: &[(String, String)], wanted: &str| {
        let mut found = headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.next().map(|(_, value)| value.clone())
    };
    let status = answer
        .get("status")
        .and_then(|status| status.as_scalar()?.as_u64());
    let redirect = answer
        .get("redirectURL")
        .and_then(Node::as_str)
        .filter(|url| !url.is_empty());
    let redirect = redirect
        .map(ToOwned::to_owned)
        .or_else(|| of_header(&answered, "location"));
    let mime = content.get("mimeType").and_then(Node::as_str);
    let kind = node.get("_resourceType").and_then(Node::as_str);
    Ok(Some(HarEntry {
        method: method.to_ascii_lowercase(),
        url,
        address,
        body,
        body_is_missing,
        body_kind: request
            .get("postData")
            .and_then(|data| data.get("mimeType"))
            .and_then(Node::as_str)
            .filter(|kind| !kind.trim().is_empty())
            .map(ToOwned::to_owned),
        status: status
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(0),
        has_response: response.is_some(),
        mime: mime.unwrap_or_default().to_ascii_lowercase(),
        answer: answer_text(content),
        redirect,
        cookies,
        sets: set_cookies(answer, &answered),
        headers,
        time: time(node),
        page: node
            .get("pageref")
            .and_then(Node::as_str)
            .map(ToOwned::to_owned),
        kind: kind.unwrap_or_default().to_ascii_lowercase(),
    }))
}

fn child<'n>(node: &'n Node, key: &str, what: &str) -> Result<&'n Node, BrokenEntry> {
    node.get(key).ok_or_else(|| {
        (
            node.mark,
            format!("{what} has no `{key}`: record it again, or remove the entry"),
        )
    })
}

fn text(node: &Node) -> Result<String, BrokenEntry> {
    let text = node.as_str().map(ToOwned::to_owned);
    text.ok_or_else(|| (node.mark, format!("this must be text, not {}", node.kind())))
}

fn pairs(node: Option<&Node>) -> Vec<(String, String)> {
    let items = node.and_then(Node::as_list).unwrap_or_default();
    let pair = |item: &Node| Some((item.get("name")?.text(), item.get("value")?.text()));
    items.iter().filter_map(pair).collect()
}

fn body(data: Option<&Node>) -> (Option<String>, bool) {
    let Some(data) = data.filter(|data| data.is_map()) else {
        return (None, false);
    };
    if let Some(text) = data
        .get("text")
        .and_then(Node::as_str)
        .filter(|text| !text.is_empty())
    {
        return (Some(text.to_owned()), false);
    }
    let mime = data
        .get("mimeType")
        .and_then(Node::as_str)
        .unwrap_or_default();
    let params = pairs(data.get("params"));
    if params.is_empty() {
        return (None, !mime.is_empty());
    }
    if !mime.starts_with("application/x-www-form-urlencoded") {
        return (None, true);
    }
    let mut form = form_urlencoded::Serializer::new(String::new());
    (Some(form.extend_pairs(params).finish()), false)
}

fn sent_cookies(request: &Node, headers: &[(String, String)]) -> Vec<String> {
    let header = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    let of_header = header
        .flat_map(|(_, value)| value.split(';'))
        .map(|pair| pair.split('=').next().unwrap_or_default());
    let mut names: Vec<String> = of_header.map(|name| name.trim().to_owned()).collect();
    names.extend(
        pairs(request.get("cookies"))
            .into_iter()
            .map(|(name, _)| name),
    );
    names.retain(|name| !name.is_empty());
    names
}

fn set_cookies(answer: &Node, headers: &[(String, String)]) -> Vec<String> {
    let header = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let lines = header.flat_map(|(_, value)| value.lines());
    let names = lines.map(|line| line.split('=').next().unwrap_or_default().trim().to_owned());
    names
        .chain(
            pairs(answer.get("cookies"))
                .into_iter()
                .map(|(name, _)| name),
        )
        .collect()
}

fn answer_text(content: &Node) -> Option<String> {
    let text = content.get("text").and_then(Node::as_str)?;
    if content.get("encoding").and_then(Node::as_str) != Some("base64") {
        return Some(text.to_owned());
    }
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

fn time(node: &Node) -> Option<(f64, f64)> {
    let started = node.get("startedDateTime").and_then(Node::as_str)?;
    let began = Timestamp::from_str(started).ok()?.as_millisecond() as f64;
    let took = node
        .get("time")
        .and_then(|time| time.as_scalar()?.as_f64())
        .unwrap_or(0.0);
    Some((began, began + took.max(0.0)))
}
