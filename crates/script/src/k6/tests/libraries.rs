//! The bundled libraries of jslib.k6.io.

use super::fixture::{Fixture, block_on, iteration, output_of};
use crate::k6::Ended;

#[test]
fn k6_utils_make_random_values_and_find_texts() {
    assert_eq!(
        output_of(
            "import { uuidv4, randomIntBetween, randomItem, randomString, findBetween, parseDuration,
                normalDistributionStages, check } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
            export default async function () {
                const numbers = new Set(Array.from({ length: 200 }, () => randomIntBetween(1, 3)));
                console.log([...numbers].sort().join(), uuidv4()[14], randomItem([7]), randomString(8).length);
                console.log(randomString(3, 'a'), findBetween('<a><b>', '<', '>'), findBetween('<a><b>', '<', '>', true).join());
                console.log(parseDuration('1m30s'), parseDuration('1h2ms'), parseDuration('5'));
                const stages = normalDistributionStages(10, 60);
                console.log(stages.length, Math.max(...stages.map((s) => s.target)), stages[0].duration, stages.at(-1).target);
                console.log(check(1, { a: true }), await check(Promise.resolve(2), { b: async (v) => v === 2 }));
            }"
        ),
        ["1,2,3 4 7 8", "aaa a a,b", "90000 3600002 5", "12 10 10s 0", "true true"]
    );
}

#[test]
fn url_and_formdata_build_requests() {
    assert_eq!(
        output_of(
            "import { URL, URLSearchParams } from 'https://jslib.k6.io/url/1.0.0/index.js';
            import { FormData } from 'https://jslib.k6.io/formdata/0.0.2/index.js';
            import http from 'k6/http';
            export default function () {
                const url = new URL('/x', 'http://a.test:81');
                url.searchParams.append('q', 'a b');
                console.log(url.toString(), url.port, new URLSearchParams([['k', 'v&']]).toString());
                try { new URL('nope') } catch (e) { console.log(e.name, e.message); }
                const form = new FormData();
                form.append('a', '1');
                form.append('f', http.file('data', 'n.txt', 'text/plain'));
                const text = new TextDecoder().decode(form.body()).replaceAll(form.boundary, 'B');
                console.log(text.replace(/\\r\\n/g, '|'));
            }"
        ),
        [
            "http://a.test:81/x?q=a+b 81 k=v%26",
            "TypeError Invalid URL",
            "--B|Content-Disposition: form-data; name=\"a\"||1|--B|Content-Disposition: form-data; \
             name=\"f\"; filename=\"n.txt\"|Content-Type: text/plain||data|--B--|",
        ]
    );
}

#[test]
fn papaparse_reads_and_writes_csv() {
    assert_eq!(
        output_of(
            "import papaparse from 'https://jslib.k6.io/papaparse/5.1.1/index.js';
            const show = (text, config) => console.log(JSON.stringify(papaparse.parse(text, config).data));
            export default function () {
                show('a,b\\n1,\"x, \"\"y\"\"\\nz\"\\n,', { header: true });
                show('a;b\\r\\n1;2\\r\\n\\r\\n', { skipEmptyLines: true });
                show('#c\\nn,t,f\\n1.5,true,', { header: true, comments: '#', dynamicTyping: true });
                show('\"\",2\\n3,\"\"', {});
                console.log(papaparse.unparse([{ a: 1, b: 'x,y' }, { a: null, b: '\"' }]).replace(/\\r\\n/g, '|'));
            }"
        ),
        [
            "[{\"a\":\"1\",\"b\":\"x, \\\"y\\\"\\nz\"},{\"a\":\"\",\"b\":\"\"}]",
            "[[\"a\",\"b\"],[\"1\",\"2\"]]",
            "[{\"n\":1.5,\"t\":true,\"f\":null}]",
            "[[\"\",\"2\"],[\"3\",\"\"]]",
            "a,b|1,\"x,y\"|,\"\"\"\"",
        ]
    );
}

#[test]
fn httpx_sessions_add_base_urls_headers_and_tags() {
    let fixture = Fixture::new(
        "import { Httpx, Get } from 'https://jslib.k6.io/httpx/0.1.0/index.js';
        const session = new Httpx({ baseURL: 'http://a.test', headers: { 'x-a': 1 }, tags: { t: 'u' } });
        export default function () {
            session.addHeader('x-b', 2);
            session.get('/one');
            session.post('http://b.test/two', 'body', { headers: { 'x-a': 3 } });
            session.batch([Get('/three')]);
        }",
    );
    fixture.complete();
    let sent = fixture.host.sent.borrow();
    let urls: Vec<&str> = sent.iter().map(|request| request.url.as_str()).collect();
    assert_eq!(
        urls,
        [
            "http://a.test/one",
            "http://b.test/two",
            "http://a.test/three"
        ]
    );
    assert!(
        sent[1]
            .headers
            .contains(&("X-A".to_owned(), "3".to_owned()))
    );
    assert!(
        sent[1]
            .headers
            .contains(&("X-B".to_owned(), "2".to_owned()))
    );
    assert_eq!(fixture.samples("http_reqs", &["t"]), ["1 t=u"; 3]);
}

#[test]
fn summaries_are_texts_of_the_host_and_junit() {
    let fixture = Fixture::new(
        "import { textSummary, humanizeValue, jUnit } from 'https://jslib.k6.io/k6-summary/0.0.2/index.js';
        export default function () {}
        export function handleSummary(data) {
            console.log(humanizeValue(0.5, { type: 'rate' }), humanizeValue(1500, { type: 'counter', contains: 'data' }),
                humanizeValue(1234.5, { type: 'trend', contains: 'time' }), humanizeValue(12.3456, { type: 'trend', contains: 'time' }, 'us'));
            return { stdout: textSummary(data, { indent: ' ' }), 'junit.xml': jUnit(data) };
        }",
    );
    let data = "{\"metrics\":{\"m\":{\"thresholds\":{\"p(95)<1\":{\"ok\":false}}}}}";
    let outputs = block_on(async {
        let vu = fixture.vu(0).await;
        vu.call_handle_summary(data.to_owned())
            .await
            .unwrap()
            .unwrap()
    });
    let text = |index: usize| String::from_utf8(outputs[index].content.clone()).unwrap();
    assert_eq!(text(0), format!("{data} {{\"indent\":\" \"}}"));
    assert!(text(1).contains("<testcase name=\"m - p(95)&lt;1\""));
    assert_eq!(
        fixture.logs(),
        ["Info 50.00% 1.5 kB 1.23s 12345.60µs source=console"]
    );
}

#[test]
fn stages_are_tags() {
    let fixture = Fixture::new(
        "import * as utils from 'https://jslib.k6.io/k6-utils/1.6.0/index.js';
        export default function () { utils.getCurrentStageIndex(); }",
    );
    block_on(async {
        // The scenario of the test has no stages.
        match fixture.vu(1).await.run(iteration(0)).await {
            Ended::Failed(error) => {
                assert_eq!(error.message, "Error: the scenario 'default' has no stages");
            }
            other => panic!("{other:?}"),
        }
    });
}
