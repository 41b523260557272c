//! Mutated sources. Each of them gives a valid plan or a one-line error.

use proptest::prelude::*;

use crate::support::try_read;

const SOURCES: [(&str, &str); 3] = [
    ("shop.jmx", include_str!("sources/shop.jmx")),
    (
        "shop.json",
        include_str!("sources/shop.postman_collection.json"),
    ),
    (
        "shop.json",
        include_str!("sources/features.postman_collection.json"),
    ),
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        prop::sample::select(vec![
            "{{",
            "}}",
            "${",
            "}",
            "${__P(",
            "null",
            "[]",
            "\"",
            "'",
            "<hashTree>",
            "</hashTree>",
            "-1",
            "0",
            "1e400",
            "\\",
            "\n",
            "{{ $uuid }}",
            "pm.test('a', () => {",
            "http://",
            "://",
            "?",
            "/",
            "&",
            "é",
            "\u{fdd0}",
            "\"name\": ",
            "delete",
            "99999999999999999999",
            "{}",
            ",",
            "(",
            "[",
        ])
        .prop_map(str::to_owned),
        "(?s).{0,8}",
    ]
}

fn mutated(text: &str, changes: &[(usize, usize, String)]) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for (at, length, piece) in changes {
        let at = at % (letters.len() + 1);
        let end = (at + length).min(letters.len());
        letters.splice(at..end, piece.chars());
    }
    letters.into_iter().collect()
}

proptest! {
    #[test]
    fn mutated_source_becomes_a_plan_or_one_line(
        source in prop::sample::select(SOURCES.to_vec()),
        changes in prop::collection::vec((any::<usize>(), 0..12usize, piece()), 1..4),
    ) {
        let (name, text) = source;
        let text = mutated(text, &changes);
        let no_file = |_: &std::path::Path| Err("no such file".to_owned());
        match init::from_text(name, &text, &no_file) {
            Ok(draft) => {
                if let Err(failed) = try_read(draft) {
                    let (plan, errors) = *failed;
                    let is_file = |problem: &plan::Problem| {
                        problem.message.contains("o such file") || problem.message.contains("os error")
                    };
                    // The columns of a missing table are unset, too.
                    prop_assert!(errors.problems.iter().any(is_file), "{}\n{}", errors, plan);
                }
            }
            Err(error) => {
                let line = error.to_string();
                prop_assert!(!line.contains('\n'), "{}", line);
            }
        }
    }
}
