//! Checks that names and quantities have the form that Kubernetes accepts.

use crate::{Job, RenderOptions};

const LONGEST_RAY: usize = 47;
const LONGEST: usize = 63 - 14;
const MOST_NODES: u64 = 4096;

#[must_use]
pub fn default_name(what: &str) -> String {
    let last = what.trim_end_matches('/').rsplit('/').next();
    let stem = last.unwrap_or_default();
    let stem = stem.split_once('.').map_or(stem, |(stem, _)| stem);
    let mut name = String::from("loadline-");
    for c in stem.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(40);
    let name = name.trim_end_matches('-');
    if name.len() > "loadline".len() {
        name.to_owned()
    } else {
        "loadline-run".to_owned()
    }
}

pub fn check(options: &RenderOptions) -> Result<(), String> {
    let longest = match options.job {
        Job::Ray { .. } => LONGEST_RAY,
        Job::Indexed { .. } => LONGEST,
    };
    let rule =
        "lower-case letters, digits and dashes, starting with a letter and not ending with a dash";
    let names = [
        ("--name", Some(&options.name), longest),
        ("--namespace", options.namespace.as_ref(), 63),
    ];
    for (flag, name, longest) in names {
        if let Some(name) = name.filter(|name| !is_label(name) || name.len() > longest) {
            return Err(format!(
                "{flag} {name}: use {rule}, at most {longest} characters"
            ));
        }
    }
    if let Some(name) = options.env_from.as_ref().filter(|name| !is_subdomain(name)) {
        return Err(format!("--env-from {name}: not a valid name for a Secret"));
    }
    let is_image = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if options.image.is_empty() || !options.image.chars().all(is_image) {
        return Err(format!("--image {}: not a valid image name", options.image));
    }
    if !(1..=MOST_NODES).contains(&options.nodes) {
        return Err(format!(
            "--nodes {}: use a number from 1 to {MOST_NODES}",
            options.nodes
        ));
    }
    let quantities = [
        ("--cpu", &options.cpu, &["", "m"][..], "2 or 1500m"),
        (
            "--memory",
            &options.memory,
            &["", "k", "M", "G", "Ki", "Mi", "Gi"][..],
            "2Gi or 512Mi",
        ),
        (
            "--storage",
            &options.storage,
            &["M", "G", "T", "Mi", "Gi", "Ti"][..],
            "5Gi",
        ),
    ];
    for (flag, text, units, like) in quantities {
        if !is_quantity(text, units) {
            return Err(format!(
                "{flag} {text}: use the Kubernetes format, for example {like}"
            ));
        }
    }
    if let Job::Ray { version, .. } = &options.job
        && version
            .split('.')
            .any(|part| part.is_empty() || !part.bytes().all(|c| c.is_ascii_digit()))
    {
        return Err(format!(
            "--ray-version {version}: use the version of Ray in the image, for example 2.60.0"
        ));
    }
    Ok(())
}

fn is_label(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn is_subdomain(name: &str) -> bool {
    let is_part = |part: &str| {
        let inside = part
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        !part.is_empty() && inside && !part.starts_with('-') && !part.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_part)
}

fn is_quantity(text: &str, units: &[&str]) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - unit.len()];
    units.contains(&unit)
        && !number.starts_with('.')
        && !number.ends_with('.')
        && number.parse::<f64>().is_ok_and(|number| number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_that_kubernetes_takes() {
        for (what, name) in [
            ("plan.yml", "loadline-plan"),
            ("tests/My Shop_2.test.yml", "loadline-my-shop-2"),
            ("https://shop.example.com/a", "loadline-a"),
            ("ünïcode.yml", "loadline-n-code"),
            ("…", "loadline-run"),
        ] {
            assert_eq!(default_name(what), name, "{what}");
            assert!(is_label(name));
        }
        assert!(is_label(&default_name(&"x-".repeat(80))));
    }

    #[test]
    fn quantities_are_numbers_with_a_unit_of_theirs() {
        for text in ["2", "0.5", "1500m"] {
            assert!(is_quantity(text, &["", "m"]), "{text}");
        }
        for text in [
            "", "0", "m", "-1", ".5", "5.", "1.2.3", "2 Gi", "1e3", "2GiB",
        ] {
            assert!(!is_quantity(text, &["", "m", "Gi"]), "{text}");
        }
    }
}
