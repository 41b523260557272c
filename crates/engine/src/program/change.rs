//! Changes that a script makes to a request before it is built.

use plan::{
    Request,
    dialect::DeclaredError,
    scenario::{PairValues, RequestBody},
    template::Template,
};

/// The parts of a request that replace those of its step. Their templates are expanded afterwards.
#[derive(Debug, Clone, Default)]
pub struct RequestChange {
    /// Method in upper case.
    pub method: Option<String>,
    /// URL, as in [`Request::url`].
    pub url: Option<Template>,
    /// Query, as in [`Request::query`].
    pub query: Option<Option<Vec<(Template, Template)>>>,
    /// All headers of the request.
    pub headers: Option<Vec<(String, Template)>>,
    /// Body. The content type is part of the headers.
    pub body: Option<RequestBody>,
    /// Binary body, which replaces `body`.
    pub bytes: Option<Vec<u8>>,
    /// All cookies to add to the jar.
    pub cookies: Option<Vec<(String, Template)>>,
    /// User and password for Basic authentication. `Some(None)` removes them.
    pub basic_auth: Option<Option<(Template, Template)>>,
    /// Whether the client follows redirects.
    pub follow_redirects: Option<bool>,
    /// Error with which the changed request fails, as in [`Request::fails_with`].
    pub fails_with: Option<DeclaredError>,
}

/// The parts of a request after applying the change.
#[derive(Clone, Copy)]
pub(super) struct RequestParts<'a> {
    pub method: &'a str,
    pub url: &'a Template,
    pub query: Option<&'a [(Template, Template)]>,
    pub pair_values: PairValues,
    pub headers: &'a [(String, Template)],
    pub body: &'a RequestBody,
    pub bytes: Option<&'a [u8]>,
    pub basic_auth: Option<&'a (Template, Template)>,
    /// Whether the request opens a WebSocket connection.
    pub is_websocket: bool,
    /// Whether a script set the headers, which may then contradict the body.
    pub is_changed: bool,
}

impl<'a> RequestParts<'a> {
    pub fn new(spec: &'a Request, change: Option<&'a RequestChange>) -> RequestParts<'a> {
        let mut parts = RequestParts {
            method: &spec.method,
            url: &spec.url,
            query: spec.query.as_deref(),
            pair_values: spec.pair_values,
            headers: &spec.headers,
            body: &spec.body,
            bytes: None,
            basic_auth: spec.basic_auth.as_ref(),
            is_websocket: spec.websocket.is_some(),
            is_changed: change.is_some(),
        };
        let Some(change) = change else {
            return parts;
        };
        parts.method = change.method.as_deref().unwrap_or(parts.method);
        parts.url = change.url.as_ref().unwrap_or(parts.url);
        if let Some(query) = &change.query {
            parts.query = query.as_deref();
        }
        parts.headers = change.headers.as_deref().unwrap_or(parts.headers);
        parts.body = change.body.as_ref().unwrap_or(parts.body);
        parts.bytes = change.bytes.as_deref();
        if let Some(auth) = &change.basic_auth {
            parts.basic_auth = auth.as_ref();
        }
        parts
    }
}
