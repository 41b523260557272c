//! `intervals.hlog`: HdrHistogram's interval log (encoding version 2). `#end N` marks interval N as
//! complete. The counters contain the exact sums.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use hdrhistogram::serialization::{Serializer, V2Serializer};
use measure::{
    Histogram, LabelId, OutcomeClass, TimeKind, TimeSpan,
    histogram::{HistogramCell, MAX_VALUE},
};

use super::{counters, interval::IntervalRecord};

const DIGITS: u8 = 3;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const PLAIN_COOKIE: u32 = 0x1c84_9313;
const HEAD: usize = 40;

/// Maximum length of an uncompressed histogram. Each bucket takes at most 9 bytes.
const LONGEST_PLAIN: usize = HEAD + 9 * (1 << 16);

pub(super) fn header(wall_start_ns: u64) -> String {
    let seconds = wall_start_ns as f64 / 1e9;
    format!(
        "#[Histogram log format version 1.3]\n#[Loadline run record: values in nanoseconds; Tag=LABEL.KIND.OUTCOME[.PHASE]]\n\
         #[BaseTime: {seconds:.3} (seconds since epoch)]\n#[StartTime: {seconds:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
}

pub(super) struct Encoder {
    serializer: V2Serializer,
    compress: Compress,
    /// A reusable histogram, because histograms are large.
    scratch: hdrhistogram::Histogram<u64>,
    plain: Vec<u8>,
    compressed: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Option<Encoder> {
        let scratch = hdrhistogram::Histogram::new_with_bounds(1, MAX_VALUE, DIGITS).ok()?;
        Some(Encoder {
            serializer: V2Serializer::new(),
            compress: Compress::new(Compression::fast(), true),
            scratch,
            plain: Vec::new(),
            compressed: Vec::new(),
        })
    }

    pub(super) fn write(&mut self, frame: &IntervalRecord, out: &mut String) {
        let TimeSpan {
            from_ns: start,
            to_ns: end,
        } = frame.span;
        for ((label, phase), part) in &frame.parts {
            for (kind, outcome, histogram) in part.slot.histograms() {
                let tag = counters::tag(kind, outcome);
                let stray = if *phase == frame.phase {
                    String::new()
                } else {
                    format!(".{phase}")
                };
                let encoded = self.encode(histogram);
                let max = histogram.max().unwrap_or(0);
                out.push_str(&format!(
                    "Tag={label}.{tag}{stray},{},{},{max}.0,{encoded}\n",
                    seconds(start),
                    seconds(end - start)
                ));
            }
        }
        out.push_str(&format!("#end {}\n", frame.index));
    }

    fn encode(&mut self, histogram: &Histogram) -> String {
        self.scratch.reset();
        for HistogramCell { low, count: n, .. } in histogram.cells() {
            self.scratch.saturating_record_n(low, n);
        }
        self.plain.clear();
        let _ = self.serializer.serialize(&self.scratch, &mut self.plain);
        // Reuse one compressor. The library's serializer would spend most of its time on creating
        // compressors.
        self.compress.reset();
        self.compressed.clear();
        self.compressed.extend(COMPRESSED_COOKIE.to_be_bytes());
        self.compressed.extend([0; 4]);
        self.compressed
            .reserve(self.plain.len() + self.plain.len() / 8 + 128);
        let _ =
            self.compress
                .compress_vec(&self.plain, &mut self.compressed, FlushCompress::Finish);
        let length = (self.compressed.len() - 8) as u32;
        self.compressed[4..8].copy_from_slice(&length.to_be_bytes());
        STANDARD.encode(&self.compressed)
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogLine<'a> {
    End(u64),
    Histogram {
        label: LabelId,
        kind: TimeKind,
        outcome: OutcomeClass,
        phase: Option<u32>,
        encoded: &'a str,
    },
    Other,
}

pub(super) fn parse(line: &str) -> Option<LogLine<'_>> {
    if let Some(index) = line.strip_prefix("#end ") {
        return Some(LogLine::End(index.parse().ok()?));
    }
    let Some(rest) = line.strip_prefix("Tag=") else {
        return (line.starts_with('#') || line.starts_with('"')).then_some(LogLine::Other);
    };
    let mut fields = rest.split(',');
    let mut tag = fields.next()?.splitn(4, '.');
    let label = tag.next()?.parse().ok()?;
    let kind = TimeKind::named(tag.next()?)?;
    let outcome = OutcomeClass::named(tag.next()?)?;
    let phase = tag.next().map(str::parse).transpose().ok()?;
    let encoded = fields.nth(3)?;
    Some(LogLine::Histogram {
        label,
        kind,
        outcome,
        phase,
        encoded,
    })
}

/// Decodes histograms in the layout that the encoder writes. Reuses its buffers.
pub(super) struct Decoder {
    inflate: Decompress,
    compressed: Vec<u8>,
    /// Buffer for the longest histogram, filled up to `plain_length`.
    plain: Box<[u8]>,
    plain_length: usize,
    buckets: Vec<(u16, u64)>,
}

impl Decoder {
    pub(super) fn new() -> Decoder {
        Decoder {
            inflate: Decompress::new(true),
            compressed: Vec::new(),
            plain: vec![0; LONGEST_PLAIN].into(),
            plain_length: 0,
            buckets: Vec::new(),
        }
    }

    pub(super) fn decode(&mut self, encoded: &str, exact: counters::Exact) -> Option<Histogram> {
        self.compressed.clear();
        STANDARD
            .decode_vec(encoded.trim_end(), &mut self.compressed)
            .ok()?;
        self.inflate()?;
        self.read_buckets()?;
        let mut histogram = Histogram::from_buckets(&self.buckets)?;
        let (count, sum, min, max) = exact;
        if histogram.count() != count || min > max {
            return None;
        }
        histogram.set_exact(sum, min, max);
        Some(histogram)
    }

    fn inflate(&mut self) -> Option<()> {
        let (head, payload) = self.compressed.split_first_chunk::<8>()?;
        let [cookie, length] = [&head[..4], &head[4..]].map(big_endian);
        let is_expected = cookie == u64::from(COMPRESSED_COOKIE) && length == payload.len() as u64;
        is_expected.then_some(())?;
        self.inflate.reset(true);
        let finish = FlushDecompress::Finish;
        let inflated = self.inflate.decompress(payload, &mut self.plain, finish);
        let ended = inflated.ok()?;
        self.plain_length = self.inflate.total_out() as usize;
        (ended == Status::StreamEnd).then_some(())
    }

    /// Reads HdrHistogram's V2 payload: counts as ZigZag LEB128 numbers. A negative number is a
    /// number of empty buckets.
    fn read_buckets(&mut self) -> Option<()> {
        let (head, mut rest) = self.plain[..self.plain_length].split_first_chunk::<HEAD>()?;
        // Fields of the header: cookie and length; offset 0 and digits; lowest value; highest
        // value; ratio.
        let expected = [
            u64::from(PLAIN_COOKIE) << 32 | rest.len() as u64,
            u64::from(DIGITS),
            1,
            MAX_VALUE,
            1.0f64.to_bits(),
        ];
        head.chunks(8).map(big_endian).eq(expected).then_some(())?;
        self.buckets.clear();
        let mut index = 0u64;
        while !rest.is_empty() {
            let number = zig_zag(&mut rest)?;
            if let Ok(count @ 1..) = u64::try_from(number) {
                self.buckets.push((u16::try_from(index).ok()?, count));
                index += 1;
            } else {
                index = index.checked_add(number.unsigned_abs().max(1))?;
            }
        }
        Some(())
    }
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// Reads a number of up to 64 bits. The ninth byte has 8 bits and no continuation flag.
fn zig_zag(rest: &mut &[u8]) -> Option<i64> {
    let mut bits = 0u64;
    for shift in 0..9u32 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        let is_last = shift == 8;
        let seven = if is_last { *byte } else { byte & 0x7f };
        bits |= u64::from(seven) << (7 * shift);
        if is_last || byte & 0x80 == 0 {
            break;
        }
    }
    Some((bits >> 1) as i64 ^ -((bits & 1) as i64))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{
        Deserializer,
        interval_log::{IntervalLogIterator, LogEntry},
    };
    use measure::label;
    use proptest::prelude::*;

    use super::*;

    fn frame(values: &[u64]) -> IntervalRecord {
        let mut frame = IntervalRecord {
            index: 7,
            span: TimeSpan::new(500_000_000, 1_500_000_000),
            phase: 1,
            ..IntervalRecord::default()
        };
        for phase in [0, 1] {
            let part = frame.parts.entry((label::ALL, phase)).or_default();
            values.iter().for_each(|value| {
                part.slot
                    .record(TimeKind::Service, OutcomeClass::Ok, *value)
            });
        }
        frame
    }

    fn log_of(frame: &IntervalRecord) -> String {
        let mut log = header(1_795_180_500_300_000_000);
        Encoder::new().unwrap().write(frame, &mut log);
        log
    }

    #[test]
    fn no_flipped_byte_is_taken_for_a_figure() {
        let log = log_of(&frame(&[1_000, 2_000, 2_000, 5_500_000, 3_600_000_000_000]));
        let line = log.lines().find(|line| line.starts_with("Tag=")).unwrap();
        let encoded = line.rsplit(',').next().unwrap();
        let exact = (5, 3_600_005_505_000, 1_000, 3_600_000_000_000);
        let cells = |encoded: &str| {
            let histogram = Decoder::new().decode(encoded, exact)?;
            Some(histogram.cells().collect::<Vec<_>>())
        };
        let whole = cells(encoded).unwrap();
        for at in 0..encoded.len() {
            for bit in [1, 2, 4, 0x20] {
                let mut flipped = encoded.as_bytes().to_vec();
                flipped[at] ^= bit;
                let found = String::from_utf8(flipped)
                    .ok()
                    .and_then(|text| cells(&text));
                assert!(
                    found.is_none() || found.as_ref() == Some(&whole),
                    "byte {at}, bit {bit}"
                );
            }
        }
    }

    #[test]
    fn other_tools_can_read_it() {
        let log = log_of(&frame(&[1_000, 2_000, 2_000, 3_600_000_000_000]));
        let entries: Vec<LogEntry> = IntervalLogIterator::new(log.as_bytes())
            .map(Result::unwrap)
            .collect();
        let histograms: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                LogEntry::Interval(histogram) => Some(histogram),
                _ => None,
            })
            .collect();
        let tags: Vec<_> = histograms
            .iter()
            .filter_map(|h| h.tag())
            .map(|tag| tag.as_str().to_owned())
            .collect();
        assert_eq!(tags, ["0.service.ok.0", "0.service.ok"]);
        assert_eq!(histograms[0].start_timestamp().as_millis(), 500);
        assert_eq!(histograms[0].duration().as_secs(), 1);
        let bytes = STANDARD.decode(histograms[0].encoded_histogram()).unwrap();
        let decoded: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .unwrap();
        assert_eq!((decoded.len(), decoded.value_at_quantile(0.5)), (4, 2_000));
        assert!(log.ends_with("#end 7\n"));
    }

    #[test]
    fn damaged_lines_are_none() {
        assert_eq!(parse("#end 12"), Some(LogLine::End(12)));
        assert_eq!(
            parse("#[BaseTime: 1.000 (seconds since epoch)]"),
            Some(LogLine::Other)
        );
        for line in [
            "",
            "#end x",
            "Tag=0.service.ok",
            "Tag=0.service.ok,1.0,1.0,5.0",
            "Tag=0.nap.ok,1.0,1.0,5.0,AA",
            "HISTFAAA",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
        assert!(Decoder::new().decode("AAAA", (1, 1, 1, 1)).is_none());
    }

    #[test]
    fn figures_that_no_values_can_have_are_none() {
        let log = log_of(&frame(&[1_000, 2_000]));
        let line = log.lines().find(|line| line.starts_with("Tag=")).unwrap();
        let encoded = line.rsplit(',').next().unwrap();
        let mut decoder = Decoder::new();
        assert!(decoder.decode(encoded, (2, 3_000, 1_000, 2_000)).is_some());
        assert!(decoder.decode(encoded, (3, 3_000, 1_000, 2_000)).is_none());
        assert!(decoder.decode(encoded, (2, 3_000, 2_000, 1_000)).is_none());
    }

    proptest! {
        #[test]
        fn nothing_is_lost(values in prop::collection::vec(0..2 * MAX_VALUE, 1..400)) {
            let frame = frame(&values);
            let log = log_of(&frame);
            let written = frame.parts[&(label::ALL, 0)].slot.histogram(TimeKind::Service, OutcomeClass::Ok).unwrap();
            let exact = (written.count(), written.sum(), written.min().unwrap(), written.max().unwrap());
            let Some(LogLine::Histogram { phase, encoded, .. }) = log.lines().filter(|l| l.starts_with("Tag")).find_map(parse) else { panic!() };
            let read = Decoder::new().decode(encoded, exact).unwrap();
            prop_assert_eq!(phase, Some(0));
            prop_assert_eq!(read.cells().collect::<Vec<_>>(), written.cells().collect::<Vec<_>>());
            prop_assert_eq!((read.sum(), read.min(), read.max()), (written.sum(), written.min(), written.max()));
        }
    }
}
