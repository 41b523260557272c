//! Lines of the output `--out csv`.

use super::{TimeFormat, json::Sample};
use crate::{
    log::{TimeZone, rfc3339, rfc3339_nano},
    metric::Registry,
    options::value::SystemTags,
};

/// Formats samples as CSV lines.
#[derive(Debug, Clone)]
pub struct CsvLines {
    /// System tags that have a column, sorted.
    columns: Vec<&'static str>,
    time_format: TimeFormat,
    zone: TimeZone,
}

impl CsvLines {
    /// Creates a formatter with a column for each system tag that samples have.
    #[must_use]
    pub fn new(system_tags: &SystemTags, time_format: TimeFormat, zone: TimeZone) -> CsvLines {
        let names = system_tags.names().iter().copied();
        let mut columns: Vec<_> = names
            .filter(|name| !matches!(*name, "iter" | "vu"))
            .collect();
        columns.sort_unstable();
        CsvLines {
            columns,
            time_format,
            zone,
        }
    }

    /// Returns the header line.
    #[must_use]
    pub fn header(&self) -> String {
        let first = ["metric_name", "timestamp", "metric_value"];
        let last = ["extra_tags", "metadata"];
        let columns = first.iter().chain(&self.columns).chain(&last);
        let columns: Vec<&str> = columns.copied().collect();
        format!("{}\n", columns.join(","))
    }

    /// Appends the line of a sample.
    pub fn push(&self, lines: &mut String, sample: &Sample<'_>, registry: &Registry) {
        let Some(metric) = registry.all().get(sample.metric.0 as usize) else {
            return;
        };
        push_field(lines, &metric.name);
        lines.push(',');
        lines.push_str(&self.time(sample.wall_ns));
        lines.push(',');
        lines.push_str(&format!("{:.6}", sample.value));
        for column in &self.columns {
            lines.push(',');
            push_field(lines, sample.tags.get(column).unwrap_or_default());
        }
        let extra = sample.tags.iter();
        let extra = extra.filter(|(name, _)| !self.columns.contains(name));
        lines.push(',');
        push_field(lines, &joined(extra));
        lines.push(',');
        push_field(lines, &joined(sample.metadata.iter().copied()));
        lines.push('\n');
    }

    fn time(&self, wall_ns: i64) -> String {
        match self.time_format {
            TimeFormat::Unix => wall_ns.div_euclid(1_000_000_000).to_string(),
            TimeFormat::UnixMilli => wall_ns.div_euclid(1_000_000).to_string(),
            TimeFormat::UnixMicro => wall_ns.div_euclid(1_000).to_string(),
            TimeFormat::UnixNano => wall_ns.to_string(),
            TimeFormat::Rfc3339 => rfc3339(wall_ns, &self.zone),
            TimeFormat::Rfc3339Nano => rfc3339_nano(wall_ns, &self.zone),
        }
    }
}

fn joined<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

/// Appends a field, quoted by the rules of Go's CSV writer.
fn push_field(line: &mut String, text: &str) {
    let needs_quotes = text.contains([',', '"', '\r', '\n'])
        || text.starts_with(char::is_whitespace)
        || text == "\\.";
    if !needs_quotes {
        line.push_str(text);
        return;
    }
    line.push('"');
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metric::HTTP_REQ_DURATION, options::value::OptionValue, tags::Tags};

    #[test]
    fn system_tags_have_columns() {
        let system_tags = SystemTags::from_text("url,method,vu").unwrap();
        let csv = CsvLines::new(&system_tags, TimeFormat::Unix, TimeZone::UTC);
        assert_eq!(
            csv.header(),
            "metric_name,timestamp,metric_value,method,url,extra_tags,metadata\n"
        );
        let tags = Tags::default()
            .with("url", "http://x/?a,b")
            .with("mine", "1");
        let sample = Sample {
            wall_ns: 1_767_323_045_999_000_000,
            metric: HTTP_REQ_DURATION,
            value: 1.5,
            tags: &tags.with("other", "\"2\""),
            metadata: &[("vu", "1"), ("iter", "0")],
        };
        let mut line = String::new();
        csv.push(&mut line, &sample, &Registry::default());
        assert_eq!(
            line,
            "http_req_duration,1767323045,1.500000,,\"http://x/?a,b\",\"mine=1&other=\"\"2\"\"\",\
             vu=1&iter=0\n"
        );
    }

    #[test]
    fn default_columns_are_k6s() {
        let csv = CsvLines::new(&SystemTags::default(), TimeFormat::UnixMilli, TimeZone::UTC);
        assert_eq!(
            csv.header(),
            "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,\
             method,name,proto,scenario,service,status,subproto,tls_version,url,extra_tags,\
             metadata\n"
        );
        assert_eq!(csv.time(1_500_000), "1");
        assert_eq!(csv.time(-1), "-1");
    }
}
