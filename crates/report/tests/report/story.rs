use std::collections::BTreeSet;

use report::markdown;

use analysis::{page, summary};

use super::worlds::{World, run};

const FOUR: [World; 4] = [
    World::Healthy,
    World::Overloaded,
    World::Erring,
    World::Starved,
];

fn sentences(world: World) -> (Vec<String>, Vec<String>) {
    let summary = analysis::summarise(&run(world, &[]));
    let kinds = summary.conclusions.iter().map(|c| c.kind.clone()).collect();
    (
        kinds,
        summary.conclusions.into_iter().map(|c| c.text).collect(),
    )
}

#[test]
fn four_runs_four_conclusions() {
    let first = FOUR.map(|world| sentences(world).0.first().cloned().unwrap());
    assert_eq!(first, ["healthy", "overload", "errors", "generator"]);
    let all: Vec<String> = FOUR
        .into_iter()
        .flat_map(|world| sentences(world).1)
        .collect();
    let different: BTreeSet<&String> = all.iter().collect();
    assert_eq!(
        all.len(),
        different.len(),
        "no sentence is true of two of them: {all:#?}"
    );
    assert!(
        all.iter()
            .all(|text| text.chars().any(|c| c.is_ascii_digit())),
        "{all:#?}"
    );
}

#[test]
fn figure_paths_of_conclusions_exist() {
    for world in FOUR.into_iter().chain([
        World::Empty,
        World::Once,
        World::NeverAnswered,
        World::Killed,
    ]) {
        let summary = analysis::summarise(&run(world, &["p99 < 10ms"]));
        let json = serde_json::to_value(&summary).unwrap();
        for conclusion in &summary.conclusions {
            assert!(!conclusion.figures.is_empty(), "{}", conclusion.text);
            for path in &conclusion.figures {
                let pointer = format!("/{}", path.replace('.', "/"));
                let found = json.pointer(&pointer);
                assert!(
                    found.is_some_and(|value| !value.is_null()),
                    "{world:?}: {path}"
                );
            }
        }
    }
}

#[test]
fn strip_names_the_deciding_criterion() {
    let headline = |world, criteria: &[&str]| analysis::summarise(&run(world, criteria)).verdict;
    let sentence = |world, criteria: &[&str]| headline(world, criteria).sentence;
    assert_eq!(
        sentence(World::Healthy, &["p99 < 100ms", "errors < 1%"]),
        "Both criteria held; the closest was p99 < 100ms, measured 2.01 ms, 98.0 % to spare."
    );
    assert_eq!(
        sentence(World::Erring, &["p99 < 100ms", "errors < 1%"]),
        "1 of 2 criteria failed: errors < 1%, measured 20.0 % (800 of 4,000)."
    );
    let failed = headline(World::Erring, &["p99 < 100ms", "errors < 1%"]);
    assert_eq!(failed.figures.len(), 1);
    assert_eq!(
        (
            failed.figures[0].name.as_str(),
            failed.figures[0].value.as_str()
        ),
        ("criterion errors", "20.0 % (800 of 4,000)")
    );
    assert!(sentence(World::Starved, &["p99 < 100ms"]).starts_with("The measurement is invalid"));
    assert_eq!(
        sentence(World::NeverAnswered, &[]),
        "None of 4,000 requests was answered."
    );
    assert_eq!(
        sentence(World::Empty, &[]),
        "Nothing was sent, so there is nothing to judge."
    );
    assert!(
        sentence(World::Healthy, &[])
            .starts_with("No criteria were set: 4,000 requests at 100/s, none failed")
    );
}

#[test]
fn key_figures_have_no_duplicates() {
    let names = |criteria: &[&str]| {
        let headline = analysis::summarise(&run(World::Erring, criteria)).verdict;
        headline
            .figures
            .into_iter()
            .map(|f| f.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), [""; 0]);
    assert_eq!(names(&["errors < 1%"]), ["criterion errors"]);
    assert_eq!(names(&["errors < 1%", "errors < 5%"]), ["criterion errors"]);
}

#[test]
fn key_figures_are_present_for_every_verdict() {
    for world in FOUR {
        let summary = analysis::summarise(&run(world, &["p99 < 1ms"]));
        let key_figures = &summary.verdict.key_figures;
        let names: Vec<&str> = key_figures.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "load",
                "answered/s",
                "errors",
                "p50",
                "p95",
                "p99",
                "largest"
            ],
            "{world:?}"
        );
        let p95 = summary.all.response.as_ref().unwrap().p95.value();
        assert_eq!(key_figures[4].value, p95);
        let text = markdown::render(&page::build(&run(world, &["p99 < 1ms"]))).text;
        let head = text.split("\n## ").next().unwrap();
        for figure in key_figures {
            assert!(head.contains(&figure.value), "{world:?}: {}", figure.name);
        }
    }
}

#[test]
fn headline_has_main_conclusions_without_repetition() {
    let head = |world, criteria: &[&str]| {
        let summary = analysis::summarise(&run(world, criteria));
        let key_conclusions = summary.verdict.key_conclusions.iter();
        let key_conclusions: Vec<_> = key_conclusions
            .map(|at| &summary.conclusions[*at])
            .collect();
        assert!(key_conclusions.len() <= 3);
        for conclusion in &key_conclusions {
            assert!(!summary.verdict.sentence.contains(&conclusion.text));
        }
        let kinds: Vec<String> = key_conclusions.iter().map(|c| c.kind.clone()).collect();
        (kinds, summary)
    };
    let (kinds, summary) = head(World::Erring, &["errors < 1%", "errors < 2%"]);
    assert_eq!(kinds[0], "errors");
    assert_eq!(summary.conclusions[0].kind, "criteria");
    assert_eq!(
        summary.conclusions[0].text,
        "2 of 2 criteria failed: errors < 1%, measured 20.0 % (800 of 4,000); errors < 2%, measured 20.0 % (800 of 4,000)."
    );
    let (kinds, summary) = head(World::Starved, &["rate > 1000/s"]);
    assert!(
        summary
            .verdict
            .sentence
            .starts_with("The measurement is invalid")
    );
    assert_eq!(kinds[0], "generator");
    let (kinds, _) = head(World::Healthy, &["p99 < 100ms"]);
    assert_eq!(kinds[0], "healthy");
}

#[test]
fn markdown_of_any_run_has_its_tables_and_its_charts() {
    for world in FOUR.into_iter().chain([
        World::Empty,
        World::Once,
        World::NeverAnswered,
        World::Killed,
    ]) {
        let document = markdown::render(&page::build(&run(world, &["p99 < 10ms"])));
        let text = &document.text;
        assert!(text.starts_with("# Load test: shop.yml\n\n"), "{text}");
        for chart in &document.charts {
            assert!(
                text.contains(&format!("](charts/{})", chart.name)),
                "{}",
                chart.name
            );
            assert!(chart.text.starts_with("<svg ") && chart.text.ends_with("</svg>\n"));
            assert!(
                !chart.text.contains("NaN") && !chart.text.contains("inf"),
                "{world:?} {}",
                chart.name
            );
        }
        assert_eq!(
            document.charts.is_empty(),
            world == World::Empty,
            "{world:?}"
        );
        for line in text.lines().filter(|line| line.starts_with('|')) {
            assert!(line.ends_with('|'), "{line}");
        }
    }
}

#[test]
fn errors_have_a_chart_of_their_own_and_a_request_is_in_one_class() {
    for (world, class) in [
        (World::Erring, "status 5xx"),
        (World::NeverAnswered, "refused"),
    ] {
        let page = page::build(&run(world, &[]));
        let points = &page.series.points;
        let sum = |column: &Vec<u64>| column.iter().sum::<u64>();
        let all: u64 = points.errors.values().map(sum).sum();
        assert_eq!(
            (all, sum(&points.errors[class])),
            (page.summary.all.errors, all)
        );
        let charts = markdown::render(&page).charts;
        let chart = charts
            .iter()
            .find(|chart| chart.name == "errors.svg")
            .unwrap();
        assert!(chart.text.contains(class), "{}", chart.text);
    }
    let charts = markdown::render(&page::build(&run(World::Healthy, &[]))).charts;
    assert!(charts.iter().all(|chart| chart.name != "errors.svg"));
}

#[test]
fn published_tables_have_their_heads() {
    let summary = analysis::summarise(&run(World::Healthy, &[]));
    let head = |which| {
        markdown::published(&summary, which)
            .lines()
            .next()
            .unwrap()
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    assert_eq!(
        head(markdown::Published::Requests),
        "Endpoint | # Requests | # Failures | Avg response (ms) | Requests / s"
    );
    assert_eq!(
        head(markdown::Published::Percentiles),
        "Name | 50% | 66% | 75% | 80% | 90% | 95% | 98% | 99% | 99.9% | 99.99% | 100% | # reqs"
    );
    assert_eq!(head(markdown::Published::Rates), "endpoint | RPS");
}

#[test]
fn the_published_schema_is_true() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/summary.schema.json"
    );
    let text = summary::schema() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let same = std::fs::read_to_string(path).unwrap() == text;
    assert!(same, "run again with UPDATE_DOCS=1");
}
