use record::Run;

use analysis::series;

use super::worlds::{RATE, SECONDS, World, run};

fn of(run: &Run) -> series::Series {
    series::build(run, &analysis::summarise(run))
}

#[test]
fn columns_are_of_one_length_and_add_up_to_the_summary() {
    let run = run(World::Erring, &["p99 < 10ms"]);
    let (series, summary) = (of(&run), analysis::summarise(&run));
    let json = serde_json::to_value(&series).unwrap();
    let points = json["points"]["from_ns"].as_array().unwrap().len();
    assert!(points >= SECONDS as usize, "{points}");
    let columns = json["points"].as_object().unwrap();
    let mut arrays = 0;
    for (name, column) in columns {
        let lists: Vec<&serde_json::Value> = match column {
            serde_json::Value::Object(times) => times.values().collect(),
            list if name.starts_with("worker_") => list.as_array().unwrap().iter().collect(),
            list => vec![list],
        };
        for list in lists {
            assert_eq!(list.as_array().unwrap().len(), points, "{name}");
            arrays += 1;
        }
    }
    assert!(arrays > 40, "{arrays}");
    assert_eq!(series.points.ok.iter().sum::<u64>(), summary.requests.ok);
    assert_eq!(
        series.points.failed.iter().sum::<u64>(),
        summary.requests.failed
    );
    assert_eq!(series.points.due.iter().sum::<u64>(), RATE * SECONDS);
    assert_eq!(
        series.points.status_5xx.iter().sum::<u64>(),
        RATE * SECONDS / 5
    );
    let gaps = series
        .points
        .to_ns
        .iter()
        .zip(series.points.from_ns.iter().skip(1));
    assert!(gaps.into_iter().all(|(to, from)| to == from));
    assert_eq!(series.criteria_timeline.len(), 1);
    assert_eq!(series.criteria_timeline[0].len(), points);
    let spark = series.labels.iter().find(|spark| spark.id == 2).unwrap();
    assert!(spark.count.len() <= 60);
    assert_eq!(spark.count.iter().sum::<u64>(), RATE * SECONDS);
}

#[test]
fn heat_and_density_hold_every_answer() {
    let run = run(World::Healthy, &[]);
    let (series, summary) = (of(&run), analysis::summarise(&run));
    assert_eq!(series.heat.time, "response");
    let counted: u64 = series
        .heat
        .columns
        .iter()
        .flat_map(|column| column.chunks(2).map(|pair| pair[1]))
        .sum();
    assert_eq!(counted, summary.all.count);
    for distribution in &series.distribution {
        let counted: u64 = distribution.density.iter().map(|(_, _, n)| n).sum();
        assert_eq!(counted, summary.all.count, "{}", distribution.time);
        assert!(
            distribution
                .curve
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1)
        );
    }
    let stats = summary.all.response.unwrap();
    let curve = &series.distribution[0].curve;
    assert!(curve.contains(&(0.5, stats.p50.ns.unwrap())));
    assert_eq!(curve.last().unwrap().1, stats.max.ns.unwrap());
}

#[test]
fn a_lane_shows_when_a_criterion_did_not_hold() {
    let run = run(
        World::Overloaded,
        &["p95 < 5s", "p95 of \"GET /cart\" < 5s", "unsent < 1%"],
    );
    let (series, summary) = (of(&run), analysis::summarise(&run));
    // A quarter of the arrivals is not answered, so after 20 s the wait is 5 s.
    let first = summary.criteria[0].first_violation_ns.unwrap();
    assert!((23_000_000_000..27_000_000_000).contains(&first), "{first}");
    let number = &series.criteria_timeline[0];
    assert_eq!(number[5], Some(true));
    assert_eq!(number.last(), Some(&Some(false)));
    assert_eq!(series.criteria_timeline[1][5], Some(true));
    assert_eq!(series.criteria_timeline[1].last(), Some(&Some(false)));
    assert!(series.criteria_timeline[2].iter().all(Option::is_none));
    assert_eq!(summary.criteria[2].first_violation_ns, None);
}

#[test]
fn runs_in_which_little_happened_have_series_too() {
    for world in [
        World::Empty,
        World::Once,
        World::NeverAnswered,
        World::Killed,
    ] {
        let run = run(world, &["p99 < 1s"]);
        let series = of(&run);
        assert_eq!(
            series.points.from_ns.len(),
            series.criteria_timeline[0].len(),
            "{world:?}"
        );
        assert!(serde_json::to_string(&series).unwrap().len() < 200_000);
    }
    let unanswered = of(&run(World::NeverAnswered, &[]));
    assert!(
        unanswered.points.response.p50.iter().all(Option::is_none),
        "no answer has no time"
    );
}
