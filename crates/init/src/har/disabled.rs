//! Comments out requests that replace or delete data, because a plan runs them many times.

use crate::draft::DraftRequest;

const CHANGING: [&str; 3] = ["put", "patch", "delete"];

pub(super) fn comment_out(requests: &mut [DraftRequest]) -> usize {
    let mut count = 0;
    // A step in a comment sets no cookies.
    let mut cookies = Vec::new();
    for request in requests {
        let is_changing = CHANGING.contains(&request.method.as_str());
        if !is_changing {
            request.cookies.splice(0..0, cookies.drain(..));
        } else if request.captures.is_empty() {
            request.off = true;
            cookies.extend(request.cookies.iter().cloned());
            count += 1;
        } else {
            request.cookies.splice(0..0, cookies.drain(..));
            request
                .comments
                .push("It changes data, and a later step needs its response.".to_owned());
        }
    }
    count
}

pub(super) fn remark(off: usize, all: usize) -> Option<String> {
    let are = if off == 1 { "is" } else { "are" };
    (off > 0).then(|| {
        format!(
            "{off} of {all} requests {are} commented out. Requests that replace or delete data are sent only if you enable them. Remove the `# ` before each line of a step to send it."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str) -> DraftRequest {
        DraftRequest {
            method: method.to_owned(),
            ..DraftRequest::default()
        }
    }

    #[test]
    fn a_cookie_goes_with_the_first_request_that_is_sent() {
        let mut requests = ["delete", "get", "get"].map(request);
        requests[0].cookies = vec![("sid".to_owned(), "1".to_owned())];
        assert_eq!(comment_out(&mut requests), 1);
        assert!(requests[0].off);
        assert_eq!(requests[1].cookies, requests[0].cookies);
        assert!(requests[2].cookies.is_empty());
    }

    #[test]
    fn what_a_later_step_needs_is_sent() {
        let mut requests = ["put", "patch"].map(request);
        requests[0].captures = vec![("id".to_owned(), serde_json::json!("$.id"))];
        assert_eq!(comment_out(&mut requests), 1);
        assert_eq!(requests.map(|request| request.off), [false, true]);
    }
}
