use std::{fs::OpenOptions, io::Write as _, path::Path};

use analysis::{series, verdict::Judgement};
use record::{
    HostSample, Manifest, Run, RunLocation, RunState, Writer,
    redact::Redactor,
    server::{Descriptor, MetricReading, SourceReading},
};

use crate::support::{Folder, SECOND, end, intervals, labels, plan, started};

/// Returns a busy second, a gap and an idle second. Disk reads are constant.
fn looks() -> Vec<SourceReading> {
    let look = |tenths: u64, cpu: f64| SourceReading {
        at_ns: tenths * SECOND / 10,
        source: "host".into(),
        readings: Ok(vec![
            MetricReading {
                of: Descriptor::gauge("cpu", "%"),
                value: cpu,
            },
            MetricReading {
                of: Descriptor::counter("read", "B").with_instance("sda"),
                value: tenths as f64 * 100.0,
            },
            MetricReading {
                of: Descriptor::gauge("queue", "").with_instance("a"),
                value: 3.0,
            },
            MetricReading {
                of: Descriptor::gauge("queue", "").with_instance("b"),
                value: 8.0,
            },
        ]),
    };
    let gap = SourceReading {
        at_ns: 2 * SECOND,
        source: "host".into(),
        readings: Err("token=s3cr3t-value cannot be read".into()),
    };
    vec![look(0, f64::NAN), look(10, 90.0), gap, look(30, 20.0)]
}

fn run(folder: &Path, criteria: &[&str]) -> Run {
    let plan = plan(criteria);
    let manifest = Manifest::new(&plan, started());
    let place = RunLocation::new(Some(folder.to_owned()), 1);
    let redactor = Redactor::default();
    let mut writer = Writer::create(&place, &manifest, &plan, labels().all(), redactor).unwrap();
    assert!(writer.server(&looks()).is_none());
    for interval in intervals() {
        assert!(writer.interval(&interval, &HostSample::default()).is_none());
    }
    let (written, warning) = writer.finish(RunState::Complete, end());
    assert!(warning.is_none());
    let dir = written.dir.clone().unwrap();
    let file = OpenOptions::new()
        .append(true)
        .open(dir.join("server.jsonl"));
    file.unwrap().write_all(b"{\"t\":4000").unwrap();
    let read = Run::open(&dir).unwrap();
    assert_eq!(read.server.series.len(), written.server.series.len());
    assert!(read.damage.is_empty(), "{:?}", read.damage);
    let text = std::fs::read_to_string(dir.join("server.jsonl")).unwrap();
    assert!(
        text.contains("gap") && !text.contains("s3cr3t-value"),
        "{text}"
    );
    read
}

#[test]
fn criteria_are_judged_by_the_time_for_which_something_is_known() {
    let folder = Folder::new();
    let criteria = [
        "server.host.cpu < 60%",
        "server.host.cpu max < 80%",
        "server.host.cpu in \"peak\" < 25%",
        "server.host.read of \"sd*\" >= 1000/s",
        "server.host.disk < 1",
        "server.host.queue < 5",
        "server.host.queue of \"a\" < 5",
        "server.host.queue > 2",
    ];
    let run = run(&folder.0, &criteria);
    let summary = analysis::summarise(&run);
    let reported: Vec<_> = summary
        .criteria
        .iter()
        .map(|judged| (judged.judgement, judged.measured.as_deref()))
        .collect();
    use Judgement::{Fail, Inconclusive, Pass};
    assert_eq!(
        reported,
        [
            (Pass, Some("55 %")),
            (Fail, Some("90 %")),
            (Pass, Some("20 %")),
            (Pass, Some("1.00 kB/s")),
            (Inconclusive, None),
            (Fail, Some("8 of \"b\"")),
            (Pass, Some("3")),
            (Pass, Some("3 of \"a\"")),
        ]
    );
    let panels = series::build(&run, &summary).server;
    let (cpu, read) = (
        &panels[0],
        panels
            .iter()
            .find(|panel| panel.name == "host.read")
            .unwrap(),
    );
    assert_eq!((cpu.name.as_str(), cpu.unit.as_str()), ("host.cpu", "%"));
    assert_eq!(
        (cpu.limit, read.name.as_str(), read.instance.as_deref()),
        (Some(60.0), "host.read", Some("sda"))
    );
    assert_eq!(&cpu.values[..3], [Some(90.0), None, Some(20.0)]);
    assert_eq!(&read.values[..3], [Some(1000.0), None, None]);
}

#[test]
fn unjudgeable_criteria_are_refused_before_the_run() {
    let mut server = record::server::ServerMetrics::default();
    server.declare("host", Descriptor::gauge("cpu", "%"));
    for name in ["lo", "others"] {
        server.declare(
            "host",
            Descriptor::counter("network-in", "B").with_instance(name),
        );
    }
    for (criterion, message) in [
        ("server.host.cpu < 80%", None),
        ("server.host.cpu in \"peak\" < 80%", None),
        ("server.host.network-in of \"lo\" < 1000/s", None),
        ("server.host.cpu < 80", Some("is a share")),
        (
            "server.cpu < 80%",
            Some("there is no server.cpu (there are server.host.cpu, "),
        ),
        (
            "server.host.cpu of \"0\" < 80%",
            Some("server.host.cpu has no \"0\" (there is only one instance: remove `of`)"),
        ),
        (
            "server.host.network-in of \"eth9\" < 10/s",
            Some("server.host.network-in has no \"eth9\" (there are \"lo\", \"others\")"),
        ),
        ("server.host.network-in < 10/s", None),
        ("server.host.network-in < 10%", Some("is a rate per second")),
        (
            "server.host.cpu in \"cold\" < 80%",
            Some("there is no phase \"cold\""),
        ),
    ] {
        let manifest = Manifest::new(&plan(&[criterion]), started());
        let asked = plan::criteria::parse_criterion(criterion).expect("a criterion");
        let labels = labels();
        let refused =
            analysis::verdict::without_subject(&manifest, Some(labels.all()), &server, &asked);
        match (refused, message) {
            (None, None) => {}
            (Some(refused), Some(message)) => assert!(refused.contains(message), "{refused}"),
            other => panic!("{criterion}: {other:?}"),
        }
    }
}

#[test]
fn busy_machine_of_the_generator_is_a_conclusion() {
    let concluded = |values: &[f64]| {
        let plan = plan(&[]);
        let manifest = Manifest::new(&plan, started());
        let mut writer = Writer::in_memory(&manifest, labels().all(), Redactor::default());
        let looks = values
            .iter()
            .enumerate()
            .map(|(second, cpu)| SourceReading {
                at_ns: second as u64 * SECOND,
                source: "host".into(),
                readings: Ok(vec![MetricReading {
                    of: Descriptor::gauge("cpu", "%"),
                    value: *cpu,
                }]),
            });
        assert!(writer.server(&looks.collect::<Vec<_>>()).is_none());
        for interval in intervals() {
            assert!(writer.interval(&interval, &HostSample::default()).is_none());
        }
        let summary = analysis::summarise(&writer.finish(RunState::Complete, end()).0);
        let found = summary.conclusions.into_iter();
        let mut found = found.filter(|one| one.kind == "machine");
        found.next().map(|one| one.text)
    };
    let text = concluded(&[20.0, 20.0, 97.0, 100.0, 99.0, 98.0, 100.0, 30.0]).unwrap();
    assert!(
        text.starts_with(
            "The CPU of the load generator's machine was fully used for 4 s, first at 2 s."
        ),
        "{text}"
    );
    assert_eq!(concluded(&[97.0, 100.0, 99.0, 98.0, 30.0, 100.0]), None);
}
