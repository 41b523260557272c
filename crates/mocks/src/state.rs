//! State of a mock: determines the route, response, due time and faults of each request. Does not
//! depend on sockets or clocks.

use std::collections::HashMap;

use bytes::Bytes;
use plan::{
    Template,
    mocks::{FaultKind, LatencySampler, Mock, MockBody, MockRoute, stratum},
    rng::{Purpose, Rng},
};
use serde_json::{Map, Value, json};

use crate::ledger::MockLedger;

const MOST: usize = 1_000_000;

pub(crate) struct MockRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) body: &'a [u8],
}

pub(crate) struct Fate {
    pub(crate) route: Option<usize>,
    pub(crate) due_ns: u64,
    pub(crate) what: What,
}

pub(crate) enum What {
    Answer(MockResponse),
    Reset,
    Silence,
}

pub(crate) struct MockResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

pub(crate) struct MockState {
    mock: Mock,
    seed: u64,
    samplers: Vec<LatencySampler>,
    /// Start of the timeline. `None` until the first request.
    zero_ns: Option<u64>,
    came: u64,
    memory: HashMap<String, Value>,
    pub(crate) ledger: MockLedger,
}

impl MockState {
    pub(crate) fn new(mock: Mock, seed: u64) -> Self {
        let mut state = Self {
            samplers: Vec::new(),
            zero_ns: None,
            came: 0,
            memory: HashMap::new(),
            ledger: MockLedger::default(),
            mock,
            seed,
        };
        state.restart();
        state
    }

    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.restart();
        self.zero_ns = Some(now_ns);
    }

    fn restart(&mut self) {
        let sampler = |(number, route): (usize, &MockRoute)| {
            LatencySampler::new(route.latency.clone(), self.seed ^ (number as u64) << 40)
        };
        self.samplers = self.mock.routes.iter().enumerate().map(sampler).collect();
        self.ledger = MockLedger::new(self.mock.routes.len());
        self.came = 0;
    }

    pub(crate) fn to_json(&self) -> Value {
        let routes = self.mock.routes.iter().zip(&self.samplers);
        self.ledger.to_json(&self.mock.name, routes)
    }

    pub(crate) fn take(&mut self, request: &MockRequest<'_>, now_ns: u64) -> Fate {
        let zero_ns = *self.zero_ns.get_or_insert(now_ns);
        let at_ns = now_ns.saturating_sub(zero_ns);
        let n = self.came;
        self.came += 1;
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((request.target, ""));
        let pieces: Vec<String> = path
            .trim_start_matches('/')
            .split('/')
            .map(|piece| decoded(piece, false))
            .collect();
        let found = self.mock.routes.iter().enumerate();
        let found = found
            .filter_map(|(number, route)| Some((number, route.fits(request.method, &pieces)?)))
            .next();
        let Some((number, variables)) = found else {
            self.ledger.received(None);
            return Fate {
                route: None,
                due_ns: now_ns,
                what: What::Answer(self.no_route(request.method, path)),
            };
        };
        self.ledger.received(Some(number));
        // The random number for a fault depends on the fault's position in the list, but not on
        // other faults.
        let faults = || {
            let all = self.mock.faults.iter().enumerate();
            all.filter(|(_, fault)| fault.holds(at_ns))
        };
        let times = faults().fold(1.0, |times, (_, fault)| match fault.kind {
            FaultKind::Latency(more) => times * more,
            _ => times,
        });
        let wrong = faults().find_map(|(which, fault)| {
            let key = self.seed ^ 0x6661_756c_7400 ^ which as u64;
            let is_hit = |share: f64| stratum(key, n) < share;
            match fault.kind {
                FaultKind::Silence => Some(What::Silence),
                FaultKind::Resets(share) if is_hit(share) => Some(What::Reset),
                FaultKind::Errors(share, status) if is_hit(share) => Some(What::Answer(
                    text_response(status, "an injected fault of the mock"),
                )),
                _ => None,
            }
        });
        let due_ns = now_ns.saturating_add(self.samplers[number].next(at_ns, times));
        let what = match wrong {
            Some(wrong) => wrong,
            None => What::Answer(self.answer(number, variables, query, request.body, n)),
        };
        Fate {
            route: Some(number),
            due_ns,
            what,
        }
    }

    fn no_route(&self, method: &str, path: &str) -> MockResponse {
        let known: Vec<String> = self.mock.routes.iter().map(MockRoute::name).collect();
        let text = json!({
            "error": format!("the mock {} has no route {method} {path}", self.mock.name),
            "routes": known,
        });
        json_answer(404, &text)
    }

    fn answer(
        &mut self,
        number: usize,
        variables: Vec<(String, Value)>,
        query: &str,
        body: &[u8],
        n: u64,
    ) -> MockResponse {
        let route = &self.mock.routes[number];
        let mut rng = Rng::keyed(self.seed, Purpose::User, number as u64, n);
        let mut scope: Map<String, Value> = variables.into_iter().collect();
        let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        scope.insert("query".into(), of_query(query).into());
        scope.insert("$uuid".into(), uuid(&mut rng.fork(1)).into());
        scope.insert("body".into(), body);
        let mut key = |template: &Option<Template>, scope: &Map<String, Value>| {
            template.as_ref().map(|key| key.to_text(scope, &mut rng))
        };
        if let Some(key) = key(&route.recall, &scope) {
            let Some(remembered) = self.memory.get(&key) else {
                return text_response(404, "no body is stored under this key");
            };
            scope.insert("remembered".into(), remembered.clone());
        }
        if let Some(key) = key(&route.remember, &scope) {
            if self.memory.len() >= MOST && !self.memory.contains_key(&key) {
                return text_response(507, "the mock already stores bodies under a million keys");
            }
            let value = scope.get("body").cloned().unwrap_or_default();
            self.memory.insert(key, value);
        }
        if let Some(key) = key(&route.forget, &scope) {
            self.memory.remove(&key);
        }
        let mut headers: Vec<(String, String)> = route
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.to_text(&scope, &mut rng)))
            .collect();
        let mut text = String::new();
        let kind = match &route.body {
            MockBody::Empty => None,
            MockBody::Text(template) => {
                text = template.to_text(&scope, &mut rng);
                Some("text/plain; charset=utf-8")
            }
            MockBody::Json(template) => {
                if template.write_json(&scope, &mut rng, &mut text).is_err() {
                    text.push_str("null");
                }
                Some("application/json")
            }
        };
        let is_named = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
        if let Some(kind) = kind.filter(|_| !headers.iter().any(is_named)) {
            headers.push(("content-type".into(), kind.into()));
        }
        MockResponse {
            status: route.status,
            headers,
            body: text.into(),
        }
    }
}

fn json_answer(status: u16, text: &Value) -> MockResponse {
    MockResponse {
        status,
        headers: vec![("content-type".into(), "application/json".into())],
        body: text.to_string().into(),
    }
}

pub(crate) fn text_response(status: u16, reason: &str) -> MockResponse {
    json_answer(status, &json!({ "error": reason }))
}

fn of_query(query: &str) -> Map<String, Value> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name, true), decoded(value, true).into())
        })
        .collect()
}

fn decoded(text: &str, is_query: bool) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = text
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match hex {
            Some(hex) => {
                out.push(hex);
                at += 2;
            }
            None if byte == b'+' && is_query => out.push(b' '),
            None => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn uuid(rng: &mut Rng) -> String {
    let bits = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use plan::mocks::{MockLatency, parse_fault};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn route(method: &str, path: &str, body: Value) -> MockRoute {
        MockRoute {
            method: method.into(),
            path: path.into(),
            pattern: MockRoute::pieces(path),
            status: 200,
            headers: Vec::new(),
            body: MockBody::Json(Template::parse(&body).unwrap()),
            latency: MockLatency::Constant(10),
            remember: None,
            recall: None,
            forget: None,
        }
    }

    fn state(routes: Vec<MockRoute>, faults: &[&str]) -> MockState {
        let faults = faults.iter().map(|text| parse_fault(text).unwrap());
        let mock = Mock {
            name: "m".into(),
            port: 0,
            routes,
            faults: faults.collect(),
        };
        MockState::new(mock, 5)
    }

    fn ask(state: &mut MockState, method: &str, target: &str, body: &str, now_ns: u64) -> Fate {
        let request = MockRequest {
            method,
            target,
            body: body.as_bytes(),
        };
        state.take(&request, now_ns)
    }

    fn answer(fate: Fate) -> (u16, Value) {
        let What::Answer(answer) = fate.what else {
            panic!("it is answered");
        };
        let body = serde_json::from_slice(&answer.body).unwrap();
        (answer.status, body)
    }

    #[test]
    fn responses_use_the_request() {
        let body = json!({ "id": "{{ id }}", "q": "{{ query.q }}", "name": "{{ body.user.name }}", "n": "{{ body.n }}" });
        let mut state = state(vec![route("POST", "/data/{id}", body)], &[]);
        let sent = r#"{"user":{"name":"Ann"},"n":7}"#;
        let fate = ask(&mut state, "POST", "/data/a%20b?q=x+y&q=z", sent, 100);
        assert_eq!(fate.due_ns, 110);
        let wanted = json!({ "id": "a b", "q": "z", "name": "Ann", "n": 7 });
        assert_eq!(answer(fate), (200, wanted));
        let (status, reported) = answer(ask(&mut state, "GET", "/data/1", "", 100));
        assert_eq!(
            (status, &reported["routes"]),
            (404, &json!(["POST /data/{id}"]))
        );
    }

    #[test]
    fn stored_body_is_returned_until_deleted() {
        let key = |text: &str| Some(Template::parse(&json!(text)).unwrap());
        let make = MockRoute {
            remember: key("{{ body.id }}"),
            ..route("POST", "/things", json!({ "made": "{{ body.id }}" }))
        };
        let read = MockRoute {
            recall: key("{{ id }}"),
            ..route("GET", "/things/{id}", json!("{{ remembered }}"))
        };
        let end = MockRoute {
            recall: key("{{ id }}"),
            forget: key("{{ id }}"),
            ..route("DELETE", "/things/{id}", json!({}))
        };
        let mut state = state(vec![make, read, end], &[]);
        let mut ask = |method, target, body| answer(ask(&mut state, method, target, body, 0));
        assert_eq!(ask("GET", "/things/7", "").0, 404);
        let thing = r#"{"id":"7","size":3}"#;
        assert_eq!(ask("POST", "/things", thing).1["made"], "7");
        assert_eq!(
            ask("GET", "/things/7", "").1,
            json!({ "id": "7", "size": 3 })
        );
        assert_eq!(ask("DELETE", "/things/7", "").0, 200);
        assert_eq!(ask("GET", "/things/7", "").0, 404);
    }

    const ZERO: u64 = 1_000 * SECOND;

    fn fates(state: &mut MockState, second: u64) -> Vec<Fate> {
        let at = ZERO + second * SECOND;
        let asked = (0..1024).map(|_| ask(state, "GET", "/", "", at));
        asked.collect()
    }

    fn waits(fates: &[Fate], second: u64) -> u64 {
        fates[0].due_ns - ZERO - second * SECOND
    }

    /// Latency factors are multiplied. Of other faults, only the first one that applies is used.
    /// Each fault has its own random number.
    #[test]
    fn overlapping_faults_have_an_order() {
        let faults = [
            "at 10s for 10s: latency x5",
            "at 15s for 10s: latency x3",
            "at 30s for 10s: errors 25% 500",
            "at 35s for 10s: errors 50% 502",
            "at 35s for 20s: resets 20%",
            "at 50s for 10s: silence",
        ];
        let mut state = state(vec![route("GET", "/", json!({}))], &faults);
        state.begin(ZERO);
        let mut row = |second| fates(&mut state, second);
        for (second, wait) in [(12, 50), (17, 150), (22, 30), (26, 10)] {
            assert_eq!(waits(&row(second), second), wait, "{second}");
        }
        let shares = |fates: Vec<Fate>| -> [usize; 4] {
            let mut count = [0; 4];
            for fate in fates {
                count[match fate.what {
                    What::Answer(answer) if answer.status == 500 => 0,
                    What::Answer(answer) if answer.status == 502 => 1,
                    What::Reset => 2,
                    What::Silence => 3,
                    What::Answer(_) => continue,
                }] += 1;
            }
            count
        };
        assert_eq!(shares(row(32)), [256, 0, 0, 0]);
        let [first, second, resets, silent] = shares(row(37));
        assert_eq!((first, silent), (256, 0));
        assert!((330..=440).contains(&second), "{second}");
        assert!((40..=115).contains(&resets), "{resets}");
        let [_, _, resets, silent] = shares(row(52));
        assert!((204..=205).contains(&resets), "{resets}");
        assert_eq!(resets + silent, 1024);
    }

    #[test]
    fn faults_are_active_in_their_period() {
        let routes = vec![route("GET", "/", json!({}))];
        let faults = [
            "at 10s for 5s: latency x5",
            "at 20s for 5s: errors 20% 500",
            "at 30s for 5s: resets 5%",
            "at 40s for 5s: silence",
        ];
        let mut state = state(routes, &faults);
        state.begin(ZERO);
        let mut row = |second| fates(&mut state, second);
        assert_eq!(waits(&row(9), 9), 10);
        assert_eq!(waits(&row(10), 10), 50);
        assert_eq!(waits(&row(15), 15), 10);
        let count = |fates: Vec<Fate>, is: fn(&What) -> bool| {
            fates.iter().filter(|fate| is(&fate.what)).count()
        };
        let failed = count(
            row(20),
            |what| matches!(what, What::Answer(answer) if answer.status == 500),
        );
        assert!((204..=205).contains(&failed), "{failed}");
        let reset = count(row(31), |what| matches!(what, What::Reset));
        assert!((51..=52).contains(&reset), "{reset}");
        assert_eq!(count(row(44), |what| matches!(what, What::Silence)), 1024);
        assert_eq!(count(row(45), |what| matches!(what, What::Silence)), 0);
        let reported = state.to_json();
        assert_eq!(reported["received"], 7 * 1024);
        state.begin(ZERO);
        assert_eq!(state.to_json()["received"], 0);
    }
}
