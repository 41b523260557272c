//! Custom metrics over time, from the record on disk.

use analysis::{page, series};
use measure::{
    accumulator::Event,
    custom::{CustomKind, CustomRecorder},
};
use record::Run;

use crate::support::{Folder, intervals, plan, write_all};

/// Creates a run. Each interval has two orders, an error, sizes, a level that grows with each
/// interval, and two evaluations of a check, of which one passes.
fn run(folder: &Folder) -> Run {
    let mut recorder = CustomRecorder::default();
    let mut all = intervals();
    for (at, interval) in all.iter_mut().enumerate() {
        recorder.event(&Event::Count {
            name: "orders",
            n: 2,
        });
        recorder.event(&Event::Remark { name: "lost cart" });
        for value in [at as f64, at as f64 + 0.5] {
            recorder.event(&Event::Value {
                name: "size",
                value,
            });
        }
        for (kind, name, value) in [
            (CustomKind::Gauge, "queue", at as f64),
            (CustomKind::Check, "is paid", 1.0),
            (CustomKind::Check, "is paid", 0.0),
        ] {
            recorder.event(&Event::Observed { kind, name, value });
        }
        interval.custom = recorder.take();
    }
    let written = write_all(&folder.0, &plan(&["custom.size p95 < 100"]), all);
    Run::open(written.dir.as_ref().unwrap()).unwrap()
}

#[test]
fn columns_of_custom_metrics_add_up_to_the_summary() {
    let folder = Folder::new();
    let run = run(&folder);
    let summary = analysis::summarise(&run);
    let series = series::build(&run, &summary);
    let points = series.points.from_ns.len();
    let rows = summary.custom.iter();
    let rows: Vec<_> = rows.map(|row| (&row.name, &row.kind, row.count)).collect();
    let sums = series.custom.iter();
    let sums = sums.map(|one| (&one.name, &one.kind, one.count.iter().sum()));
    assert_eq!(rows, sums.collect::<Vec<_>>());
    assert_eq!(rows.len(), 5);
    for one in &series.custom {
        assert_eq!(one.count.len(), points);
        let percentiles = if one.kind == "histogram" { points } else { 0 };
        assert_eq!((one.p50.len(), one.p95.len()), (percentiles, percentiles));
    }
    for (name, statistic) in [("queue", "mean"), ("is paid", "share")] {
        let row = summary.custom.iter().find(|row| row.name == name).unwrap();
        let one = series.custom.iter().find(|one| one.name == name).unwrap();
        let weighted = one.mean.iter().zip(&one.count);
        let sum: f64 = weighted
            .filter_map(|(mean, n)| Some((*mean)? * *n as f64))
            .sum();
        let mean = row.values.as_ref().unwrap()[statistic];
        assert!(
            (sum / row.count as f64 - mean).abs() < 1e-9,
            "{name} {sum} {mean}"
        );
    }
    let check = summary
        .custom
        .iter()
        .find(|row| row.kind == "check")
        .unwrap();
    assert_eq!(check.values.as_ref().unwrap()["share"], 0.5);
    let size = series.custom.iter().find(|one| one.name == "size").unwrap();
    let known = size
        .p50
        .iter()
        .zip(&size.p95)
        .filter_map(|(p50, p95)| Some((p50.as_ref()?, p95.as_ref()?)));
    let known: Vec<(&f64, &f64)> = known.collect();
    assert!(known.len() > 1);
    assert!(known.is_sorted() && known.iter().all(|(p50, p95)| p50 <= p95));
}

#[test]
fn ticks_of_the_live_view_have_only_new_points() {
    let folder = Folder::new();
    let page = page::build(&run(&folder));
    let (_, points) = page.extent();
    let tick = page::tick(&page, points - 1).unwrap();
    for one in tick.series["custom"].as_array().unwrap() {
        assert_eq!(one["count"].as_array().unwrap().len(), 1, "{one}");
        if one["kind"] == "histogram" {
            assert_eq!(one["p50"].as_array().unwrap().len(), 1, "{one}");
        }
    }
}
