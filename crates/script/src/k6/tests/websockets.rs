//! The modules `k6/ws` and `k6/websockets`.

use super::fixture::{Fixture, block_on, iteration, output_of};
use crate::k6::Ended;

fn failure_of(source: &str) -> String {
    match Fixture::new(source).run() {
        Ended::Failed(error) => error.message,
        other => panic!("{other:?}"),
    }
}

/// Returns a script that uses `k6/ws`, with this body of its default function.
fn blocking(body: &str) -> String {
    format!("import ws from 'k6/ws';\nexport default function () {{ {body} }}")
}

/// Returns a script that uses `k6/websockets`, with this body of its default function.
fn event_loop(body: &str) -> String {
    format!(
        "import {{ WebSocket, Blob }} from 'k6/websockets';\n\
         const log = (name) => (e) => console.log(name, e.data ?? '', e.code ?? '', e.error ?? '');\n\
         export default function () {{ {body} }}"
    )
}

#[test]
fn blocking_connection_calls_its_handlers_until_it_is_closed() {
    let fixture = Fixture::new(&blocking(
        "const seen = [];
        const bytes = new Uint8Array([1, 2]).buffer;
        const res = ws.connect('ws://a.test/chat', { tags: { kind: 'chat' } }, function (socket) {
            socket.on('open', () => { seen.push('open'); socket.send('hi'); });
            socket.on('message', (text) => { seen.push(text); socket.sendBinary(bytes); });
            socket.on('binaryMessage', (data) => {
                seen.push(data.byteLength);
                socket.send('ping');
                socket.ping();
            });
            socket.on('ping', () => seen.push('ping'));
            socket.on('pong', () => { seen.push('pong'); socket.close(); });
            socket.on('close', (code) => seen.push(code));
        });
        console.log(seen.join(' '), res.status, res.url, JSON.stringify(res.error));",
    ));
    fixture.complete();
    let shown = "open hi 2 ping pong 1001 101 ws://a.test/chat \"\"";
    assert_eq!(fixture.logs(), [format!("Info {shown} source=console")]);
    let log = fixture.host.socket_log.take();
    assert_eq!(
        log,
        [
            "text hi",
            "binary [1, 2]",
            "text ping",
            "ping",
            "close 1001 ",
            "close 1001 "
        ]
    );
    let tags = ["url", "status", "kind", "subproto"];
    assert_eq!(
        fixture.samples("ws_sessions", &tags),
        ["1 url=ws://a.test/chat status=101 kind=chat"]
    );
    assert_eq!(fixture.samples("ws_connecting", &[]), ["3"]);
    assert_eq!(fixture.samples("ws_session_duration", &[]).len(), 1);
    assert_eq!(fixture.samples("ws_msgs_sent", &[]), ["1", "1", "1"]);
    assert_eq!(
        fixture.samples("ws_msgs_received", &["kind"]),
        ["1 kind=chat", "1 kind=chat"]
    );
    assert_eq!(fixture.samples("ws_ping", &[]).len(), 1);
}

#[test]
fn ends_of_a_blocking_connection_are_events() {
    let output = output_of(&blocking(
        "for (const text of ['close', 'lose']) {
            ws.connect('ws://a.test/', (socket) => {
                socket.on('open', () => socket.send(text));
                socket.on('error', (e) => console.log('error', e.error()));
                socket.on('close', (code) => { console.log('close', code); socket.send('late'); });
            });
        }",
    ));
    assert_eq!(
        output,
        [
            "close 1001",
            "error websocket: close sent",
            "error websocket: close 1006 (abnormal closure)",
            "close 1006",
            "error websocket: close sent",
        ]
    );
}

#[test]
fn handshakes_carry_headers_cookies_and_subprotocols() {
    let fixture = Fixture::new(
        "import ws from 'k6/ws';
        import http from 'k6/http';
        export default function () {
            http.cookieJar().set('http://a.test/', 'token', 't1');
            const jar = new http.CookieJar();
            const headers = { 'x-id': 7, 'Sec-WebSocket-Protocol': 'v1, v2' };
            const params = { headers, compression: 'deflate' };
            const res = ws.connect('wss://u:p@a.test/x?y=1#z', params, (s) => s.close());
            console.log(res.headers['Sec-Websocket-Protocol'], res.url);
            ws.connect('ws://a.test/', { jar }, (s) => s.close());
            console.log(JSON.stringify(jar.cookiesForURL('http://a.test/')));
            ws.connect('ws://a.test/', { tags: { name: 'room' } }, (s) => s.close());
        }",
    );
    fixture.complete();
    let requests = fixture.host.socket_requests.take();
    assert_eq!(requests[0].url, "https://a.test/x?y=1");
    assert_eq!(requests[0].subprotocols, ["v1", "v2"]);
    assert!(requests[0].compresses && !requests[1].compresses);
    let headers = |index: usize| -> Vec<String> {
        let headers = requests[index].headers.iter();
        headers
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()
    };
    let agent = "User-Agent: Grafana k6/2.2.0";
    let stored = "Cookie: token=t1";
    assert_eq!(
        headers(0),
        [agent, "Authorization: Basic dTpw", stored, "X-Id: 7"]
    );
    assert_eq!(headers(1), [agent]);
    assert_eq!(headers(2), [agent, "Cookie: token=t1; session=s1"]);
    assert_eq!(
        fixture.logs(),
        [
            "Info v2 wss://a.test/x?y=1 source=console",
            "Info {\"session\":[\"s1\"]} source=console",
        ]
    );
    assert_eq!(
        fixture.samples("ws_sessions", &["url", "name", "subproto"]),
        [
            "1 url=wss://****:****@a.test/x?y=1 name=wss://****:****@a.test/x?y=1 subproto=v2",
            "1 url=ws://a.test/ name=ws://a.test/",
            "1 url=room name=room",
        ]
    );
}

#[test]
fn refused_handshakes_are_responses_unless_they_throw() {
    let script = blocking(
        "for (const path of ['refuse', 'down']) {
            const res = ws.connect(`ws://a.test/${path}`, () => console.log('never'));
            console.log(res.status, res.error, res.headers['X-Why'], res.body);
        }",
    );
    let mut fixture = Fixture::new(&script);
    fixture.complete();
    let logs = fixture.logs();
    assert_eq!(logs.len(), 4, "{logs:?}");
    assert_eq!(
        logs[0],
        "Warning WebSocket connection failed error=websocket: bad handshake \
         url=ws://a.test/refuse"
    );
    assert_eq!(
        logs[1],
        "Info 401 websocket: bad handshake token no token source=console"
    );
    assert!(logs[3].starts_with("Info 0 dial: connection refused"));
    assert!(fixture.samples("ws_sessions", &[]).is_empty());
    assert_eq!(
        fixture.samples("ws_connecting", &["status"]),
        ["3 status=401"]
    );
    fixture.options.throw = true;
    match fixture.run() {
        Ended::Failed(error) => assert_eq!(error.message, "GoError: websocket: bad handshake"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn wrong_arguments_of_connections_throw() {
    let cases = [
        (
            "ws.connect('ws://a.test/')",
            "invalid number of arguments to ws.connect",
        ),
        (
            "ws.connect('ws://a.test/', {})",
            "last argument to ws.connect must be a function",
        ),
        (
            "ws.connect('http://a.test/', () => {})",
            "malformed ws or wss URL: \"http://a.test/\"",
        ),
        (
            "ws.connect('ws://a.test/', { compression: 'gzip' }, () => {})",
            "unsupported compression algorithm 'gzip', supported algorithm is 'deflate'",
        ),
        (
            "ws.connect('ws://a.test/', { headers: { upgrade: 'h2c' } }, () => {})",
            "websocket: duplicate header not allowed: Upgrade",
        ),
        (
            "ws.connect('ws://a.test/', (s) => s.setTimeout(() => {}, -1.5))",
            "setTimeout requires a >0 timeout parameter, received -1.50",
        ),
        (
            "ws.connect('ws://a.test/', (s) => s.setInterval(() => {}, 0))",
            "setInterval requires a >0 timeout parameter, received 0.00",
        ),
        (
            "ws.connect('ws://a.test/', (s) => s.sendBinary('x'))",
            "sendBinary requires an ArrayBuffer: use `.buffer` of a typed array",
        ),
    ];
    for (body, message) in cases {
        assert_eq!(
            failure_of(&blocking(body)),
            format!("GoError: {message}"),
            "{body}"
        );
    }
    let cases = [
        (
            "new WebSocket('http://a.test/')",
            "WebSocket requires url with scheme ws or wss, but got \"http\"",
        ),
        (
            "new WebSocket('ws://a.test/').send('x')",
            "InvalidStateError",
        ),
        (
            "new WebSocket('ws://a.test/').addEventListener('data', () => {})",
            "there is no WebSocket event 'data': use one of open, message, error, close, ping, pong",
        ),
        (
            "new WebSocket('ws://a.test/').binaryType = 'text'",
            "binaryType is 'blob' or 'arraybuffer', but got 'text'",
        ),
    ];
    for (body, message) in cases {
        assert_eq!(
            failure_of(&event_loop(body)),
            format!("GoError: {message}"),
            "{body}"
        );
    }
}

#[test]
fn subprotocols_that_are_no_tokens_throw() {
    let connect = "ws.connect('ws://a.test/', { headers: { 'Sec-WebSocket-Protocol': 'v1, v 2' } }";
    let cases = [
        (blocking(&format!("{connect}, () => {{}})")), "\"v 2\""),
        (
            event_loop("new WebSocket('ws://a.test/', 'a\\r\\nX-Evil: 1')"),
            "\"a\\r\\nX-Evil: 1\"",
        ),
        (
            event_loop("new WebSocket('ws://a.test/', ['v1', ''])"),
            "\"\"",
        ),
    ];
    for (script, name) in cases {
        let message = format!(
            "GoError: invalid WebSocket subprotocol {name}: a subprotocol consists of letters, \
             digits and !#$%&'*+-.^_`|~"
        );
        assert_eq!(failure_of(&script), message);
    }
}

#[test]
fn unknown_events_of_a_blocking_connection_are_logged() {
    let output = output_of(&blocking(
        "ws.connect('ws://a.test/', (s) => { s.on('data', () => {}); s.close(); });",
    ));
    assert_eq!(
        output,
        ["Warning there is no WebSocket event 'data': its handler is never called"]
    );
}

#[test]
fn exceptions_in_handlers_fail_the_iteration_and_end_the_session() {
    for script in [
        blocking(
            "ws.connect('ws://a.test/', (s) => s.on('open', () => { throw new Error('no'); }));",
        ),
        event_loop("new WebSocket('ws://a.test/').onopen = () => { throw new Error('no'); };"),
    ] {
        let fixture = Fixture::new(&script);
        match fixture.run() {
            Ended::Failed(error) => assert_eq!(error.message, "Error: no"),
            other => panic!("{other:?}"),
        }
        assert_eq!(fixture.samples("ws_session_duration", &[]).len(), 1);
        assert_eq!(fixture.host.socket_log.take(), ["close 1001 "]);
    }
}

#[test]
fn interrupted_iterations_close_their_connections() {
    for body in [
        "ws.connect('ws://a.test/', (s) => s.on('open', () => {}));",
        "const socket = new WebSocket('ws://a.test/'); socket.onopen = () => {};",
    ] {
        let fixture = Fixture::new(&match body.starts_with("ws.") {
            true => blocking(body),
            false => event_loop(body),
        });
        block_on(async {
            let vu = fixture.vu(1).await;
            let own = vu.clone();
            let task = tokio::task::spawn_local(async move { own.run(iteration(0)).await });
            while fixture.samples("ws_sessions", &[]).is_empty() {
                tokio::task::yield_now().await;
            }
            vu.interrupt();
            assert_eq!(task.await.unwrap(), Ended::Interrupted);
        });
        assert_eq!(
            fixture.samples("ws_session_duration", &[]).len(),
            1,
            "{body}"
        );
        assert_eq!(fixture.host.socket_log.take(), ["close 1001 "]);
    }
}

#[test]
fn iterations_last_until_all_connections_of_the_event_loop_are_closed() {
    let output = output_of(&event_loop(
        "for (const name of ['a', 'b']) {
            const socket = new WebSocket(`ws://a.test/${name}`, ['v1']);
            socket.binaryType = 'arraybuffer';
            socket.addEventListener('open', () => {
                console.log(name, socket.readyState, socket.protocol, socket.bufferedAmount);
                socket.send(`${name} says hi`);
                socket.send(new Uint8Array([7, 8]));
                socket.ping();
            });
            socket.onmessage = log('message');
            socket.addEventListener('pong', (e) => {
                console.log(e.type, e.target === socket, socket.url);
                socket.close(3000, 'done');
                console.log(socket.readyState === WebSocket.CLOSING);
            });
            socket.onclose = (e) => console.log('close', e.code, e.reason, socket.readyState);
        }
        console.log('started');",
    ));
    let of = |name: &str| {
        [
            format!("{name} 1 v1 7"),
            format!("message {name} says hi  "),
            "message ArrayBuffer { [Uint8Contents]: <07 08>, byteLength: 2 }  ".to_owned(),
            format!("pong true ws://a.test/{name}"),
            "true".to_owned(),
            "close 3000 done 3".to_owned(),
        ]
    };
    let mut expected: Vec<String> = of("a").into_iter().chain(of("b")).collect();
    expected.push("started".to_owned());
    assert_eq!(output[0], "started");
    let mut output = output;
    output.sort();
    expected.sort();
    assert_eq!(output, expected);
}

#[test]
fn binary_messages_are_blobs_unless_the_script_wants_buffers() {
    let output = output_of(
        "import { WebSocket, Blob } from 'k6/websockets';
        export default function () {
            const socket = new WebSocket('ws://a.test/');
            socket.onopen = () => socket.send(new Blob(['he', new Uint8Array([108, 108]), 'o']));
            socket.onmessage = async (e) => {
                console.log(e.data instanceof Blob, e.data.size, await e.data.text());
                console.log(await e.data.slice(1, 3).text(), (await e.data.arrayBuffer()).byteLength);
                socket.close();
            };
        }",
    );
    assert_eq!(output, ["true 5 hello", "el 5"]);
}

#[test]
fn failed_connections_of_the_event_loop_are_events() {
    let output = output_of(&event_loop(
        "const socket = new WebSocket('ws://a.test/refuse');
        socket.onerror = log('error');
        socket.onclose = (e) => console.log('close', e.code, socket.readyState);
        const lost = new WebSocket('ws://a.test/');
        lost.onopen = () => lost.send('lose');
        lost.onerror = log('lost');",
    ));
    assert!(output[0].starts_with("Warning WebSocket connection failed"));
    assert_eq!(output[1], "error   websocket: bad handshake");
    assert_eq!(output[2], "close 1006 3");
    assert_eq!(output[3], "lost   websocket: close 1006 (abnormal closure)");
}

#[test]
fn messages_after_close_are_dropped_and_not_received() {
    let fixture = Fixture::new(&event_loop(
        "const socket = new WebSocket('ws://a.test/', '');
        socket.onopen = () => { socket.send('a'); socket.send('b'); };
        socket.onmessage = (e) => { console.log(e.data); socket.send('c'); socket.close(); };
        socket.onclose = (e) => console.log('close', e.code);",
    ));
    fixture.complete();
    assert!(
        fixture.host.socket_requests.take()[0]
            .subprotocols
            .is_empty()
    );
    let logs = fixture.logs();
    assert_eq!(
        logs,
        ["Info a source=console", "Info close 1000 source=console"]
    );
    assert_eq!(fixture.samples("ws_msgs_sent", &[]).len(), 3);
    assert_eq!(fixture.samples("ws_msgs_received", &[]).len(), 1);
}

#[test]
fn messages_that_cannot_be_sent_are_errors() {
    let output = output_of(&event_loop(
        "const socket = new WebSocket('ws://a.test/');
        socket.onopen = () => { socket.send('full'); socket.close(); };
        socket.onerror = log('error');",
    ));
    assert_eq!(output, ["error   out of memory"]);
}

#[test]
fn connections_that_are_closed_before_they_are_open_have_no_open_event() {
    let output = output_of(&event_loop(
        "const socket = new WebSocket('ws://a.test/');
        socket.onopen = log('open');
        socket.onclose = (e) => console.log('close', e.code);
        socket.close();
        console.log(socket.readyState);",
    ));
    assert_eq!(output, ["2", "close 1000"]);
}

#[test]
fn connections_are_refused_in_the_init_code() {
    for code in [
        "import ws from 'k6/ws'; ws.connect('ws://a.test/', () => {});",
        "import { WebSocket } from 'k6/websockets'; new WebSocket('ws://a.test/');",
    ] {
        let script = format!("{code}\nexport default function () {{}}");
        let problems = super::fixture::problems_of(&[("script.js", &script)]);
        let message = "using websockets in the init context is not supported";
        assert!(problems[0].contains(message), "{problems:?}");
    }
}

#[test]
fn earlier_name_of_the_module_works_with_a_warning() {
    let output = output_of(
        "import { WebSocket } from 'k6/experimental/websockets';
        import * as current from 'k6/websockets';
        export default function () { console.log(WebSocket === current.WebSocket); }",
    );
    assert_eq!(
        output,
        [
            "Warning k6/experimental/websockets is now k6/websockets: change the import",
            "true",
        ]
    );
}

#[test]
fn classes_without_an_import_are_named_with_their_module() {
    assert_eq!(
        failure_of("export default function () { new WebSocket('ws://a.test/'); }"),
        "ReferenceError: WebSocket is not defined: import it from k6/websockets"
    );
}
