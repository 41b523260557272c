//! Reads CSV and keeps the position of each cell. Quotes, doubled quotes and line breaks in cells
//! are supported.

use super::{figure::Position, lines::Word};

#[derive(Debug, Clone, PartialEq)]
pub struct CsvTable {
    pub header: Vec<String>,
    pub records: Vec<CsvRecord>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CsvRecord {
    fields: Vec<(String, Position)>,
}

impl CsvTable {
    #[must_use]
    pub fn read(text: &str) -> CsvTable {
        let mut records = records(text);
        let header = if records.is_empty() {
            Vec::new()
        } else {
            records.remove(0).fields
        };
        CsvTable {
            header: header
                .iter()
                .map(|(name, _)| name.trim().to_lowercase())
                .collect(),
            records,
        }
    }

    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    #[must_use]
    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.column(name).is_some())
    }
}

impl CsvRecord {
    #[must_use]
    pub fn field(&self, column: usize) -> Option<Word<'_>> {
        let (text, place) = self.fields.get(column)?;
        Some(Word {
            text: text.trim(),
            place: *place,
        })
    }

    #[must_use]
    #[allow(
        clippy::len_without_is_empty,
        reason = "a record always has at least one field"
    )]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    #[must_use]
    pub fn place(&self) -> Position {
        self.fields
            .first()
            .map_or(Position::default(), |field| field.1)
    }
}

#[must_use]
pub fn records(text: &str) -> Vec<CsvRecord> {
    records_with(text, ',')
}

#[must_use]
pub fn records_with(text: &str, delimiter: char) -> Vec<CsvRecord> {
    let mut records = Vec::new();
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut at = Position { line: 1, column: 1 };
    let mut begun = at;
    let mut in_quotes = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        at.column += 1;
        match c {
            '"' if in_quotes && chars.peek() == Some(&'"') => {
                chars.next();
                at.column += 1;
                field.push('"');
            }
            '"' if in_quotes => in_quotes = false,
            '"' if field.is_empty() => in_quotes = true,
            _ if c == delimiter && !in_quotes => {
                fields.push((std::mem::take(&mut field), begun));
                begun = at;
            }
            '\n' => {
                at = Position {
                    line: at.line + 1,
                    column: 1,
                };
                if in_quotes {
                    field.push(c);
                    continue;
                }
                end(&mut fields, &mut field, begun, &mut records);
                begun = at;
            }
            '\r' if !in_quotes && chars.peek() == Some(&'\n') => {}
            _ => field.push(c),
        }
    }
    end(&mut fields, &mut field, begun, &mut records);
    records
}

fn end(
    fields: &mut Vec<(String, Position)>,
    field: &mut String,
    begun: Position,
    records: &mut Vec<CsvRecord>,
) {
    let last = std::mem::take(field);
    if fields.is_empty() && last.is_empty() {
        return;
    }
    fields.push((last, begun));
    records.push(CsvRecord {
        fields: std::mem::take(fields),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_line_breaks_and_places() {
        let table = CsvTable::read("Count,Message\r\n3,\"a \"\"b\"\",\nc\"\r\n\r\n4,d");
        assert_eq!(table.header, ["count", "message"]);
        assert!(table.has(&["message", "count"]) && !table.has(&["nodes"]));
        assert_eq!(table.records.len(), 2);
        assert_eq!(table.records[0].field(1).unwrap().text, "a \"b\",\nc");
        assert_eq!(
            table.records[0].field(1).unwrap().place,
            Position { line: 2, column: 3 }
        );
        assert_eq!(table.records[1].place(), Position { line: 5, column: 1 });
        assert_eq!(table.records[1].field(2), None);
        assert_eq!(CsvTable::read("").records, []);
    }
}
