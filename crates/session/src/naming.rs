//! What a run is called and tagged, behind whatever door: so that it can be found again among others of its kind.

use plan::{Plan, Problem, about::is_tag};

/// What the run is called.
const NAME: &str = "LOADLINE_NAME";
/// Its tags, separated by commas.
const TAGS: &str = "LOADLINE_TAGS";

/// Gives the run the environment's name, unless it was given one by a flag, and its tags beside its own.
///
/// # Errors
/// A line about the first that is none.
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

/// Gives a run tags beside its own.
///
/// # Errors
/// A line about the first that is none.
pub fn tag<'a>(plan: &mut Plan, tags: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    for tag in tags {
        if !is_tag(tag) {
            return Err(format!(
                "`{tag}` is no tag: write a word without blanks and commas"
            ));
        }
        let about = plan.about.get_or_insert_default();
        if !about.tags.iter().any(|known| known == tag) {
            about.tags.push(tag.to_owned());
        }
    }
    Ok(())
}
