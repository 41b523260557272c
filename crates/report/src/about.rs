//! Formats the purpose of a test as rows below the title of a report.

use plan::about::About;

pub(crate) type AboutRow = (String, String, Option<String>);

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
