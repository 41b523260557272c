//! CSV tables, with the type conversion of csv-parse and JavaScript's rules for numbers.

use query::value;
use serde_json::Value;

#[derive(Debug, Clone)]
pub struct TableOptions {
    pub delimiter: u8,
    pub quote: Option<u8>,
    pub comment: Option<u8>,
    pub trim: bool,
    pub bom: bool,
    pub cast: bool,
    pub relaxed: bool,
    pub header: bool,
    pub memory: Option<u64>,
}

#[derive(Debug)]
pub struct Rows {
    pub header: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

impl TableOptions {
    pub fn read(&self, text: &str) -> Result<Rows, String> {
        let text = if self.bom {
            text.strip_prefix('\u{feff}').unwrap_or(text)
        } else {
            text
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(self.header)
            .delimiter(self.delimiter)
            .quoting(self.quote.is_some())
            .quote(self.quote.unwrap_or(b'"'))
            .comment(self.comment)
            .flexible(self.relaxed)
            .trim(if self.trim {
                csv::Trim::All
            } else {
                csv::Trim::None
            })
            .from_reader(text.as_bytes());
        let mut header = Vec::new();
        if self.header {
            let names = reader.headers().map_err(|error| problem(&error))?;
            header.extend(names.iter().map(str::to_owned));
        }
        let mut rows = Vec::new();
        let mut bytes = 0;
        for record in reader.records() {
            let record = record.map_err(|error| problem(&error))?;
            let row: Vec<Value> = record
                .iter()
                .map(|cell| if self.cast { cast(cell) } else { cell.into() })
                .collect();
            bytes += weight(&row);
            if let Some(most) = self.memory.filter(|most| bytes > *most) {
                return Err(format!(
                    "row {} and those before it take more than {} MB of memory: use fewer rows, or raise --memory",
                    rows.len() + 1,
                    most >> 20
                ));
            }
            rows.push(row);
        }
        Ok(Rows { header, rows })
    }
}

fn problem(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line} has {len} cells, but the rows before it have {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// Returns the memory of a row in bytes: cells, strings, and allocation overhead.
fn weight(row: &[Value]) -> u64 {
    const PER_ALLOCATION: usize = 16;
    let text = |cell: &Value| match cell {
        Value::String(text) => text.len() + PER_ALLOCATION,
        _ => 0,
    };
    let cells: usize = row.iter().map(text).sum();
    (cells + size_of_val(row) + size_of::<Vec<Value>>() + PER_ALLOCATION) as u64
}

/// Converts a numeric cell like JavaScript: `007` is 7, `0x10` is 0.
fn cast(cell: &str) -> Value {
    let whole = value::number_of(cell);
    let prefix = value::float_prefix_of(cell);
    if whole - prefix + 1.0 >= 0.0
        && let Some(number) = value::number(prefix)
    {
        return Value::Number(number);
    }
    cell.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const PLAIN: TableOptions = TableOptions {
        delimiter: b',',
        quote: Some(b'"'),
        comment: None,
        trim: false,
        bom: false,
        cast: true,
        relaxed: false,
        header: false,
        memory: None,
    };

    #[test]
    fn casts_match_csv_parse() {
        for (cell, expected) in [
            ("7", json!(7)),
            ("007", json!(7)),
            ("1.50", json!(1.5)),
            ("1e3", json!(1000)),
            ("-4", json!(-4)),
            ("0x10", json!(0)),
            ("", json!("")),
            ("true", json!("true")),
            ("12ab", json!("12ab")),
            (" 5 ", json!(5)),
            ("1_000", json!("1_000")),
            ("Infinity", json!("Infinity")),
            ("-0", json!(0)),
            (".5", json!(0.5)),
        ] {
            assert_eq!(cast(cell), expected, "{cell:?}");
        }
    }

    #[test]
    fn quotes_lengths_and_headers() {
        let rows = |table: &TableOptions, text| {
            table.read(text).map(|read| json!([read.header, read.rows]))
        };
        assert_eq!(
            rows(&PLAIN, "a,\"b \"\"c\"\"\n,d\"\r\n\n1,2"),
            Ok(json!([[], [["a", "b \"c\"\n,d"], [1, 2]]]))
        );
        assert_eq!(
            rows(&PLAIN, "a,b\nc"),
            Err("line 2 has 1 cells, but the rows before it have 2".into())
        );
        let relaxed = TableOptions {
            relaxed: true,
            header: true,
            cast: false,
            trim: true,
            ..PLAIN
        };
        assert_eq!(
            rows(&relaxed, "id , n\n 1 \n2,3,4"),
            Ok(json!([["id", "n"], [["1"], ["2", "3", "4"]]]))
        );
        let other = TableOptions {
            delimiter: b';',
            quote: None,
            comment: Some(b'#'),
            bom: true,
            ..PLAIN
        };
        assert_eq!(
            rows(&other, "\u{feff}\"a;b\n# no\nc;d"),
            Ok(json!([[], [["\"a", "b"], ["c", "d"]]]))
        );
        assert_eq!(rows(&PLAIN, ""), Ok(json!([[], []])));
        let small = TableOptions {
            memory: Some(1 << 20),
            ..PLAIN
        };
        let texts = [1000, 100_000].map(|rows| "1,2\n".repeat(rows));
        assert!(rows(&small, &texts[0]).is_ok());
        let reason = rows(&small, &texts[1]).unwrap_err();
        assert!(reason.contains("more than 1 MB of memory"), "{reason}");
    }

    proptest! {
        #[test]
        fn any_table_is_handled(text in r#"[a-c0-9,;"\n\r #.eExX+-]{0,40}"#) {
            let _ = PLAIN.read(&text);
        }

        #[test]
        fn quoted_cells_round_trip(rows in prop::collection::vec(prop::collection::vec("[a-c,;\"\n #]{1,6}", 3), 1..5)) {
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = rows.iter().map(line).collect::<Vec<_>>().join("\n");
            let plain = TableOptions { cast: false, ..PLAIN };
            let read: Vec<Vec<String>> = plain
                .read(&text)
                .unwrap()
                .rows
                .iter()
                .map(|row| row.iter().map(|cell| value::text(Some(cell))).collect())
                .collect();
            prop_assert_eq!(read, rows);
        }

        #[test]
        fn cast_of_numbers_is_lossless(n in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
            let mut text = String::new();
            value::write_f64(n, &mut text);
            prop_assert_eq!(cast(&text).as_f64(), Some(n));
        }
    }
}
