//! Finds the most similar known word, for hints in messages.

pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    if word.chars().count() > 40 {
        return None;
    }
    let limit = (word.chars().count() / 3).clamp(1, 3);
    let distances = candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate));
    distances
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns ` (did you mean `X`?)`, or an empty text if no candidate is similar.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates)
        .map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"))
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_words_are_found() {
        let known = ["headers", "url", "capture", "json"];
        assert_eq!(nearest("hedaers", known), Some("headers"));
        assert_eq!(nearest("URL", known), Some("url"));
        assert_eq!(nearest("captures", known), Some("capture"));
        assert_eq!(nearest("body", known), None);
        assert_eq!(hint("jsno", known), " (did you mean `json`?)");
        assert_eq!(hint("nothing like it", known), "");
    }
}
