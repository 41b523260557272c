use analysis::page::Page;
use audit::{as_run, check, import};

const FILES: [(&str, &str); 9] = [
    ("k6-data.json", include_str!("golden/k6-data.json")),
    ("k6-export.json", include_str!("golden/k6-export.json")),
    (
        "vegeta-report.json",
        include_str!("golden/vegeta-report.json"),
    ),
    (
        "vegeta-results.json",
        include_str!("golden/vegeta-results.json"),
    ),
    ("fortio.json", include_str!("golden/fortio.json")),
    ("oha.json", include_str!("golden/oha.json")),
    ("jmeter.csv", include_str!("golden/jmeter.csv")),
    ("jmeter.xml", include_str!("golden/jmeter.xml")),
    ("tagged.hlog", include_str!("golden/tagged.hlog")),
];

fn page_of(text: &str) -> Page {
    let import = import::read(text).unwrap();
    as_run::page(&[("file".to_owned(), import)]).unwrap()
}

fn page(wanted: &str) -> Page {
    let (_, text) = FILES.iter().find(|(name, _)| *name == wanted).unwrap();
    page_of(text)
}

type Figures = (u64, Option<u64>, [Option<u64>; 4]);

fn figures(page: &Page) -> Figures {
    let all = &page.summary.all;
    let stats = all.service.as_ref().unwrap();
    let figures = [stats.p50, stats.p90, stats.p99, stats.max];
    (
        all.count,
        all.reports("errors").then_some(all.errors),
        figures.map(|figure| figure.ns.map(|ns| ns / 1000)),
    )
}

#[test]
fn each_is_a_run_of_its_tool() {
    let tools = [
        "k6",
        "k6",
        "Vegeta",
        "Vegeta",
        "Fortio",
        "oha",
        "JMeter",
        "JMeter",
        "HdrHistogram",
    ];
    for ((name, text), tool) in FILES.iter().zip(tools) {
        let page = page_of(text);
        assert_eq!(
            page.summary.run.imported_from.as_deref(),
            Some(tool),
            "{name}"
        );
        assert!(page.summary.measurement.is_none(), "{name}");
        assert!(
            page.summary.assumptions[0].contains(tool) || tool == "HdrHistogram",
            "{name}"
        );
    }
}

#[test]
fn nothing_that_they_print_contradicts_itself() {
    for (name, text) in FILES {
        let audit = check::audit(&import::read(text).unwrap());
        assert_eq!(audit.contradictions, 0, "{name}: {}", audit.text());
    }
}

#[test]
fn a_figure_that_does_not_fit_is_found() {
    let text = FILES[0].1.replace("\"count\": 1762", "\"count\": 2762");
    assert!(check::audit(&import::read(&text).unwrap()).contradictions > 0);
    let text = FILES[2]
        .1
        .replace("\"99th\":113867485", "\"99th\":13867485");
    assert!(check::audit(&import::read(&text).unwrap()).contradictions > 0);
}

#[test]
fn k6_with_and_without_the_percentiles_that_were_asked_for() {
    let data = page("k6-data.json");
    let p = [Some(2181), Some(3013), Some(9467), Some(502_197)];
    let (count, errors, times) = figures(&data);
    assert_eq!((count, errors), (1762, Some(177)));
    for (found, known) in times.into_iter().zip(p) {
        assert!(found.unwrap().abs_diff(known.unwrap()) < 20, "{times:?}");
    }
    let labels: Vec<&str> = data
        .summary
        .labels
        .iter()
        .map(|row| row.text.as_str())
        .collect();
    assert_eq!(labels, ["order"]);
    assert!(!data.summary.labels[0].reports("count"));
    let (count, errors, times) = figures(&page("k6-export.json"));
    assert_eq!((count, errors, times[2]), (1234, Some(109), None));
}

#[test]
fn k6_2_lists_its_metrics() {
    let text = r#"{"version": "1.0.0", "metadata": {"k6Version": "2.2.0"}, "config": {"duration": 2.0}, "results": {"metrics": [
        {"name": "http_reqs", "type": "counter", "contains": "default", "values": {"count": 100, "rate": 50}},
        {"name": "http_req_duration", "type": "trend", "contains": "time", "values": {"avg": 2, "min": 1, "med": 2, "max": 9, "p(95)": 4}}]}}"#;
    let (count, errors, times) = figures(&page_of(text));
    assert_eq!((count, errors), (100, None));
    assert_eq!(times, [Some(2000), None, None, Some(9000)]);
}

#[test]
fn vegetas_report_and_its_results() {
    let report = page("vegeta-report.json");
    assert_eq!(
        figures(&report),
        (
            100,
            Some(5),
            [Some(2660), Some(89_242), Some(113_867), Some(127_428)]
        )
    );
    let results = page("vegeta-results.json").summary;
    assert_eq!(results.all.count, 30);
    let labels: Vec<&str> = results.labels.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(labels, ["GET /a", "POST /b"]);
    let p50 = results.all.service.as_ref().unwrap().p50;
    assert!(p50.ns.is_some());
    // With 15 requests, there are fewer than ten samples beyond the percentile.
    assert!(results.labels[0].service.as_ref().unwrap().p50.unreported);
    assert_eq!(results.all.codes.values().sum::<u64>(), 30);
}

#[test]
fn a_torn_line_costs_itself_alone() {
    let whole_number = FILES[3].1;
    let torn = &whole_number[..whole_number.len() - 40];
    let page = page_of(torn);
    assert_eq!(page.summary.all.count, 29);
    assert!(
        page.summary
            .notes
            .iter()
            .any(|note| note.ends_with("excluded from all figures: 1"))
    );
}

#[test]
fn ohas_errors_are_requests_without_an_answer() {
    let oha = page("oha.json");
    assert_eq!(figures(&oha).0, 1000);
    let requests = &oha.summary.requests;
    assert_eq!(
        (requests.ok, requests.failed, requests.unanswered),
        (990, 0, 10)
    );
    assert!(
        oha.summary
            .notes
            .iter()
            .any(|note| note.contains("20 with status 400"))
    );
    assert_eq!(oha.summary.all.service.as_ref().unwrap().count, 990);
}

#[test]
fn fortio_knows_its_codes() {
    let (count, errors, times) = figures(&page("fortio.json"));
    assert_eq!((count, errors), (100, Some(6)));
    assert_eq!(times, [Some(2478), Some(2913), Some(3172), Some(3345)]);
}

#[test]
fn jmeters_samples_are_counted_once() {
    let csv = page("jmeter.csv").summary;
    assert_eq!((csv.all.count, csv.all.errors), (4, 3));
    assert!(csv.run.elapsed_ns.abs_diff(12_721_000_000) < 1000);
    assert!(
        csv.notes
            .iter()
            .any(|note| note.contains("transactions, which are not counted"))
    );
    let xml = page("jmeter.xml");
    let labels: Vec<(&str, u64)> = xml
        .summary
        .labels
        .iter()
        .map(|row| (row.text.as_str(), row.count))
        .collect();
    assert_eq!(labels, [("Buy & pay", 1), ("Home", 2)]);
    assert_eq!(xml.summary.requests.unanswered, 2);
    assert_eq!(xml.series.points.issued, [2, 1]);
}

#[test]
fn truncated_jmeter_xml_is_read_to_its_end() {
    let text = FILES[7].1;
    let cut = text.find("<sample").unwrap() + 20;
    assert_eq!(page_of(&text[..cut]).summary.all.count, 1);
}

#[test]
fn a_log_of_histograms_has_a_row_for_each_tag() {
    let log = page("tagged.hlog").summary;
    let labels: Vec<&str> = log.labels.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(
        labels,
        [
            "2.response.failed",
            "2.response.ok",
            "2.service.failed",
            "2.service.ok"
        ]
    );
    assert!(!log.all.reports("errors"));
    assert!(
        log.notes
            .iter()
            .any(|note| note.contains("combines all tags of the log"))
    );
    assert_eq!(
        log.all.count,
        log.labels.iter().map(|row| row.count).sum::<u64>()
    );
}

fn jmeter(text: &str) -> (f64, Vec<String>, Vec<String>) {
    let import = import::read(text).unwrap();
    assert_eq!(check::audit(&import).contradictions, 0);
    let report = &import.reports[0];
    let rows = report.rows.iter().map(|row| row.name.clone()).collect();
    let requests = report.all.requests.as_ref().unwrap().value;
    (requests, rows, report.remarks.clone())
}

#[test]
fn one_sample_of_jmeter_does_not_contradict_itself() {
    for (moment, took) in [
        ("1700000000123", 1120),
        ("1699999999999", 7),
        ("1712345678901", 333),
    ] {
        let text = format!(
            "timeStamp,elapsed,label,responseCode,responseMessage,success\n{moment},{took},home,200,OK,true\n"
        );
        assert_eq!(jmeter(&text).0, 1.0);
    }
}

#[test]
fn samples_in_a_transaction_are_counted_and_the_transaction_is_not() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testResults version="1.2">
<sample t="300" ts="1700000000000" s="true" lb="Order" rc="200" rm="Number of samples in transaction : 2, number of failing samples : 0">
  <httpSample t="100" ts="1700000000000" s="true" lb="GET /cart" rc="200" rm="OK"/>
  <httpSample t="200" ts="1700000000100" s="true" lb="POST /order" rc="200" rm="OK">
    <httpSample t="50" ts="1700000000100" s="true" lb="POST /order-0" rc="302" rm="Found"/>
  </httpSample>
</sample>
<httpSample t="50" ts="1700000000400" s="true" lb="GET /thanks" rc="200" rm="OK"/>
</testResults>
"#;
    let (requests, rows, remarks) = jmeter(text);
    assert_eq!(requests, 3.0);
    assert_eq!(rows, ["GET /cart", "GET /thanks", "POST /order"]);
    assert_eq!(
        remarks,
        ["transactions, which are not counted because their samples are counted: 1"]
    );
}

#[test]
fn parts_of_a_redirected_sample_are_counted_with_it() {
    let text = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success
1700000000000,300,login,200,OK,g 1-1,true
1700000000000,100,login-0,302,Found,g 1-1,true
1700000000100,200,login-1,200,OK,g 1-1,true
1700000000000,100,login-0,200,OK,g 1-2,true
1700000000900,100,page-2,200,OK,g 1-1,true
";
    let (requests, rows, remarks) = jmeter(text);
    assert_eq!(requests, 3.0);
    assert_eq!(rows, ["login", "login-0", "page-2"]);
    assert_eq!(
        remarks,
        ["parts of samples (redirects), which are counted as part of their sample: 2"]
    );
}

#[test]
fn results_of_jmeter_in_another_layout_are_named() {
    let refused = |text: &str| import::read(text).unwrap_err().to_string();
    assert!(
        refused("timeStamp\telapsed\tlabel\n1\t2\tx\n")
            .starts_with("these are JMeter results separated by tabs: write them with jmeter.save")
    );
    assert!(refused("timeStamp;elapsed;label\n1;2;x\n").starts_with(
        "these are JMeter results separated by semicolons: write them with jmeter.save"
    ));
    assert!(
        refused("1700000000123,1120,home,200,OK,g 1-1,text,true,,5,1,1,1\n")
            .starts_with("these JMeter results have no header line")
    );
}

#[test]
fn the_error_of_an_estimate_is_a_share_of_the_true_value() {
    let estimate = import::Range::exactly(1.0).of_estimates(0.01, 0.0);
    assert!((estimate.low - 1.0 / 1.01).abs() < 1e-12);
    assert!((estimate.high - 1.0 / 0.99).abs() < 1e-12);
}
