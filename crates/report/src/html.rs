//! `report.html`: a self-contained page that includes its data. The page is built in `web/`.

use analysis::{page::Page, summary};

const PLACE: &str = "__LOADLINE_PAGE__";

const TEMPLATE: &str = include_str!("../../../web/dist/report.html");

pub fn render(page: &Page) -> Result<String, serde_json::Error> {
    if page.summary.run.imported_from.is_none() {
        return Ok(with(&serde_json::to_string(page)?));
    }
    let mut data = serde_json::to_value(page)?;
    data["summary"] = summary::json(&page.summary)?;
    Ok(with(&data.to_string()))
}

#[must_use]
pub fn live() -> String {
    with("null")
}

/// Returns the page of a running test without controls to stop or change it.
#[must_use]
pub fn live_read_only() -> String {
    with("false")
}

fn with(json: &str) -> String {
    TEMPLATE.replacen(PLACE, &json.replace('<', "\\u003c"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_one_place_for_its_data_and_data_stays_in_it() {
        assert_eq!(TEMPLATE.matches(PLACE).count(), 1);
        let page = with(r#"{"text": "</script><script>alert(1)"}"#);
        assert!(page.contains(r#"{"text": "\u003c/script>\u003cscript>alert(1)"}"#));
        assert!(!live().contains(PLACE));
    }

    #[test]
    fn the_page_is_small_and_asks_for_nothing() {
        assert!(TEMPLATE.len() < 400_000, "{}", TEMPLATE.len());
        for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
            assert!(!TEMPLATE.contains(outside), "{outside}");
        }
    }
}
