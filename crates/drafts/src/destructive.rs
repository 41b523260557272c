//! Comments out requests that change or delete data, because a plan runs them many times.

use plan::secret::parts;

use crate::draft::{DraftRequest, DraftStep, each_request};

const CHANGING: [&str; 3] = ["put", "patch", "delete"];
const WORDS: [&str; 6] = ["cancel", "remove", "revoke", "refund", "delete", "purge"];

/// Returns the word in a path or a name that stands for a destructive operation: `cancel` in
/// `/orders/7/cancel` and `cancelOrder`. Ignores the query of a path.
pub fn word_in(text: &str) -> Option<&'static str> {
    let path = text.split('?').next().unwrap_or_default();
    let mut parts = parts(path).map(str::to_lowercase);
    parts.find_map(|part| WORDS.into_iter().find(|word| part.starts_with(word)))
}

fn is_destructive(request: &DraftRequest) -> bool {
    let label = request.label.as_deref().unwrap_or_default();
    CHANGING.contains(&request.method.as_str())
        || word_in(&request.url).is_some()
        || word_in(label).is_some()
}

#[derive(Debug, Default)]
pub struct Disabling {
    pub off: usize,
    pub all: usize,
    /// Cookies of disabled requests. The next active request gets them.
    cookies: Vec<(String, String)>,
}

impl Disabling {
    fn visit(&mut self, request: &mut DraftRequest) {
        self.all += 1;
        if !is_destructive(request) {
            request.cookies.splice(0..0, self.cookies.drain(..));
        } else if request.captures.is_empty() {
            request.off = true;
            self.cookies.extend(request.cookies.iter().cloned());
            self.off += 1;
        } else {
            request.cookies.splice(0..0, self.cookies.drain(..));
            request
                .comments
                .push("It changes data, and a later step needs its response.".to_owned());
        }
    }

    pub fn remark(&self) -> Option<String> {
        let (off, all) = (self.off, self.all);
        let are = if off == 1 { "is" } else { "are" };
        (off > 0).then(|| {
            format!(
                "{off} of {all} requests {are} commented out. Requests that replace or delete data are sent only if you enable them. Remove the `# ` before each line of a step to send it."
            )
        })
    }
}

pub fn comment_out(steps: &mut [DraftStep]) -> Disabling {
    let mut disabling = Disabling::default();
    each_request(steps, &mut |request| disabling.visit(request));
    disabling
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(methods: &[&str]) -> Vec<DraftRequest> {
        let request = |method: &&str| DraftRequest {
            method: (*method).to_owned(),
            url: "/".to_owned(),
            ..DraftRequest::default()
        };
        methods.iter().map(request).collect()
    }

    fn visited(mut requests: Vec<DraftRequest>) -> (Vec<DraftRequest>, usize) {
        let mut disabling = Disabling::default();
        requests
            .iter_mut()
            .for_each(|request| disabling.visit(request));
        (requests, disabling.off)
    }

    #[test]
    fn words_of_paths_and_names_are_recognised() {
        for text in [
            "/orders/7/cancel",
            "cancelOrder",
            "Delete user",
            "/refunds",
            "purge_cache",
        ] {
            assert!(word_in(text).is_some(), "{text}");
        }
        for text in [
            "/orders?sort=removed",
            "/premium",
            "undeletable",
            "/scancel",
        ] {
            assert_eq!(word_in(text), None, "{text}");
        }
    }

    #[test]
    fn a_cookie_goes_with_the_first_request_that_is_sent() {
        let mut requests = steps(&["delete", "get", "get"]);
        requests[0].cookies = vec![("sid".to_owned(), "1".to_owned())];
        let (requests, off) = visited(requests);
        assert_eq!(off, 1);
        assert!(requests[0].off);
        assert_eq!(requests[1].cookies, requests[0].cookies);
        assert!(requests[2].cookies.is_empty());
    }

    #[test]
    fn what_a_later_step_needs_is_sent() {
        let mut requests = steps(&["put", "patch"]);
        requests[0].captures = vec![("id".to_owned(), serde_json::json!("$.id"))];
        let (requests, off) = visited(requests);
        assert_eq!(off, 1);
        assert_eq!(
            requests
                .iter()
                .map(|request| request.off)
                .collect::<Vec<_>>(),
            [false, true]
        );
    }
}
