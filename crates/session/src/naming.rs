//! Name and tags of a run from environment variables, for all front ends.

use plan::{Plan, Problem, about::is_tag};

const NAME: &str = "LOADLINE_NAME";
const TAGS: &str = "LOADLINE_TAGS";

/// Sets the run's name from the environment unless a flag sets it, and adds tags.
///
/// # Errors
///
/// Fails with a description of the first invalid tag.
pub fn apply_env_names(plan: &mut Plan, flag: Option<&str>) -> Result<(), Vec<Problem>> {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let name = flag.map(str::to_owned).or_else(|| variable(NAME));
    let tags = variable(TAGS).unwrap_or_default();
    let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    if let Some(name) = name {
        plan.name = name;
    }
    tag(plan, tags).map_err(|line| vec![Problem::anywhere(format!("{TAGS}: {line}"))])
}

/// Adds tags to a run.
///
/// # Errors
///
/// Fails with a description of the first invalid tag.
pub fn tag<'a>(plan: &mut Plan, tags: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    for tag in tags {
        if !is_tag(tag) {
            return Err(format!(
                "`{tag}` is not a valid tag: use a word without spaces and commas"
            ));
        }
        let about = plan.about.get_or_insert_default();
        if !about.tags.iter().any(|known| known == tag) {
            about.tags.push(tag.to_owned());
        }
    }
    Ok(())
}
