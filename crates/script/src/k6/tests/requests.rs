//! `k6/http`: the requests that are sent, the responses that scripts see, and the samples.

use std::{cell::Cell, rc::Rc};

use super::fixture::{Fixture, ok};
use crate::k6::{HttpError, HttpOutcome, HttpRequest, Timings};

fn header(request: &HttpRequest, name: &str) -> String {
    let mut headers = request.headers.iter();
    let found = headers.find(|(known, _)| known == name);
    found.map_or(String::new(), |(_, value)| value.clone())
}

fn with_headers(mut outcome: HttpOutcome, headers: &[(&str, &str)]) -> HttpOutcome {
    for (name, value) in headers {
        outcome.headers.push(name, value);
    }
    outcome
}

fn status(status: u16, headers: &[(&str, &str)]) -> HttpOutcome {
    let outcome = HttpOutcome { status, ..ok("") };
    with_headers(outcome, headers)
}

#[test]
fn get_check_and_sleep_work_end_to_end() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        import { check, sleep } from 'k6';
        export const options = { vus: 2, thresholds: { http_req_failed: ['rate<0.1'] }, f() {} };
        export default function () {
            const res = http.get('http://u:p@a.test/x?q=1', { tags: { kind: 'page' }, headers: { 'x-a': 1 } });
            check(res, { 'status is 200': (r) => r.status === 200, 'body': (r) => r.body.includes('hell') });
            sleep(1.5);
            console.log(JSON.stringify(res.timings), res.headers['Content-Type'], res.status_text, res.proto);
        }",
    );
    assert_eq!(
        fixture.script.options(),
        &serde_json::json!({"vus": 2, "thresholds": {"http_req_failed": ["rate<0.1"]}})
    );
    assert_eq!(fixture.script.functions(), ["default"]);
    fixture.answer(|_| HttpOutcome {
        timings: Timings {
            blocked: 500_000,
            sending: 1_000_000,
            waiting: 2_000_000,
            receiving: 3_000_000,
            ..Timings::default()
        },
        ..ok("hello")
    });
    fixture.complete();
    let sent = fixture.host.sent.borrow();
    assert_eq!(sent[0].method, "GET");
    assert_eq!(sent[0].url, "http://a.test/x?q=1");
    assert_eq!(sent[0].name, "http://****:****@a.test/x?q=1");
    let names: Vec<&str> = sent[0]
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["User-Agent", "Authorization", "X-A"]);
    assert_eq!(header(&sent[0], "Authorization"), "Basic dTpw");
    assert_eq!(header(&sent[0], "User-Agent"), "Grafana k6/2.2.0");
    assert_eq!(sent[0].timeout_ns, 60_000_000_000);
    assert_eq!(
        fixture.logs(),
        [
            "Info {\"duration\":6,\"blocked\":0.5,\"looking_up\":0,\"connecting\":0,\
          \"tls_handshaking\":0,\"sending\":1,\"waiting\":2,\"receiving\":3} text/plain 200 OK \
          HTTP/1.1 source=console"
        ]
    );
    assert_eq!(
        fixture.samples(
            "http_req_duration",
            &[
                "expected_response",
                "kind",
                "method",
                "name",
                "proto",
                "scenario",
                "status",
                "url",
                "group"
            ]
        ),
        [
            "6 expected_response=true kind=page method=GET name=http://****:****@a.test/x?q=1 proto=HTTP/1.1 scenario=default status=200 url=http://****:****@a.test/x?q=1"
        ]
    );
    assert_eq!(fixture.samples("http_req_failed", &[]), ["0"]);
    assert_eq!(
        fixture.samples("checks", &["check"]),
        ["1 check=status is 200", "1 check=body"]
    );
    assert_eq!(fixture.host.now_ns.get(), 1_500_000_000);
}

#[test]
fn bodies_are_texts_bytes_forms_or_files() {
    let fixture = Fixture::new(
        "import http, { file } from 'k6/http';
        export default function () {
            http.post('http://a.test/', 'täxt');
            http.put('http://a.test/', new Uint8Array([1, 2]).buffer);
            http.post('http://a.test/', { b: 'x y', a: [1, true], n: null });
            http.post('http://a.test/', { f: file('data', 'n.txt', 'text/plain'), k: 'v' });
            http.del('http://a.test/');
            http.request('PURGE', 'http://a.test/', 'body', { headers: { 'Content-Type': 'x' } });
            http.post('http://a.test/', 'plain', { compression: 'gzip' });
            try { http.post('http://a.test/', new Uint8Array(2)); } catch (e) { console.log(e.message, e.name); }
        }",
    );
    fixture.complete();
    let sent = fixture.host.sent.borrow();
    let body = |index: usize| sent[index].body.clone().unwrap_or_default();
    assert_eq!(body(0), "täxt".as_bytes());
    assert_eq!(header(&sent[0], "Content-Type"), "");
    assert_eq!(body(1), [1, 2]);
    assert_eq!(body(2), b"a=1&a=true&b=x+y&n=");
    assert_eq!(
        header(&sent[2], "Content-Type"),
        "application/x-www-form-urlencoded"
    );
    let content_type = header(&sent[3], "Content-Type");
    let boundary = content_type
        .strip_prefix("multipart/form-data; boundary=")
        .unwrap();
    assert_eq!(
        String::from_utf8(body(3)).unwrap(),
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\n\
             Content-Type: text/plain\r\n\r\ndata\r\n--{boundary}\r\n\
             Content-Disposition: form-data; name=\"k\"\r\n\r\nv\r\n--{boundary}--\r\n"
        )
    );
    assert_eq!(sent[4].method, "DELETE");
    assert_eq!(sent[4].body, None);
    assert_eq!(sent[5].method, "PURGE");
    assert_eq!(header(&sent[5], "Content-Type"), "x");
    assert_eq!(header(&sent[6], "Content-Encoding"), "gzip");
    assert_eq!(body(6)[..2], [0x1f, 0x8b]);
    assert!(fixture.logs()[0].contains("unknown request body type"));
}

#[test]
fn redirects_are_followed_with_a_sample_for_each_hop() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        export default function () {
            const res = http.post('http://a.test/1', 'body', { headers: { Authorization: 's' } });
            console.log(res.url, res.status, res.body, res.request.method);
            const same = http.post('http://a.test/307', 'body');
            console.log(same.request.method, same.request.body);
            console.log(http.get('http://a.test/1', { redirects: 0 }).status);
            console.log(http.get('http://a.test/loop').status);
            console.log(http.get('http://a.test/bad').error_code);
        }",
    );
    fixture.answer(|request| match request.url.as_str() {
        "http://a.test/1" => status(302, &[("Location", "/2"), ("Set-Cookie", "s=1; Path=/")]),
        "http://a.test/2" => status(303, &[("Location", "https://b.test/3")]),
        "http://a.test/307" => status(307, &[("Location", "/end")]),
        "http://a.test/loop" => status(302, &[("Location", "/loop")]),
        "http://a.test/bad" => status(302, &[("Location", "ftp://a.test/")]),
        _ => ok("end"),
    });
    fixture.complete();
    let logs = fixture.logs();
    assert_eq!(logs[0], "Info https://b.test/3 200 end GET source=console");
    assert_eq!(logs[1], "Info POST body source=console");
    assert_eq!(logs[2], "Info 302 source=console");
    assert!(
        logs[3].starts_with("Warning Stopped after 10 redirects and returned the redirection;")
    );
    assert_eq!(logs[4], "Info 302 source=console");
    assert_eq!(logs.last().unwrap(), "Info 1020 source=console");
    let sent = fixture.host.sent.borrow();
    assert_eq!(sent[1].method, "GET");
    assert_eq!(sent[1].body, None);
    assert_eq!(header(&sent[1], "Cookie"), "s=1");
    assert_eq!(header(&sent[1], "Authorization"), "s");
    assert_eq!(header(&sent[1], "Referer"), "http://a.test/1");
    assert_eq!(header(&sent[2], "Cookie"), "");
    assert_eq!(header(&sent[2], "Authorization"), "");
    assert_eq!(
        fixture.samples("http_reqs", &["status", "url"])[..3],
        [
            "1 status=302 url=http://a.test/1",
            "1 status=303 url=http://a.test/2",
            "1 status=200 url=https://b.test/3"
        ]
    );
}

#[test]
fn cookies_are_kept_in_the_jar_of_the_iteration() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        export default function () {
            const jar = http.cookieJar();
            jar.set('http://a.test/', 'own', '1', { path: '/' });
            const res = http.get('http://a.test/', { cookies: { p: 'q', own: { value: 2, replace: true } } });
            console.log(JSON.stringify(res.cookies.sid[0]));
            console.log(JSON.stringify(jar.cookiesForURL('http://a.test/')));
            jar.delete('http://a.test/', 'own');
            http.get('http://a.test/');
            const other = new http.CookieJar();
            http.get('http://b.test/', { jar: other });
            console.log(JSON.stringify([other.cookiesForURL('http://b.test/'), jar.cookiesForURL('http://b.test/')]));
            jar.clear('http://a.test/');
            console.log(JSON.stringify(jar.cookiesForURL('http://a.test/')));
            try { jar.set('http://a.test/', 'x', 'y', { expires: 'soon' }); } catch (e) { console.log(e.message); }
        }",
    );
    fixture.answer(|_| {
        with_headers(
            ok(""),
            &[("set-cookie", "sid=abc; Path=/; HttpOnly; Max-Age=60")],
        )
    });
    fixture.complete();
    assert_eq!(
        fixture.logs(),
        [
            "Info {\"name\":\"sid\",\"value\":\"abc\",\"domain\":\"\",\"path\":\"/\",\"http_only\":true,\"secure\":false,\"max_age\":60,\"expires\":0} source=console",
            "Info {\"own\":[\"1\"],\"sid\":[\"abc\"]} source=console",
            "Info [{\"sid\":[\"abc\"]},{}] source=console",
            "Info {} source=console",
            "Info unable to parse \"expires\" date string \"soon\" source=console",
        ]
    );
    let sent = fixture.host.sent.borrow();
    assert_eq!(header(&sent[0], "Cookie"), "p=q; own=2");
    assert_eq!(header(&sent[1], "Cookie"), "sid=abc");
}

#[test]
fn failed_requests_are_responses_unless_they_throw() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        export default function () {
            const res = http.get('http://a.test/');
            console.log(res.status, res.body, res.error, res.error_code);
            try { res.json() } catch (e) { console.log(e.name, e.message); }
            try { http.get('http://a.test/', { throw: true }); } catch (e) { console.log(String(e)); }
            console.log(http.get('/relative').error);
            console.log(http.get('http://a.test/404').error_code);
            console.log(http.get('http://a.test/', { timeout: 'soon' }).error);
        }",
    );
    fixture.answer(|request| match request.url.as_str() {
        "http://a.test/404" => status(404, &[]),
        _ => HttpOutcome {
            error: Some(HttpError {
                code: 1212,
                text: "dial: connection refused".to_owned(),
            }),
            ..HttpOutcome::default()
        },
    });
    fixture.complete();
    let logs = fixture.logs();
    assert_eq!(
        logs[0],
        "Warning Request Failed error=Get \"http://a.test/\": dial: connection refused"
    );
    assert_eq!(
        logs[1],
        "Info 0 null dial: connection refused 1212 source=console"
    );
    assert!(logs[2].starts_with("Info GoError the body is null so we can't transform it to JSON"));
    assert_eq!(
        logs[3],
        "Info GoError: Get \"http://a.test/\": dial: connection refused source=console"
    );
    assert_eq!(
        logs[5],
        "Info invalid URL: unsupported protocol scheme \"\" source=console"
    );
    assert_eq!(logs[6], "Info 1404 source=console");
    assert!(logs[8].contains("'soon' is not a valid duration value"));
    assert_eq!(
        fixture.samples(
            "http_req_failed",
            &["error", "error_code", "status", "expected_response"]
        ),
        [
            "1 error=dial: connection refused error_code=1212 status=0 expected_response=false",
            "1 error=dial: connection refused error_code=1212 status=0 expected_response=false",
            "1 error_code=1404 status=404 expected_response=false",
        ]
    );
}

#[test]
fn json_finds_paths_and_parses_once() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        export default function () {
            const res = http.get('http://a.test/');
            console.log(res.json('list.#.id').join(), res.json('none'), res.json() === res.json(), res.json().list[0].id);
            console.log(JSON.stringify(res).length > 200, Object.keys(JSON.parse(JSON.stringify(res))).length);
            res.body = 'changed';
            console.log(res.body);
            const binary = http.get('http://a.test/', { responseType: 'binary' });
            console.log(binary.body.byteLength);
            console.log(http.get('http://a.test/', { responseType: 'none' }).body);
        }",
    );
    fixture.answer(|_| ok(r#"{"list":[{"id":1},{"id":2}]}"#));
    fixture.complete();
    assert_eq!(
        fixture.logs().join("\n").replace(" source=console", ""),
        "Info 1,2 undefined true 1\nInfo true 16\nInfo changed\nInfo 28\nInfo null"
    );
}

#[test]
fn expected_statuses_decide_about_failures() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        http.setResponseCallback(http.expectedStatuses(404, { min: 500, max: 599 }));
        export default function () {
            http.get('http://a.test/');
            http.get('http://a.test/', { responseCallback: http.expectedStatuses(200) });
            http.get('http://a.test/', { responseCallback: null });
            try { http.expectedStatuses('a') } catch (e) { console.log(e.message); }
        }",
    );
    fixture.answer(|_| status(404, &[]));
    fixture.complete();
    assert_eq!(fixture.samples("http_req_failed", &[]), ["0", "1"]);
    assert_eq!(fixture.samples("http_reqs", &["expected_response"])[2], "1");
    assert!(fixture.logs()[0].contains(
        "argument number 1 to expectedStatuses was neither an integer nor an object like \
         {min:100, max:329}"
    ));
    assert!(fixture.host.sent.borrow()[2].expected.is_none());
}

#[test]
fn batches_limit_concurrency_and_keep_keys() {
    let mut fixture = Fixture::new(
        "import http from 'k6/http';
        export default function () {
            const urls = Array.from({ length: 12 }, (_, i) => `http://${i % 2 ? 'a' : 'b'}.test/${i}`);
            console.log(http.batch(urls).map((r) => r.url.slice(-2)).join());
            const named = http.batch({ one: 'http://a.test/1', two: ['post', http.url`http://a.test/${2}`, 'x'], three: { method: 'GET', url: 'http://a.test/3', body: 'dropped' } });
            console.log(Object.keys(named).join(), named.two.request.method, named.two.request.body);
            try { http.batch() } catch (e) { console.log(e.message); }
        }",
    );
    fixture.options.batch = 5;
    fixture.options.batch_per_host = 2;
    fixture.complete();
    let logs = fixture.logs();
    assert_eq!(
        logs[0],
        "Info /0,/1,/2,/3,/4,/5,/6,/7,/8,/9,10,11 source=console"
    );
    assert_eq!(logs[1], "Info one,two,three POST x source=console");
    assert_eq!(
        logs[2],
        "Info no argument was provided to http.batch() source=console"
    );
    assert_eq!(fixture.host.most_in_flight.get(), 4);
    assert_eq!(
        fixture.samples("http_reqs", &["name", "url"])[13],
        "1 name=http://a.test/${} url=http://a.test/${}"
    );
}

#[test]
fn asynchronous_requests_run_concurrently() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        export default async function () {
            const all = await Promise.all([1, 2, 3].map((n) => http.asyncRequest('GET', `http://a.test/${n}`)));
            console.log(all.map((r) => r.url).join());
            try { await http.asyncRequest('GET', 'http://a.test/', null, { throw: true, timeout: 0 }); } catch (e) { console.log(e.message); }
        }",
    );
    fixture.complete();
    let logs = fixture.logs();
    assert_eq!(
        logs[0],
        "Info http://a.test/1,http://a.test/2,http://a.test/3 source=console"
    );
    assert_eq!(
        logs[1],
        "Info Get \"http://a.test/\": request timeout source=console"
    );
    assert_eq!(fixture.host.most_in_flight.get(), 3);
}

#[test]
fn requests_in_the_init_code_are_refused() {
    let problems = super::fixture::problems_of(&[(
        "a.js",
        "import http from 'k6/http';\nexport default function () {}\nhttp.get('http://a.test/');\n",
    )]);
    assert_eq!(
        problems,
        ["a.js:3:6: GoError: Making http requests in the init context is not supported"]
    );
}

#[test]
fn encoded_bodies_are_decoded() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        export default function () {
            console.log(http.get('http://a.test/').body);
            console.log(http.get('http://a.test/').error_code);
        }",
    );
    let count = Rc::new(Cell::new(0));
    fixture.answer(move |_| {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"packed").unwrap();
        let mut body = encoder.finish().unwrap();
        if count.replace(1) == 1 {
            body.truncate(12);
        }
        let outcome = HttpOutcome { body, ..ok("") };
        with_headers(outcome, &[("Content-Encoding", "gzip")])
    });
    fixture.complete();
    let logs = fixture.logs();
    assert_eq!(logs[0], "Info packed source=console");
    assert_eq!(logs.last().unwrap(), "Info 1701 source=console");
}

#[test]
fn digest_authentication_takes_two_requests() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        export default function () {
            console.log(http.get('http://u:p@a.test/x?y', { auth: 'digest' }).status);
            try { http.get('http://u:p@a.test/', { auth: 'ntlm' }); } catch (e) { console.log(e.message); }
        }",
    );
    fixture.answer(|request| match header(request, "Authorization").as_str() {
        "" => status(
            401,
            &[(
                "WWW-Authenticate",
                "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"",
            )],
        ),
        _ => ok(""),
    });
    fixture.complete();
    assert_eq!(
        fixture.logs(),
        [
            "Info 200 source=console",
            "Info the authentication method 'ntlm' is not supported source=console"
        ]
    );
    let sent = fixture.host.sent.borrow();
    assert!(header(&sent[1], "Authorization").starts_with("Digest username=\"u\", realm=\"r\""));
    assert!(header(&sent[1], "Authorization").contains("uri=\"/x?y\""));
    assert_eq!(
        fixture.samples("http_req_failed", &["status"]),
        ["0 status=401", "0 status=200"]
    );
}
