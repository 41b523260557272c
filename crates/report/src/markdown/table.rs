//! Tables in GitHub Markdown with aligned columns.

pub struct MarkdownTable {
    rows: Vec<Vec<String>>,
    figures: Vec<bool>,
    plain: bool,
}

impl MarkdownTable {
    /// Creates a table. All columns contain numbers, except the first column and those whose head
    /// starts with `<`.
    pub fn new(heads: &[&str]) -> MarkdownTable {
        let is_figure = |(i, head): (usize, &&str)| i > 0 && !head.starts_with('<');
        let names = heads
            .iter()
            .map(|head| head.trim_start_matches('<').to_owned());
        MarkdownTable {
            rows: vec![names.collect()],
            figures: heads.iter().enumerate().map(is_figure).collect(),
            plain: false,
        }
    }

    /// Creates a table for a terminal, in which only control characters are escaped. See
    /// [`MarkdownTable::new`].
    pub fn as_text(heads: &[&str]) -> MarkdownTable {
        MarkdownTable {
            plain: true,
            ..MarkdownTable::new(heads)
        }
    }

    /// Appends columns of numbers. Must be called before `row`.
    pub fn add_columns(&mut self, heads: impl IntoIterator<Item = String>) {
        self.rows[0].extend(heads);
        self.figures.resize(self.rows[0].len(), true);
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let plain = self.plain;
        let render = |cell: String| {
            if plain {
                cell.replace(char::is_control, " ")
            } else {
                escaped(&cell)
            }
        };
        self.rows.push(cells.into_iter().map(render).collect());
    }

    /// Makes the last cell of the last row a link. Does nothing if `url` is `None`.
    pub fn link_last_cell(&mut self, url: Option<&str>) {
        let cell = self.rows.last_mut().and_then(|row| row.last_mut());
        if let (Some(cell), Some(url)) = (cell, url) {
            let mut address = String::with_capacity(url.len());
            for c in url.chars() {
                match c {
                    // These characters would end an address, a cell or a line.
                    '<' | '>' | '|' | '\\' | ' ' => address.push_str(&format!("%{:02X}", c as u32)),
                    c if c.is_control() => {}
                    c => address.push(c),
                }
            }
            *cell = format!("[{cell}](<{address}>)");
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

/// Maximum width of padding, because Rust limits the width of a format to 65,535.
const MOST_PADDED: usize = 200;

impl std::fmt::Display for MarkdownTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows[0].len();
        let width = |i: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(i));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .clamp(3, MOST_PADDED)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (n, row) in self.rows.iter().enumerate() {
            for (i, width) in widths.iter().enumerate() {
                let cell = row.get(i).map_or("", String::as_str);
                if self.figures[i] {
                    write!(f, "| {cell:>width$} ")?;
                } else {
                    write!(f, "| {cell:<width$} ")?;
                }
            }
            f.write_str("|\n")?;
            if n == 0 {
                for (i, width) in widths.iter().enumerate() {
                    if self.figures[i] {
                        write!(f, "| {}: ", "-".repeat(width - 1))?;
                    } else {
                        write!(f, "| {} ", "-".repeat(*width))?;
                    }
                }
                f.write_str("|\n")?;
            }
        }
        Ok(())
    }
}

pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(CodeSpan {
        before,
        code,
        after,
    }) = code_span(rest)
    {
        plain(before, &mut out);
        out.push('`');
        out.extend(code.chars().map(|c| if c.is_control() { ' ' } else { c }));
        out.push('`');
        rest = after;
    }
    plain(rest, &mut out);
    out
}

pub struct CodeSpan<'t> {
    pub before: &'t str,
    pub code: &'t str,
    pub after: &'t str,
}

/// Splits a string at its first two backticks. Returns `None` if Markdown would render the code
/// differently.
pub fn code_span(text: &str) -> Option<CodeSpan<'_>> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    let edges = [code.chars().next()?, code.chars().next_back()?];
    let is_code = !edges.iter().any(|c| c.is_whitespace() || *c == '\\')
        && !code.contains(['|', '\n'])
        && !after.starts_with('`')
        && !before.ends_with('\\');
    is_code.then_some(CodeSpan {
        before,
        code,
        after,
    })
}

fn plain(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_code_and_everything_else_is_text() {
        for (text, reported) in [
            ("`a_b > 1`: no_where", "`a_b > 1`: no\\_where"),
            ("one ` alone_", "one \\` alone\\_"),
            ("``", "\\`\\`"),
            ("`a|b`", "\\`a\\|b\\`"),
            ("``x``", "\\`\\`x\\`\\`"),
            ("`a` <b> `c`", "`a` &lt;b&gt; `c`"),
        ] {
            assert_eq!(escaped(text), reported);
        }
    }

    #[test]
    fn a_table_is_aligned_and_its_cells_are_text() {
        let mut table = MarkdownTable::new(&["name", "n"]);
        table.row(["a|b".into(), "1".into()]);
        table.row(["<script>".into(), "23,456".into()]);
        assert_eq!(
            table.to_string(),
            "| name           |      n |\n\
             | -------------- | -----: |\n\
             | a\\|b           |      1 |\n\
             | &lt;script&gt; | 23,456 |\n"
        );
    }
}
