//! Settings of the OTLP export, from the flag and the standard `OTEL_` variables.

const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
const DEFAULT_TIMEOUT_MS: u64 = 10_000;
const DEFAULT_INTERVAL_MS: u64 = 10_000;
const CONTENT_TYPE: &str = "content-type";

/// The kind of data to send to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Metrics,
    Traces,
}

impl Signal {
    /// Returns the part of a variable's name that stands for this signal.
    fn variable(self) -> &'static str {
        match self {
            Signal::Metrics => "METRICS",
            Signal::Traces => "TRACES",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Signal::Metrics => "/v1/metrics",
            Signal::Traces => "/v1/traces",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtlpSettings {
    /// URL that the signal is sent to.
    pub url: String,
    /// Additional headers. Their values may be secret.
    pub headers: Vec<(String, String)>,
    pub has_gzip: bool,
    pub timeout_ms: u64,
    pub interval_ms: u64,
    /// Whether points contain differences instead of totals.
    pub is_delta: bool,
    /// Attributes of the resource, such as `service.name`.
    pub resource: Vec<(String, String)>,
}

impl OtlpSettings {
    /// Reads the settings. `url` is the value of the flag, and `env` returns a variable that is set
    /// and not empty.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error that names the variable whose value is not supported.
    pub fn read(
        signal: Signal,
        url: Option<&str>,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<OtlpSettings, String> {
        let variables = Variables { env, signal };
        variables.refuse_unsupported()?;
        Ok(OtlpSettings {
            url: variables.url(url)?,
            headers: variables.headers()?,
            has_gzip: variables.has_gzip()?,
            timeout_ms: variables
                .milliseconds(&format!("OTEL_EXPORTER_OTLP_{}_TIMEOUT", signal.variable()))?
                .or(variables.milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT")?)
                .unwrap_or(DEFAULT_TIMEOUT_MS),
            interval_ms: variables
                .milliseconds("OTEL_METRIC_EXPORT_INTERVAL")?
                .unwrap_or(DEFAULT_INTERVAL_MS),
            is_delta: variables.is_delta()?,
            resource: variables.resource()?,
        })
    }
}

struct Variables<E> {
    env: E,
    signal: Signal,
}

/// An environment variable with its value.
struct Variable {
    name: String,
    value: String,
}

impl<E: Fn(&str) -> Option<String>> Variables<E> {
    fn get(&self, name: &str) -> Option<Variable> {
        let value = (self.env)(name).filter(|value| !value.is_empty())?;
        let name = name.to_owned();
        Some(Variable { name, value })
    }

    /// Returns the variable for this signal, or otherwise the variable for all signals.
    fn of_signal(&self, rest: &str) -> Option<Variable> {
        let signal = self.signal.variable();
        self.get(&format!("OTEL_EXPORTER_OTLP_{signal}_{rest}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{rest}")))
    }

    fn refuse_unsupported(&self) -> Result<(), String> {
        if let Some(Variable { name, value }) = self.of_signal("PROTOCOL")
            && value != "http/protobuf"
        {
            return Err(format!(
                "{name}={value} is not supported: use http/protobuf, usually on port 4318"
            ));
        }
        let of_client = "client certificates are not supported: send to a local collector";
        for (rest, help) in [
            ("CERTIFICATE", "name trusted certificates in SSL_CERT_FILE"),
            ("CLIENT_CERTIFICATE", of_client),
            ("CLIENT_KEY", of_client),
        ] {
            if let Some(Variable { name, .. }) = self.of_signal(rest) {
                return Err(format!("{name} is not supported: {help}"));
            }
        }
        Ok(())
    }

    /// Returns the URL of the receiver. The flag and `OTEL_EXPORTER_OTLP_ENDPOINT` contain a base
    /// URL. The variable of the signal contains the complete URL.
    fn url(&self, flag: Option<&str>) -> Result<String, String> {
        let signal = self.signal.variable();
        let complete = self.get(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"));
        if let (None, Some(Variable { value, .. })) = (flag, complete) {
            return checked(value);
        }
        let base = self.get("OTEL_EXPORTER_OTLP_ENDPOINT");
        let base = base.map_or_else(|| DEFAULT_ENDPOINT.to_owned(), |base| base.value);
        let base = flag.map_or(base, str::to_owned);
        let base = base.trim_end_matches('/');
        let path = self.signal.path();
        if base.ends_with(path) {
            return checked(base.to_owned());
        }
        checked(format!("{base}{path}"))
    }

    fn headers(&self) -> Result<Vec<(String, String)>, String> {
        let Some(variable) = self.of_signal("HEADERS") else {
            return Ok(Vec::new());
        };
        let headers = pairs(&variable)?;
        // The value may be secret, so the message names only the header.
        let is_invalid = |(name, value): &&(String, String)| {
            let is_token = |c: char| c.is_ascii_graphic() && c != ':';
            let is_ours = name.eq_ignore_ascii_case(CONTENT_TYPE);
            !name.chars().all(is_token) || is_ours || value.chars().any(char::is_control)
        };
        match headers.iter().find(is_invalid) {
            None => Ok(headers),
            Some((name, _)) => Err(format!(
                "{}: the header {name:?} is not valid",
                variable.name
            )),
        }
    }

    fn has_gzip(&self) -> Result<bool, String> {
        match self.of_signal("COMPRESSION") {
            None => Ok(false),
            Some(Variable { value, .. }) if value == "none" => Ok(false),
            Some(Variable { value, .. }) if value == "gzip" => Ok(true),
            Some(Variable { name, value }) => {
                Err(format!("{name}={value} is not supported: use gzip or none"))
            }
        }
    }

    fn milliseconds(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(Variable { value, .. }) = self.get(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(ms) if ms > 0 => Ok(Some(ms)),
            _ => Err(format!(
                "{name}={value} is not a valid number of milliseconds"
            )),
        }
    }

    fn is_delta(&self) -> Result<bool, String> {
        let name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
        let preference = self.get(name).map(|variable| variable.value.to_lowercase());
        match preference.as_deref() {
            None | Some("cumulative") => Ok(false),
            Some("delta") => Ok(true),
            Some(other) => Err(format!(
                "{name}={other} is not supported: use cumulative or delta"
            )),
        }
    }

    fn resource(&self) -> Result<Vec<(String, String)>, String> {
        let mut resource = match self.get("OTEL_RESOURCE_ATTRIBUTES") {
            None => Vec::new(),
            Some(variable) => pairs(&variable)?,
        };
        let service = self.get("OTEL_SERVICE_NAME").map(|variable| variable.value);
        if service.is_some() {
            resource.retain(|(name, _)| name != "service.name");
        }
        let has_service = resource.iter().any(|(name, _)| name == "service.name");
        if !has_service {
            let service = service.unwrap_or_else(|| "loadline".to_owned());
            resource.insert(0, ("service.name".to_owned(), service));
        }
        Ok(resource)
    }
}

fn checked(url: String) -> Result<String, String> {
    let has_scheme = url.starts_with("http://") || url.starts_with("https://");
    if has_scheme && !url.contains(char::is_whitespace) {
        return Ok(url);
    }
    Err("the receiver's address is not an http:// or https:// URL, for example otlp=http://127.0.0.1:4318".to_owned())
}

/// Parses `name=value,name=value` with percent-encoded values, as in W3C Baggage.
fn pairs(variable: &Variable) -> Result<Vec<(String, String)>, String> {
    let items = variable.value.split(',').map(str::trim);
    let pairs = items.filter(|item| !item.is_empty()).map(|item| {
        let (name, value) = item.split_once('=')?;
        let (name, value) = (name.trim(), percent_decoded(value.trim())?);
        (!name.is_empty()).then(|| (name.to_owned(), value))
    });
    let pairs: Option<Vec<_>> = pairs.collect();
    pairs.ok_or_else(|| {
        format!(
            "{} is not valid: use NAME=VALUE, separated by commas, with percent-encoded values",
            variable.name
        )
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, left)) = rest.split_first() {
        rest = left;
        if *byte != b'%' {
            decoded.push(*byte);
            continue;
        }
        let (digits, left) = rest.split_at_checked(2)?;
        rest = left;
        let digits = std::str::from_utf8(digits).ok()?;
        decoded.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flag: Option<&str>, env: &[(&str, &str)]) -> Result<OtlpSettings, String> {
        read_of(Signal::Metrics, flag, env)
    }

    fn read_of(
        signal: Signal,
        flag: Option<&str>,
        env: &[(&str, &str)],
    ) -> Result<OtlpSettings, String> {
        OtlpSettings::read(signal, flag, |name| {
            let variable = env.iter().find(|(known, _)| *known == name);
            variable.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn endpoints_are_those_of_the_specification() {
        let url = |flag, env: &[_]| read(flag, env).unwrap().url;
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://otel.test/otlp/");
        let of_metrics = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m.test/x");
        assert_eq!(url(None, &[]), "http://localhost:4318/v1/metrics");
        assert_eq!(url(None, &[base]), "https://otel.test/otlp/v1/metrics");
        assert_eq!(url(None, &[base, of_metrics]), "http://m.test/x");
        let flag = Some("http://h:4318");
        assert_eq!(url(flag, &[of_metrics]), "http://h:4318/v1/metrics");
        let flag = Some("http://h/v1/metrics");
        assert_eq!(url(flag, &[]), "http://h/v1/metrics");
        assert!(read(Some("h:4318"), &[]).is_err());
        let of_traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t.test/x");
        let url = |env: &[_]| read_of(Signal::Traces, None, env).unwrap().url;
        assert_eq!(url(&[base, of_metrics]), "https://otel.test/otlp/v1/traces");
        assert_eq!(url(&[base, of_traces]), "http://t.test/x");
    }

    #[test]
    fn variables_of_metrics_win_over_those_of_all_signals() {
        let settings = read(
            None,
            &[
                ("OTEL_EXPORTER_OTLP_HEADERS", "a=1"),
                (
                    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
                    "api-key=s%20e%2Cc, b=2",
                ),
                ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
                ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "Delta"),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x,env=a%3Db"),
                ("OTEL_SERVICE_NAME", "shop"),
            ],
        );
        let settings = settings.unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(settings.headers, [pair("api-key", "s e,c"), pair("b", "2")]);
        assert!(settings.has_gzip && settings.is_delta);
        assert_eq!((settings.timeout_ms, settings.interval_ms), (1500, 10_000));
        let resource = [pair("service.name", "shop"), pair("env", "a=b")];
        assert_eq!(settings.resource, resource);
    }

    #[test]
    fn values_without_support_are_refused_by_name() {
        for (name, value, part) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "use http/protobuf"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "use gzip or none"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "milliseconds"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "key", "use NAME=VALUE"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "a=%0d%0a",
                "\"a\" is not valid",
            ),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem", "SSL_CERT_FILE"),
            (
                "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
                "lowmemory",
                "use cumulative or delta",
            ),
        ] {
            let reason = read(None, &[(name, value)]).unwrap_err();
            assert!(reason.contains(name) && reason.contains(part), "{reason}");
        }
    }
}
