//! Deliberate differences from Artillery, for the documentation page.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    pub topic: &'static str,
    pub original: &'static str,
    pub ours: &'static str,
}

const fn differ(topic: &'static str, original: &'static str, ours: &'static str) -> Difference {
    Difference {
        topic,
        original,
        ours,
    }
}

pub const DIFFERENCES: &[Difference] = &[
    differ("`arrivalRate: 900` for 60 s", "54,005 arrivals", "54,000"),
    differ(
        "ramps above 300/s",
        "bursts at the start of each second",
        "spread evenly in the second",
    ),
    differ(
        "`arrivalRate: 0`, `0.5`",
        "skipped or a crash, by version",
        "a pause; one every two seconds",
    ),
    differ(
        "worker threads",
        "each counts, rounds and cycles through CSV rows on its own",
        "one schedule, whatever the number of threads",
    ),
    differ(
        "`think: 0.5`",
        "half a millisecond",
        "half a second, said once",
    ),
    differ(
        "`think` with `jitter`, `parallel` with `limit`, as steps of their own",
        "refused by the schema",
        "work",
    ),
    differ(
        "`probability: 100`",
        "leaves out one step of 101",
        "always runs; every other percentage is exact too",
    ),
    differ(
        "`parallel`: one step fails",
        "the virtual user ends immediately, its other requests go on",
        "it ends when all of them have ended",
    ),
    differ(
        "a step of a `parallel` reads what another one captures",
        "as soon as it is there",
        "after the `parallel`",
    ),
    differ(
        "a step of a `parallel` with a `cookie` of its own",
        "steps that are sent later send it too",
        "sends it alone; the others have it after the `parallel`",
    ),
    differ(
        "`artillery report x.json -o x.json`",
        "the page takes the place of the report",
        "refused",
    ),
    differ(
        "a file named by a captured value in `fromFile`",
        "is sent, whichever it is",
        "refused: an answer must not choose a file of this machine",
    ),
    differ(
        "answers with a head above 16 KB, bare line feeds, folded lines, Content-Length with chunked, or bytes after the end",
        "`HPE_` errors",
        "answers",
    ),
    differ(
        "`Authorization: 'Bearer {{ token }}'` in the default headers, captured later",
        "`Bearer undefined`",
        "resolved per virtual user",
    ),
    differ(
        "no `http.timeout`, a slow server",
        "fails after 8 s",
        "10 s",
    ),
    differ(
        "an answer of 3xx without Location",
        "hangs its virtual user for ever",
        "a final answer",
    ),
    differ(
        "`setContentLengthHeader`",
        "sets the length of the first file for the whole body, which breaks it",
        "the right length, always",
    ),
    differ(
        "`http.extendedMetrics` over plain HTTP",
        "`http.tls` with Infinity and NaN",
        "no `http.tls`",
    ),
    differ(
        "`before` fails",
        "a stack trace, exit 1",
        "one line, exit 1",
    ),
    differ(
        "a filter in a JSONPath meets an item without the property",
        "the whole capture fails",
        "that item does not match",
    ),
    differ("`['a', 'b']` in a JSONPath", "finds nothing", "both"),
    differ(
        "a captured header in capitals",
        "is never found",
        "is found in any case",
    ),
    differ(
        "`expect: { matchesRegexp: … }` on a JSON body",
        "matched against `[object Object]`",
        "against the body's text",
    ),
    differ(
        "what `fake-data` makes up",
        "faker's words, others in each run",
        "another library's words, the same for the same seed; e-mail addresses and URLs belong to no one",
    ),
    differ(
        "a `Server-Timing` header without a total",
        "counted as -1 ms",
        "not counted",
    ),
    differ(
        "an impossible `jmespath`",
        "the worker dies at the first answer",
        "refused with its place",
    ),
    differ(
        "`Failed expectations for request …`",
        "an error of its own for every URL that was made",
        "the URL as the script has it",
    ),
    differ(
        "`$randomInt`, `$timestamp`, a misspelt variable",
        "sent as `undefined`",
        "refused (functions and `$` names), or noted with the nearest name",
    ),
    differ(
        "digits of whole numbers beyond 2^53 in captured ids",
        "rounded",
        "kept",
    ),
    differ(
        "`http.downloaded_bytes` of chunked bodies",
        "from Content-Length, so not reliable",
        "counted as they came",
    ),
    differ(
        "`http.request_rate`",
        "the mean of the periods' rates",
        "requests between the first and the last",
    ),
    differ("Ctrl-C", "no summary, no `-o` file", "both, then exit 130"),
];

/// Table for the page.
#[must_use]
pub fn table() -> String {
    let mut out = String::from("| | Artillery | Loadline |\n|---|---|---|\n");
    for difference in DIFFERENCES {
        let Difference {
            topic,
            original,
            ours,
        } = difference;
        out.push_str(&format!("| {topic} | {original} | {ours} |\n"));
    }
    out
}
