use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn read(pairs: &str) -> Result<TruthConfig, String> {
    let extra = pairs.split_whitespace().map(|pair| {
        let (option, value) = pair.split_once('=').unwrap();
        (option.to_owned(), value.to_owned())
    });
    let options = LabOptions {
        extra: extra.collect(),
        ..LabOptions::default()
    };
    TruthConfig::read(&options).map_err(|error| error.to_string())
}

#[test]
fn defaults_are_applied() {
    let settings = read("").unwrap();
    assert_eq!(settings.mode, Mode::Constant { service: 0 });
    assert_eq!((settings.body, settings.error_code), (12, 503));
    let rhythm = Rhythm {
        stall: 1000 * MS,
        every: 10_000 * MS,
        first: 4500 * MS,
    };
    let stall = Mode::Stall {
        rhythm,
        gap: 0,
        service: MS,
    };
    assert_eq!(read("mode=stall").unwrap().mode, stall);
    let exponential = Mode::Exponential {
        mean: MS,
        servers: 1,
    };
    assert_eq!(read("mode=exponential").unwrap().mode, exponential);
    for (mode, _) in MODES {
        assert_eq!(
            read(&format!("mode={mode}")).is_ok(),
            *mode != "table",
            "{mode}"
        );
    }
}

#[test]
fn options_are_applied() {
    let rhythm = Rhythm {
        stall: 300 * MS,
        every: 2000 * MS,
        first: 0,
    };
    let stall = Mode::Stall {
        rhythm,
        gap: MS / 2,
        service: 2 * MS,
    };
    let given = "mode=stall stall=300ms every=2s first=0s drain=2000/s service=2ms body=0";
    let settings = read(given).unwrap();
    assert_eq!((settings.mode, settings.body), (stall, 0));
    let settings = read("mode=error share=100% code=429 service=3ms").unwrap();
    let error = Mode::Error {
        share: 1.0,
        service: 3 * MS,
    };
    assert_eq!((settings.mode, settings.error_code), (error, 429));
    let reset = Mode::Reset {
        share: 0.5,
        when: When::Half,
        service: 0,
    };
    assert_eq!(read("mode=reset share=50% when=half").unwrap().mode, reset);
    let last = read("mode=slow mode=constant service=1ms service=2ms").unwrap();
    assert_eq!(last.mode, Mode::Constant { service: 2 * MS });
}

#[test]
fn errors_name_option_value_and_advice() {
    for (pairs, line) in [
        (
            "mode=stal",
            "mode=stal: the modes are constant, table, exponential, stall, slow, never, reset, error",
        ),
        (
            "servers=2",
            "servers=2: mode=constant takes service, mode, body",
        ),
        (
            "service=1",
            "service=1: use a duration with its unit (ns us ms s m h d), for example 10ms",
        ),
        (
            "service=-1ms",
            "service=-1ms: use a duration with its unit (ns us ms s m h d), for example 10ms",
        ),
        ("service=2d", "service=2d: it must be at most 1d"),
        (
            "body=1kB",
            "body=1kB: use a whole number from 0 to 16777216",
        ),
        (
            "mode=stall stall=10s",
            "stall=10s: it must be shorter than every=10s",
        ),
        (
            "mode=stall stall=2s every=1s",
            "stall=2s: it must be shorter than every=1s",
        ),
        (
            "mode=stall every=1s",
            "every=1s: it must be longer than stall=1s",
        ),
        ("mode=stall stall=0s", "stall=0s: it must be longer than 0"),
        (
            "mode=stall service=9.5s",
            "service=9.5s: it must fit between two stalls (stall=1s every=10s)",
        ),
        (
            "mode=stall drain=0/s",
            "drain=0/s: it must be between 1 per day and 1000000000/s",
        ),
        (
            "mode=slow share=101%",
            "share=101%: it must be at most 100%",
        ),
        (
            "mode=never share=0.1",
            "share=0.1: use a share from 0% to 100%, for example 10%",
        ),
        (
            "mode=exponential servers=0",
            "servers=0: use a whole number from 1 to 100000",
        ),
        (
            "mode=exponential mean=0s",
            "mean=0s: it must be longer than 0",
        ),
        (
            "mode=error code=200",
            "code=200: use a whole number from 400 to 599",
        ),
        ("mode=reset when=after", "when=after: use before or half"),
        (
            "mode=table table=1ms:0",
            "table=1ms:0: at least one weight must be above 0",
        ),
    ] {
        let (pair, advice) = line.split_once(": ").unwrap();
        assert_eq!(
            read(pairs).unwrap_err(),
            format!("lab truth: {pair} is not valid: {advice}")
        );
    }
    let missing = read("mode=table").unwrap_err();
    assert!(
        missing.ends_with("pairs of duration and weight, for example 1ms:90,10ms:10"),
        "{missing}"
    );
}

proptest! {
    #[test]
    fn any_options_are_handled(
        pairs in proptest::collection::vec((0..OPTIONS.len(), "[a-z0-9%/:.]{0,8}"), 0..5),
        mode in 0..MODES.len(),
    ) {
        let mut extra = vec![("mode".to_owned(), MODES[mode].0.to_owned())];
        extra.extend(pairs.into_iter().map(|(at, value)| (OPTIONS[at].to_owned(), value)));
        let options = LabOptions { extra, ..LabOptions::default() };
        if let Err(error) = TruthConfig::read(&options) {
            prop_assert!(error.is_bad_input());
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn stall_requires_room_for_a_service(
        stall in 0_u64..100, every in 0_u64..100, service in 0_u64..100,
    ) {
        let given = format!("mode=stall stall={stall}ms every={every}ms service={service}ms");
        let fits = stall > 0 && every > stall && stall + service <= every;
        prop_assert_eq!(read(&given).is_ok(), fits, "{}", given);
    }
}
