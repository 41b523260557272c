//! Settings for trace contexts: which requests carry one, and the URL at which traces can be
//! viewed.

use serde::{Deserialize, Serialize};

use crate::units;

/// Rules for the header `traceparent` (W3C Trace Context).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceContext {
    /// Which requests carry the header.
    #[serde(default)]
    pub sampling: TraceSampling,
    /// Whether the header asks the service to record the request. Otherwise the service decides.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub asks_to_record: bool,
    /// First hexadecimal digits of every trace ID, at most 16.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id_prefix: String,
}

fn yes() -> bool {
    true
}

impl Default for TraceContext {
    fn default() -> TraceContext {
        TraceContext {
            sampling: TraceSampling::All,
            asks_to_record: true,
            id_prefix: String::new(),
        }
    }
}

/// Which requests carry a trace context. The choice never depends on the outcome of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceSampling {
    /// Every request.
    #[default]
    All,
    /// A random share of the requests, above 0 and at most 1.
    Share(f64),
    /// At most this number of requests per second, evenly spread over time.
    PerSecond(f64),
}

impl TraceSampling {
    /// Parses `all`, a share such as `1%`, or a rate such as `10/s`. On failure, returns a
    /// description of the problem.
    pub fn parse(text: &str) -> Result<TraceSampling, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "`{text}` does not say which requests carry a trace context: use all, a share such as \
                 1%, or a rate such as 10/s"
            )
        };
        if text == "all" {
            return Ok(TraceSampling::All);
        }
        if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.trim().parse::<f64>().map_err(|_| wrong())?;
            let is_possible = percent > 0.0 && percent <= 100.0;
            return is_possible
                .then_some(TraceSampling::Share(percent / 100.0))
                .ok_or_else(wrong);
        }
        match units::parse_rate(text) {
            Ok(rate) if !rate.is_zero() => Ok(TraceSampling::PerSecond(rate.as_f64())),
            _ => Err(wrong()),
        }
    }
}

impl TraceContext {
    /// Checks a URL template for traces. On failure, returns a description of the problem.
    pub fn check_url(url: &str) -> Result<(), String> {
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        if !is_web || !url.contains("{trace_id}") {
            return Err(format!(
                "`{url}` is not an address of traces: write http:// or https:// and {{trace_id}} \
                 where the id belongs"
            ));
        }
        Ok(())
    }

    /// Returns the URL of a trace. `url` contains `{trace_id}` and optionally `{span_id}`.
    #[must_use]
    pub fn link(url: &str, trace_id: &str, span_id: &str) -> String {
        let url = url.replace("{trace_id}", trace_id);
        url.replace("{span_id}", span_id)
    }
}

impl std::fmt::Display for TraceSampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TraceSampling::All => f.write_str("all requests"),
            TraceSampling::Share(share) => write!(f, "{} % of the requests", share * 100.0),
            TraceSampling::PerSecond(rate) if *rate >= 1.0 => {
                write!(f, "at most {rate} requests per second")
            }
            TraceSampling::PerSecond(rate) => {
                write!(f, "at most one request per {} s", 1.0 / rate)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_is_all_or_a_share_or_a_rate() {
        for (text, expected) in [
            ("all", TraceSampling::All),
            ("1%", TraceSampling::Share(0.01)),
            ("100 %", TraceSampling::Share(1.0)),
            ("10/s", TraceSampling::PerSecond(10.0)),
            ("30/m", TraceSampling::PerSecond(0.5)),
        ] {
            assert_eq!(TraceSampling::parse(text), Ok(expected), "{text}");
        }
        for text in ["", "0%", "101%", "nan%", "0/s", "some", "-1/s"] {
            assert!(TraceSampling::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn address_names_the_trace() {
        let url = "https://tempo.example/t/{trace_id}?span={span_id}";
        let link = TraceContext::link(url, "ab", "c");
        assert_eq!(link, "https://tempo.example/t/ab?span=c");
        for bad in [
            "javascript:{trace_id}",
            "https://tempo.example/",
            "tempo/{trace_id}",
        ] {
            assert!(TraceContext::check_url(bad).is_err(), "{bad}");
        }
        assert_eq!(
            TraceContext::check_url("http://127.0.0.1/{trace_id}"),
            Ok(())
        );
    }
}
