//! What a test is for, as rows that every report shows below its head.

use plan::about::About;

/// Name, text, and where the name leads to.
pub(crate) type AboutRow = (String, String, Option<String>);

/// Everything but the objective, which is a sentence of its own.
pub(crate) fn rows(about: &About) -> Vec<AboutRow> {
    let owner = about
        .owner
        .iter()
        .map(|owner| ("Owner".to_owned(), owner.clone(), None));
    let environment = about.environment.iter();
    let environment = environment.map(|(name, text)| (name.clone(), text.clone(), None));
    let links = about.links.iter();
    let links = links.map(|(name, url)| (name.clone(), url.clone(), Some(url.clone())));
    let tags = (!about.tags.is_empty()).then(|| ("Tags".to_owned(), about.tags.join(", "), None));
    owner.chain(environment).chain(links).chain(tags).collect()
}
