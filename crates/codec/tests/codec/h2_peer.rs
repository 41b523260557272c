//! HTTP/2 tests against an independent implementation, with pipes in memory.

use std::{cell::RefCell, rc::Rc};

use bytes::Bytes;
use codec::h2::{
    Body, Config, Connection, Event, Field, FieldNumbers, HeadSource, HeadTemplate, Indexing,
    Outcome, Request, TemplateField, ValueSource,
};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// One exchange: the client's request and the server's response.
#[derive(Debug, Clone)]
struct Exchange {
    path: String,
    fields: Vec<(String, String)>,
    body: Option<usize>,
    is_shared: bool,
    status: u16,
    answer_fields: Vec<(String, String)>,
    answer_body: usize,
    trailers: Vec<(String, String)>,
}

/// Settings of both sides, and the lengths of reads.
#[derive(Debug, Clone)]
struct Setup {
    window: u32,
    max_streams: u32,
    is_literal: bool,
    server_window: u32,
    server_streams: u32,
    server_frame: u32,
    pipe: usize,
    reads: Vec<usize>,
}

fn bytes_of(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + seed) as u8).collect()
}

fn decoded(fields: &http::HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
    let mut fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect();
    fields.sort();
    fields
}

fn sorted(fields: &[(String, String)]) -> Vec<(String, String)> {
    let mut fields = fields.to_vec();
    fields.sort();
    fields
}

fn add_all(map: &mut http::HeaderMap, fields: &[(String, String)]) {
    for (name, value) in fields {
        let name: http::HeaderName = name.parse().unwrap();
        map.append(name, value.parse().unwrap());
    }
}

/// Responds to the exchanges, and checks each request.
async fn serve(io: DuplexStream, setup: Setup, exchanges: Rc<Vec<Exchange>>) {
    let mut connection = h2::server::Builder::new()
        .initial_window_size(setup.server_window)
        .max_concurrent_streams(setup.server_streams)
        .max_frame_size(setup.server_frame)
        .handshake::<_, Bytes>(io)
        .await
        .expect("a handshake");
    while let Some(accepted) = connection.accept().await {
        let Ok((request, respond)) = accepted else {
            return;
        };
        let exchanges = Rc::clone(&exchanges);
        tokio::task::spawn_local(answer(request, respond, exchanges));
    }
}

async fn answer(
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
    exchanges: Rc<Vec<Exchange>>,
) {
    let (head, mut body) = request.into_parts();
    let path = head.uri.path_and_query().unwrap().as_str().to_owned();
    let number: usize = path.rsplit('/').next().unwrap().parse().unwrap();
    let exchange = &exchanges[number];
    assert_eq!(path, format!("{}/{number}", exchange.path));
    assert_eq!(head.uri.authority().unwrap().as_str(), "peer.test:81");
    let mut received = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.expect("data");
        received.extend_from_slice(&data);
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    assert_eq!(received, bytes_of(exchange.body.unwrap_or(0), number));
    let mut expected = exchange.fields.clone();
    expected.push(("x-constant".to_owned(), "one value".to_owned()));
    if let Some(length) = exchange.body {
        expected.push(("content-length".to_owned(), length.to_string()));
    }
    assert_eq!(decoded(&head.headers), sorted(&expected));
    let mut response = http::Response::builder()
        .status(exchange.status)
        .body(())
        .unwrap();
    add_all(response.headers_mut(), &exchange.answer_fields);
    let ends = exchange.answer_body == 0 && exchange.trailers.is_empty();
    let mut stream = respond.send_response(response, ends).unwrap();
    if ends {
        return;
    }
    let is_last = exchange.trailers.is_empty();
    let body = bytes_of(exchange.answer_body, number + 1).into();
    stream.send_data(body, is_last).unwrap();
    if !is_last {
        let mut trailers = http::HeaderMap::new();
        add_all(&mut trailers, &exchange.trailers);
        stream.send_trailers(trailers).unwrap();
    }
}

/// What the client received for one exchange.
#[derive(Debug, Default)]
struct Answer {
    status: u16,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
    trailers: Vec<(String, String)>,
    outcome: Option<Outcome>,
    is_started: bool,
}

struct Client {
    connection: Connection,
    get: HeadTemplate,
    post: HeadTemplate,
    exchanges: Rc<Vec<Exchange>>,
    answers: Vec<Answer>,
    /// Index of the exchange in each slot.
    slots: Vec<usize>,
    sent: usize,
}

impl Client {
    fn new(setup: &Setup, exchanges: Rc<Vec<Exchange>>) -> Client {
        let mut numbers = FieldNumbers::default();
        let mut head = |method: &'static [u8]| {
            let source = HeadSource {
                method: ValueSource::Constant(method),
                scheme: "http",
                authority: ValueSource::Constant(b"other.test"),
                path: ValueSource::Hole(0),
                fields: &[
                    TemplateField {
                        name: "X-Constant",
                        value: ValueSource::Constant(b"one value"),
                    },
                    TemplateField {
                        name: "Host",
                        value: ValueSource::Constant(b"peer.test:81"),
                    },
                ],
            };
            HeadTemplate::new(&mut numbers, &source).unwrap()
        };
        Client {
            get: head(b"GET"),
            post: head(b"POST"),
            connection: Connection::new(&Config {
                max_streams: setup.max_streams,
                window: setup.window,
                indexing: if setup.is_literal {
                    Indexing::Literal
                } else {
                    Indexing::Dynamic
                },
            }),
            answers: exchanges.iter().map(|_| Answer::default()).collect(),
            exchanges,
            slots: Vec::new(),
            sent: 0,
        }
    }

    fn send_all(&mut self) {
        let exchanges = Rc::clone(&self.exchanges);
        while self.connection.free_streams() > 0
            && let Some(exchange) = exchanges.get(self.sent)
        {
            let path = format!("{}/{}", exchange.path, self.sent);
            let field = |(name, value): &'_ (String, String)| (name.clone(), value.clone());
            let fields: Vec<(String, String)> = exchange.fields.iter().map(field).collect();
            let extra: Vec<Field<'_>> = fields
                .iter()
                .map(|(name, value)| Field {
                    name: name.as_bytes(),
                    value: value.as_bytes(),
                })
                .collect();
            let body = exchange.body.map(|length| bytes_of(length, self.sent));
            let shared: Option<Rc<[u8]>> = body.clone().map(Into::into);
            let request = Request {
                head: if body.is_some() {
                    &self.post
                } else {
                    &self.get
                },
                values: &|_| path.as_bytes(),
                extra: &extra,
                body: match (&body, &shared) {
                    (Some(_), Some(shared)) if exchange.is_shared => Body::Shared(shared),
                    (Some(body), _) => Body::Bytes(body),
                    _ => Body::None,
                },
            };
            let slot = self
                .connection
                .send(&request)
                .expect("a free stream")
                .slot();
            self.slots.resize(self.slots.len().max(slot + 1), 0);
            self.slots[slot] = self.sent;
            self.sent += 1;
        }
    }

    fn receive(&mut self, mut bytes: &[u8]) {
        while let Some(event) = self.connection.next_event(&mut bytes) {
            match event {
                Event::Head { stream, head } => {
                    let answer = &mut self.answers[self.slots[stream.slot()]];
                    (answer.status, answer.fields) = (head.status, sorted(&head.headers()));
                }
                Event::Data { stream, bytes, .. } => {
                    self.answers[self.slots[stream.slot()]]
                        .body
                        .extend_from_slice(bytes);
                }
                Event::Trailers { stream, trailers } => {
                    let trailers = sorted(&trailers.headers());
                    self.answers[self.slots[stream.slot()]].trailers = trailers;
                }
                Event::Ended { stream, outcome } => {
                    self.answers[self.slots[stream.slot()]].outcome = Some(outcome);
                }
                Event::Settings => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.answers.iter().all(|answer| answer.outcome.is_some())
    }

    /// Sends all requests and receives all responses. Each read has one of the given lengths.
    async fn run(&mut self, io: DuplexStream, reads: &[usize]) {
        let (mut reader, mut writer) = tokio::io::split(io);
        let mut lengths = reads.iter().cycle();
        let mut buffer = vec![0; 70_000];
        while !self.is_done() {
            self.send_all();
            // Write and read in turns, because the pipe may be full in both directions.
            let output = self.connection.output().to_vec();
            let length = *lengths.next().unwrap();
            tokio::select! {
                written = writer.write(&output), if !output.is_empty() => {
                    let (slots, answers) = (&self.slots, &mut self.answers);
                    self.connection.wrote(written.unwrap(), |stream| {
                        answers[slots[stream.slot()]].is_started = true;
                    });
                }
                read = reader.read(&mut buffer[..length]) => {
                    let read = read.unwrap();
                    assert!(read > 0, "the server closed the connection");
                    self.receive(&buffer[..read]);
                }
            }
        }
    }
}

fn exchange_all(setup: &Setup, exchanges: Vec<Exchange>) -> (Client, Rc<Vec<Exchange>>) {
    let exchanges = Rc::new(exchanges);
    let mut client = Client::new(setup, Rc::clone(&exchanges));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let failure = Rc::new(RefCell::new(None));
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let (ours, theirs) = tokio::io::duplex(setup.pipe);
        let server = tokio::task::spawn_local(serve(theirs, setup.clone(), Rc::clone(&exchanges)));
        client.run(ours, &setup.reads).await;
        server.abort();
        if let Err(error) = server.await
            && error.is_panic()
        {
            *failure.borrow_mut() = Some(error);
        }
    });
    assert!(failure.borrow().is_none(), "{failure:?}");
    (client, exchanges)
}

fn check(setup: &Setup, exchanges: Vec<Exchange>) {
    let (client, exchanges) = exchange_all(setup, exchanges);
    for (number, (exchange, answer)) in exchanges.iter().zip(&client.answers).enumerate() {
        assert_eq!(answer.outcome, Some(Outcome::Answered), "{exchange:?}");
        assert!(answer.is_started);
        assert_eq!(answer.status, exchange.status);
        assert_eq!(answer.fields, sorted(&exchange.answer_fields));
        assert_eq!(answer.body, bytes_of(exchange.answer_body, number + 1));
        assert_eq!(answer.trailers, sorted(&exchange.trailers));
    }
    assert_eq!(client.connection.requests(), exchanges.len() as u64);
    assert_eq!(client.connection.open_streams(), 0);
    assert_eq!(client.connection.blocked_uploads(), 0);
}

fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![
        "x-[a-z]{1,4}",
        Just("cookie".to_owned()),
        Just("accept".to_owned())
    ];
    let value = prop_oneof!["[a-c]{0,2}", "[!-~]{1,40}", "[!-~]{3000}"];
    proptest::collection::vec((name, value), 0..6)
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let length = || prop_oneof![0_usize..100, 0..200_000_usize];
    (
        "(/[a-z]{1,9}){1,3}",
        fields(),
        proptest::option::of(length()),
        any::<bool>(),
        prop_oneof![Just(200_u16), 200..=299_u16, 400..=599_u16],
        fields(),
        length(),
        proptest::option::of(fields()),
    )
        .prop_map(
            |(path, fields, body, is_shared, status, answer_fields, length, trailers)| Exchange {
                path,
                fields,
                body,
                is_shared,
                status,
                answer_fields,
                answer_body: if matches!(status, 204 | 205) {
                    0
                } else {
                    length
                },
                trailers: trailers.filter(|_| status != 204).unwrap_or_default(),
            },
        )
}

fn setup() -> impl Strategy<Value = Setup> {
    (
        65_535_u32..300_000,
        1_u32..20,
        any::<bool>(),
        1_u32..100_000,
        1_u32..20,
        16_384_u32..100_000,
        1_usize..100_000,
        proptest::collection::vec(prop_oneof![1_usize..20, 1..70_000_usize], 1..10),
    )
        .prop_map(
            |(
                window,
                max_streams,
                is_literal,
                server_window,
                server_streams,
                frame,
                pipe,
                reads,
            )| {
                Setup {
                    window,
                    max_streams,
                    is_literal,
                    server_window,
                    server_streams,
                    server_frame: frame,
                    pipe,
                    reads,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn peer_receives_requests_and_client_receives_responses(
        setup in setup(),
        exchanges in proptest::collection::vec(exchange(), 1..12),
    ) {
        check(&setup, exchanges);
    }
}

#[test]
fn single_bytes_give_the_same_result() {
    let setup = Setup {
        window: 65_535,
        max_streams: 3,
        is_literal: false,
        server_window: 700,
        server_streams: 2,
        server_frame: 16_384,
        pipe: 64,
        reads: vec![1],
    };
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let exchange = |body| Exchange {
        path: "/a".to_owned(),
        fields: pair("x-field", "value"),
        body,
        is_shared: false,
        status: 200,
        answer_fields: pair("server", "peer"),
        answer_body: 3_000,
        trailers: pair("grpc-status", "0"),
    };
    check(
        &setup,
        vec![
            exchange(None),
            exchange(Some(2_000)),
            exchange(Some(0)),
            exchange(None),
        ],
    );
}

/// How a faulty server treats each request, in order.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Answer,
    Reset(h2::Reason),
    /// Ends the connection gracefully after responding to the request.
    GoAway,
    /// Ends the connection with an error.
    Abort(h2::Reason),
}

/// Sends one request after another to a server with these faults, and returns the outcomes.
fn outcomes_of(faults: &[Fault]) -> Vec<Outcome> {
    let setup = Setup {
        window: 65_535,
        max_streams: 1,
        is_literal: false,
        server_window: 65_535,
        server_streams: 1,
        server_frame: 16_384,
        pipe: 4096,
        reads: vec![4096],
    };
    let exchange = Exchange {
        path: String::new(),
        fields: Vec::new(),
        body: None,
        is_shared: false,
        status: 200,
        answer_fields: Vec::new(),
        answer_body: 0,
        trailers: Vec::new(),
    };
    let mut client = Client::new(&setup, Rc::new(vec![exchange; faults.len()]));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let faults = faults.to_vec();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let (ours, theirs) = tokio::io::duplex(setup.pipe);
        tokio::task::spawn_local(async move {
            let mut connection = h2::server::handshake(theirs).await.unwrap();
            let mut faults = faults.into_iter();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                match faults.next() {
                    Some(Fault::Reset(reason)) => respond.send_reset(reason),
                    Some(Fault::Abort(reason)) => connection.abrupt_shutdown(reason),
                    fault => {
                        if let Some(Fault::GoAway) = fault {
                            connection.graceful_shutdown();
                        }
                        let response = http::Response::new(());
                        let _: h2::SendStream<Bytes> =
                            respond.send_response(response, true).unwrap();
                    }
                }
            }
        });
        client.run_until_closed(ours).await;
    });
    client
        .answers
        .iter()
        .filter_map(|answer| answer.outcome)
        .collect()
}

impl Client {
    /// Sends one request after another until all have ended or the connection has closed.
    async fn run_until_closed(&mut self, mut io: DuplexStream) {
        let mut buffer = vec![0; 4096];
        while !self.is_done() && !self.connection.is_closed() {
            self.send_all();
            let output = self.connection.output().to_vec();
            io.write_all(&output).await.unwrap();
            self.connection.wrote(output.len(), |_| {});
            let read = io.read(&mut buffer).await.unwrap();
            if read == 0 {
                self.connection.lose();
            }
            let mut bytes = &buffer[..read];
            while let Some(event) = self.connection.next_event(&mut bytes) {
                if let Event::Ended { stream, outcome } = event {
                    self.answers[self.slots[stream.slot()]].outcome = Some(outcome);
                }
            }
        }
    }
}

#[test]
fn faults_of_the_peer_are_named() {
    use h2::Reason;
    assert_eq!(
        outcomes_of(&[
            Fault::Reset(Reason::REFUSED_STREAM),
            Fault::Answer,
            Fault::Reset(Reason::INTERNAL_ERROR),
        ]),
        [
            Outcome::Refused,
            Outcome::Answered,
            Outcome::Reset(codec::h2::ErrorCode(0x2)),
        ]
    );
    let after_goaway = outcomes_of(&[Fault::GoAway, Fault::Answer]);
    assert_eq!(after_goaway[0], Outcome::Answered, "a graceful end");
    let aborted = outcomes_of(&[Fault::Answer, Fault::Abort(Reason::ENHANCE_YOUR_CALM)]);
    let calm = codec::h2::ErrorCode::ENHANCE_YOUR_CALM;
    assert_eq!(aborted, [Outcome::Answered, Outcome::GoAway(calm)]);
}
