use formats::native::translate_text;
use plan::{
    Plan,
    mqtt::{Payload, Version},
    units::{MILLISECOND, SECOND},
};
use proptest::prelude::*;

use crate::support::lines;

fn plan(text: &str) -> Plan {
    translate_text("plan.yml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn with(text: &str) -> String {
    format!("loadline: 1\ntarget: http://x\n{text}\nsteps: [ {{ get: / }} ]\n")
}

#[test]
fn mqtt_clients_run_alongside_scenarios() {
    let text = with(
        "load: { rate: 1/s, duration: 10s }
mqtt:
  host: mqtts://broker.test
  version: 3.1.1
  user: u%i
  password: hush
  connect-rate: 50/s
  subscribe: { clients: 2, topic: [a/+, $share/g/b], qos: 1 }
  publish:
    - { clients: 3, topic: 'a/%i', rate: 30/s, payload: 64, in-flight: 5, retain: true }
    - { clients: 1, topic: b, qos: 2, payload: on, client-id: me, load: [ { pause: 2s }, { from: 1/s, to: 3/s, steps: 2, duration: 4s } ] }
criteria: [ errors < 1%, p99 of \"DELIVERY\" < 1s ]",
    );
    let plan = plan(&text);
    let background = plan.background.as_ref().expect("clients");
    let mqtt = &background.mqtt;
    assert_eq!(mqtt.target(), "mqtts://broker.test:8883");
    assert_eq!(
        (mqtt.version, mqtt.connect_every_ns),
        (Version::V311, 20 * MILLISECOND)
    );
    // 6 clients at 50/s, plus one second.
    assert_eq!(
        (mqtt.clients(), mqtt.ready_ns()),
        (6, SECOND + 120 * MILLISECOND)
    );
    let filters: Vec<&str> = mqtt.groups[0]
        .subscribe
        .iter()
        .map(|s| s.filter.as_str())
        .collect();
    assert_eq!(filters, ["a/+", "$share/g/b"]);
    let first = mqtt.groups[1].publish.as_ref().expect("publishers");
    assert_eq!((first.qos, first.inflight, first.retain), (0, 5, true));
    assert_eq!(first.payload, Payload::Stamped(64));
    assert_eq!(mqtt.groups[2].client_id, "me");
    assert_eq!(mqtt.groups[2].publish.as_ref().map(|p| p.qos), Some(2));
    let planned = plan.background_loads().into_iter().map(|load| {
        let of = plan::background::Publications::new(&load?, 1, mqtt.ready_ns(), plan.end_ns());
        Some(of.planned())
    });
    // 30/s for 10 s, except for the first 1.12 s. Then 2 s at 1/s and 2 s at 3/s.
    assert_eq!(planned.collect::<Vec<_>>(), [None, Some(300 - 34), Some(8)]);
    assert_eq!(plan.problems(), []);
    assert!(plan.secrets.contains(&"hush".to_owned()));
    assert!(!serde_json::to_string(&plan).expect("JSON").contains("hush"));
    let notes: Vec<String> = plan
        .provenance
        .notes
        .iter()
        .map(|note| note.text.clone())
        .collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("`errors < 1%` would mix requests and MQTT"))
    );
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("a custom payload has no message header"))
    );
}

proptest! {
    #[test]
    fn broker_address_is_validated(place in "[a-z0-9:./\\[\\]@-]{0,24}") {
        let text = with(&format!(
            "load: {{ rate: 1/s, duration: 10s }}\nmqtt: {{ host: '{place}', subscribe: {{ clients: 1, topic: t }} }}"
        ));
        match translate_text("plan.yml", &text) {
            Ok(plan) => {
                let mqtt = &plan.background.as_ref().expect("clients").mqtt;
                prop_assert!(mqtt.host.starts_with("lab:") || (mqtt.port > 0 && !mqtt.host.is_empty()));
            }
            Err(errors) => {
                let reported = lines(&errors);
                prop_assert_eq!(reported.len(), 1, "{:?}", reported);
                prop_assert!(reported[0].starts_with("plan.yml:4:"), "{:?}", reported);
            }
        }
    }
}
