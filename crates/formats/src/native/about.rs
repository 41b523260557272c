//! Reads `about`: the purpose of a test.

use plan::about::About;

use super::{
    model,
    read::{self, entries},
};
use crate::{document::Node, findings::Findings};

pub(super) fn read(root: &Node, findings: &mut Findings) -> Option<About> {
    let node = root.get("about")?;
    entries(node, "about", model::ABOUT, findings);
    let mut text = |key: &str| {
        node.get(key)
            .and_then(|node| read::text(node, key, findings))
    };
    let (objective, owner) = (text("objective"), text("owner"));
    let environment = pairs(node, "environment", findings);
    let links = pairs(node, "links", findings);
    for entry in node.get("links").map(Node::entries).unwrap_or_default() {
        let url = entry.value.text();
        if !["http://", "https://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        {
            let text = format!("`{url}` is not a link: start it with http:// or https://");
            findings.problem(entry.value.mark, text);
        }
    }
    let tags = node.get("tags").map(|tags| {
        let items = tags.as_list().unwrap_or(std::slice::from_ref(tags)).iter();
        items
            .filter_map(|item| read::text(item, "tags", findings))
            .collect()
    });
    Some(About {
        objective,
        owner,
        environment,
        links,
        tags: tags.unwrap_or_default(),
    })
}

fn pairs(node: &Node, key: &str, findings: &mut Findings) -> Vec<(String, String)> {
    let Some(node) = node.get(key) else {
        return Vec::new();
    };
    let mut pairs = Vec::new();
    for entry in read::map(node, key, findings) {
        let text = read::scalar(&entry.value, &entry.key, findings);
        pairs.extend(text.map(|text| (entry.key.clone(), text)));
    }
    pairs
}
