//! Filters and transforms a message in this order: period, filters, transformations.

use super::{
    config::{
        ActivePeriod, Config, Filters, Input, List, Listed, Period, Threshold, Transformations,
    },
    rules::{BrokenRule, RuleSet},
};

#[derive(Debug, Default)]
pub(crate) struct Before {
    passed_ms: Option<u64>,
    last: Option<String>,
}

pub(crate) fn pass(
    config: &Config,
    rules: RuleSet,
    before: &mut Before,
    payload: &[u8],
    now_ms: u64,
) -> Result<String, &'static str> {
    if !is_active(&config.active_period, now_ms) {
        return Err("period");
    }
    let filters = &config.filters;
    if filters.max_size > 0
        && payload.len() > filters.max_size
        && !rules.lacks(BrokenRule::FilterSize)
    {
        return Err("size");
    }
    let text = std::str::from_utf8(payload).map_err(|_| "type")?;
    let number =
        number(filters, text).or_else(|reason| match rules.lacks(BrokenRule::FilterType) {
            true => Ok(None),
            false => Err(reason),
        })?;
    if !rules.lacks(BrokenRule::FilterList) && !is_listed_well(filters, text, number) {
        return Err("list");
    }
    if !rules.lacks(BrokenRule::FilterThreshold) && !is_within(filters, number) {
        return Err("threshold");
    }
    if filters.last_unique_check && before.last.as_deref() == Some(text) {
        return Err("repeated");
    }
    let gap_ms = u64::from(filters.max_rate) * 1000;
    if before.passed_ms.is_some_and(|at| now_ms < at + gap_ms) {
        return Err("rate");
    }
    before.passed_ms = Some(now_ms);
    if filters.last_unique_check {
        before.last = Some(text.to_owned());
    }
    Ok(match (&config.transformations, number) {
        (None, _) => text.to_owned(),
        (Some(how), Some(number)) => turned(how, rules, text, number),
        (Some(how), None) if filters.type_input_value == Input::Text => sliced(how, rules, text),
        (Some(_), None) => text.to_owned(),
    })
}

fn is_active(period: &ActivePeriod, now_ms: u64) -> bool {
    let ms = |at: &Option<jiff::Timestamp>| at.map_or(0, |at| at.as_millisecond());
    let now = i64::try_from(now_ms).unwrap_or(i64::MAX);
    let (from, to) = (now >= ms(&period.start), now < ms(&period.end));
    match period.kind {
        Period::Permanent => true,
        Period::FromDate => from,
        Period::ToDate => to,
        Period::DateRange => from && to,
    }
}

fn number(filters: &Filters, text: &str) -> Result<Option<f64>, &'static str> {
    if filters.type_input_value == Input::Text {
        return Ok(None);
    }
    let number = text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    number.map(Some).ok_or("type")
}

fn is_listed_well(filters: &Filters, text: &str, number: Option<f64>) -> bool {
    let Some(list) = filters.type_value_filtering else {
        return true;
    };
    let mut values = filters.filtering_values.iter().flatten();
    let is_in = values.any(|listed| match listed {
        Listed::Text(listed) => listed == text,
        Listed::Number(listed) => number == Some(*listed),
    });
    is_in == (list == List::WhiteList)
}

fn is_within(filters: &Filters, number: Option<f64>) -> bool {
    let (Some(kind), Some(number)) = (filters.type_value_threshold, number) else {
        return true;
    };
    let least = filters
        .threshold_min
        .is_none_or(|least| number >= least as f64);
    let most = filters
        .threshold_max
        .is_none_or(|most| number <= most as f64);
    match kind {
        Threshold::Min => least,
        Threshold::Max => most,
        Threshold::Range => least && most,
    }
}

fn turned(how: &Transformations, rules: RuleSet, text: &str, number: f64) -> String {
    let ratio = how
        .multiplication_ratio
        .filter(|_| !rules.lacks(BrokenRule::TransformRatio));
    let decimals = how.round_decimal_point.map(usize::from);
    match (ratio, decimals) {
        (None, None) => text.to_owned(),
        (None, Some(decimals)) => format!("{number:.decimals$}"),
        (Some(ratio), decimals) => {
            let decimals = decimals.unwrap_or(6);
            // Round to six decimals first, as the platform does.
            let six = format!("{:.6}", number * ratio);
            let six = six.parse::<f64>().unwrap_or(number * ratio);
            format!("{six:.decimals$}")
        }
    }
}

fn sliced(how: &Transformations, rules: RuleSet, text: &str) -> String {
    if rules.lacks(BrokenRule::TransformSlice) {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let length = letters.len() as i64;
    let place = |at: i64| (if at < 0 { at + length } else { at }).clamp(0, length) as usize;
    let (start, end) = (
        how.slice_start.map_or(0, place),
        how.slice_end.map_or(length as usize, place),
    );
    letters.get(start..end).unwrap_or_default().iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(filters: &str, turned: &str) -> Config {
        Config::read(&format!(
            "active_period: {{type: Permanent}}\nfilters: {{{filters}}}\ntransformations: {{{turned}}}\nprocessing_policy: {{policy_type: LastValue}}"
        ))
        .unwrap()
    }

    fn one(config: &Config, text: &str) -> Result<String, &'static str> {
        pass(
            config,
            RuleSet::default(),
            &mut Before::default(),
            text.as_bytes(),
            0,
        )
    }

    const NUMBERS: &str = "type_input_value: Number, max_rate: 0, max_size: 9, type_value_threshold: Range, threshold_min: 0, threshold_max: 100, type_value_filtering: BlackList, filtering_values: [7]";

    #[test]
    fn numbers() {
        let config = config(NUMBERS, "multiplication_ratio: 0.7, round_decimal_point: 3");
        assert_eq!(one(&config, "10"), Ok("7.000".to_owned()));
        assert_eq!(one(&config, "7"), Err("list"));
        assert_eq!(one(&config, "101"), Err("threshold"));
        assert_eq!(one(&config, "ten"), Err("type"));
        assert_eq!(one(&config, "0000000010"), Err("size"));
    }

    #[test]
    fn texts() {
        let of = "type_input_value: Text, max_rate: 0, max_size: 0, type_value_filtering: WhiteList, filtering_values: [abcdef, x]";
        let config = config(of, "slice_start: -4, slice_end: 5");
        assert_eq!(one(&config, "abcdef"), Ok("cde".to_owned()));
        assert_eq!(one(&config, "x"), Ok("x".to_owned()));
        assert_eq!(one(&config, "y"), Err("list"));
    }

    #[test]
    fn what_was_before_counts() {
        let of = "type_input_value: Text, max_rate: 2, max_size: 0, last_unique_check: true";
        let config = config(of, "");
        let mut before = Before::default();
        let mut at = |text: &str, ms| {
            pass(
                &config,
                RuleSet::default(),
                &mut before,
                text.as_bytes(),
                ms,
            )
        };
        assert!(at("a", 0).is_ok());
        assert_eq!(at("b", 1999), Err("rate"));
        assert_eq!(at("a", 2000), Err("repeated"));
        assert!(at("b", 2000).is_ok());
    }

    #[test]
    fn periods_begin_and_end() {
        let mut config = config("type_input_value: Text, max_rate: 0, max_size: 0", "");
        config.active_period = ActivePeriod {
            kind: Period::DateRange,
            start: Some(jiff::Timestamp::from_millisecond(10).unwrap()),
            end: Some(jiff::Timestamp::from_millisecond(20).unwrap()),
        };
        let at = |ms| {
            pass(
                &config,
                RuleSet::default(),
                &mut Before::default(),
                b"x",
                ms,
            )
            .is_ok()
        };
        assert_eq!([9, 10, 19, 20].map(at), [false, true, true, false]);
    }

    #[test]
    fn each_rule_can_be_broken() {
        let config = config(NUMBERS, "multiplication_ratio: 2");
        let broken = |which, text: &str| {
            pass(
                &config,
                RuleSet::lacking(which),
                &mut Before::default(),
                text.as_bytes(),
                0,
            )
        };
        assert!(broken(BrokenRule::FilterList, "7").is_ok());
        assert!(broken(BrokenRule::FilterThreshold, "101").is_ok());
        assert!(broken(BrokenRule::FilterType, "ten").is_ok());
        assert!(broken(BrokenRule::FilterSize, "0000000010").is_ok());
        assert_eq!(broken(BrokenRule::TransformRatio, "3"), Ok("3".to_owned()));
    }
}
