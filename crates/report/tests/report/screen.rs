use measure::Interval;
use plan::Plan;
use record::{
    HostSample, Manifest, Run, Writer,
    redact::{Redactor, Salt},
};
use report::console::{ScreenModel, plain, screen};

use crate::support::{intervals, labels, plan, started};

fn run_until(plan: &Plan, index: u64) -> (Run, Interval) {
    let manifest = Manifest::new(plan, started());
    let mut writer = Writer::in_memory(
        &manifest,
        labels().all(),
        Redactor::new(plan, &[], Salt::default()),
    );
    for interval in intervals() {
        writer.interval(&interval, &HostSample::default());
        if interval.index == index {
            return (writer.run().clone(), interval);
        }
    }
    panic!("no such interval");
}

fn render(model: &ScreenModel, width: usize) -> String {
    let lines: Vec<String> = screen(model, width).iter().map(plain).collect();
    format!("\n{}\n", lines.join("\n"))
}

#[test]
fn before_the_start_it_shows_the_plan() {
    let plan = plan(&["p95 < 1s"]);
    let run = Run::planned(Manifest::new(&plan, started()), Vec::new());
    let text = "
shop.yml → http://shop.example.test:8080 · open, 10/s evenly spaced for 2 s, th…
0 s of 3 s          ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
Arrivals   40 planned · 0 due · 0 started · 0 users running
Requests   0 sent · 0 in flight · 0/s
Response   now  p50 –           p95 –           p99 –           max –
           run  p50 –           p95 –           p99 –           max –
Errors     0
Generator  too early
";
    assert_eq!(render(&ScreenModel::new(&run, None), 80), text);
}

#[test]
fn in_eighty_columns() {
    let (run, interval) = run_until(&plan(&["errors < 1%", "p50 < 10s"]), 3);
    let text = "
shop.yml → http://shop.example.test:8080 · open, 10/s evenly spaced for 2 s, th…
3 s of 3 s          █████████████████████████████████████████░░░░  peak (2 of 2)
Arrivals   40 planned · 34 due · 34 started · 0 users running
Requests   68 sent · 1 in flight · 40.0/s  ▅▅█
Response   now  p50 1.38 ms     p95 2.05 ms     p99 ≥ 100 ms    max ≥ 100 ms
           run  p50 1.38 ms     p95 2.05 ms?    p99 ≥ 100 ms?   max ≥ 100 ms
Errors     4 (5.88 %): 2 × no answer in time · 2 × status 500
Label                                  requests    now /s    errors         p95
GET /cart                                    34      20.0         0    1.37 ms?
POST /order                                  34      20.0         4   ≥ 100 ms?
Generator  too early
Criteria   FAIL errors < 1%, 5.88 % (4 of 68) · PASS p50 < 10s, 1.38 ms
";
    assert_eq!(render(&ScreenModel::new(&run, Some(&interval)), 80), text);
}

#[test]
fn in_a_hundred_and_twenty_columns() {
    let (run, interval) = run_until(&plan(&[]), 3);
    let text = "
shop.yml → http://shop.example.test:8080 · open, 10/s evenly spaced for 2 s, then 20/s evenly spaced for 1 s
3 s of 3 s          █████████████████████████████████████████████████████████████████████████████░░░░░░░░  peak (2 of 2)
Arrivals   40 planned · 34 due · 34 started · 0 users running
Requests   68 sent · 1 in flight · 40.0/s  ▅▅█
Response   now  p50 1.38 ms     p95 2.05 ms     p99 ≥ 100 ms    max ≥ 100 ms
           run  p50 1.38 ms     p95 2.05 ms?    p99 ≥ 100 ms?   max ≥ 100 ms
Errors     4 (5.88 %): 2 × no answer in time · 2 × status 500
Label                                                                          requests    now /s    errors         p95
GET /cart                                                                            34      20.0         0    1.37 ms?
POST /order                                                                          34      20.0         4   ≥ 100 ms?
Generator  too early
";
    assert_eq!(render(&ScreenModel::new(&run, Some(&interval)), 120), text);
    assert_eq!(render(&ScreenModel::new(&run, Some(&interval)), 300), text);
}
