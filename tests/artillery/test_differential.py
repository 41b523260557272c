"""Differential test:

Artillery and `loadline artillery` run the same scripts. Requests, counts, metric names and JSON
keys are compared.
"""

from __future__ import annotations

import json
import re
from collections import Counter

import fake_servers
import pytest
import wire_recorder
from artillery_transcripts import summary_labels
from conftest import Loadline
from original_artillery import Artillery

pytestmark = pytest.mark.long


class Recorder(fake_servers.FakeServer):
    """Answers by path and records method, path and body of every request."""

    ANSWERS = {
        "/missing": ("404 Not Found", "", b""),
        "/broken": ("500 Internal Server Error", "", b"no"),
        "/redirect": ("302 Found", "Location: /json\r\n", b""),
        "/cookie": ("200 OK", "Set-Cookie: sid=abc; Path=/\r\n", b""),
        "/text": ("200 OK", "Content-Type: text/plain\r\n", b"hello"),
    }
    JSON = ("200 OK", "Content-Type: application/json\r\nServer-Timing: total;dur=5\r\n", b'{"id":7,"list":[1,2],"name":"x"}')

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str, str]] = Counter()
        super().__init__(self._answer)

    def _answer(self, connection) -> None:
        rest = b""
        while data := connection.recv(65536):
            rest += data
            # Head and body may arrive separately.
            if (taken := wire_recorder.request_size(rest)) is None:
                continue
            request, rest = rest[:taken].decode(), rest[taken:]
            head, _, body = request.partition("\r\n\r\n")
            method, path, _ = head.split("\r\n")[0].split(" ")
            cookie = re.search(r"(?mi)^cookie: (.*)$", head)
            self.asked[method, path, body + (f" with {cookie[1].strip()}" if cookie else "")] += 1
            status, headers, content = self.ANSWERS.get(path.split("?")[0], self.JSON)
            connection.sendall(f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        connection.close()


PHASES = "phases: [ { duration: 1, arrivalCount: 3 } ]"
SCRIPTS = {
    "get": (PHASES, "- get: { url: /json }"),
    "statuses": (PHASES, "- get: { url: /missing }\n- get: { url: /broken }"),
    "post and capture": (
        *(
            "variables: { v: 5 }",
            "- post: { url: /json, json: { v: '{{ v }}' }, capture: { json: $.id, as: id } }\n- get: { url: '/{{ id }}' }",
        ),
    ),
    "loop": (PHASES, "- loop: [ { get: { url: '/{{ $loopElement }}?{{ $loopCount }}' } } ]\n  over: [ a, b ]\n- think: 0"),
    "redirect": (PHASES, "- get: { url: /redirect }\n- get: { url: /redirect, followRedirect: false }"),
    "failed capture": (PHASES, "- get: { url: /json, capture: { json: $.none, as: x } }\n- get: { url: /never }"),
    "failed match": (PHASES, "- get: { url: /json, match: { json: $.id, value: '7' } }\n- get: { url: /never }"),
    "lenient captures": (
        PHASES,
        "- get: { url: /text, capture: [ { regexp: zzz, as: r, strict: false }, { header: x-none, as: h, strict: false } ] }\n"
        "- get: { url: '/r{{ r }}h{{ h }}' }",
    ),
    "lenient capture": (PHASES, "- get: { url: /json, capture: { json: $.none, as: x, strict: false } }\n- get: { url: '/x{{ x }}' }"),
    "refused": (PHASES, "- get: { url: 'http://127.0.0.1:1/' }"),
    "cookies": (PHASES, "- get: { url: /cookie }\n- get: { url: /json }"),
    "bodies": (
        PHASES,
        "- post: { url: /text, form: { a: 1, b: 'x y' } }\n- put: { url: /text, body: plain }\n"
        "- get: { url: /text, qs: { q: [1, 2] } }",
    ),
    "a body on GET": (PHASES, "- get: { url: /json, json: { a: 1 } }"),
    "phases": (
        "phases: [ { duration: 1, arrivalRate: 4, name: a }, { pause: 1 }, { duration: 2, arrivalRate: 1, rampTo: 3 } ]",
        "- get: { url: / }",
    ),
    "expect": (
        f"plugins: {{ expect: {{ outputFormat: silent }} }}, {PHASES}",
        "- get: { url: /json, expect: { statusCode: 200, contentType: json, hasProperty: nope } }\n"
        "- get: { url: /text, expect: { hasHeader: x } }",
    ),
    "ensure": (
        f"plugins: {{ ensure: {{}}, apdex: {{}} }}, ensure: {{ thresholds: [ {{ http.requests: 1 }} ] }}, {PHASES}",
        "- get: { url: / }",
    ),
    "ensure holds": (f"plugins: {{ ensure: {{}} }}, ensure: {{ maxErrorRate: 0 }}, {PHASES}", "- get: { url: / }"),
    "endpoints": (
        f"plugins: {{ metrics-by-endpoint: {{ useOnlyRequestNames: true }} }}, {PHASES}",
        "- get: { url: '/json?a={{ $uuid }}' }\n- get: { url: /text, name: named }\n- get: { url: /redirect }",
    ),
    "processor that signs": (
        f"processor: ./helpers.js, {PHASES}",
        "- post: { url: /json, json: { a: 1, who: '{{ who }}' }, beforeRequest: sign, afterResponse: read }\n"
        "- get: { url: '/{{ got }}' }",
    ),
    "processor with promises": (
        f"processor: ./helpers.js, {PHASES}",
        "- function: prepare\n- loop: [ { get: { url: '/item/{{ item.name }}' } } ]\n  whileTrue: hasMore\n- function: finish",
    ),
    "processor that fails": (
        f"processor: ./helpers.js, {PHASES}",
        "- get: { url: /json, afterResponse: refuse }\n- get: { url: /never }",
    ),
    "processor that rejects": (f"processor: ./helpers.js, {PHASES}", "- function: reject\n- get: { url: /never }"),
    "function that is missing": (f"processor: ./helpers.js, {PHASES}", "- function: nope\n- get: { url: /json }"),
    "condition by a function": (
        f"processor: ./helpers.js, {PHASES}",
        "- get: { url: /json, ifTrue: never }\n- get: { url: /text, ifTrue: always }",
    ),
    "query that a function changes": (
        f"processor: ./helpers.js, {PHASES}",
        "- get: { url: '/json?a=1', beforeRequest: page }\n- get: { url: /json, qs: { a: 1 }, beforeRequest: page }",
    ),
    "body that a function adds to GET": (
        f"processor: ./helpers.js, {PHASES}",
        "- get: { url: /json, allowGetBody: true, beforeRequest: add }\n"
        "- get: { url: /json, beforeRequest: add }\n- get: { url: /never }",
    ),
    "body that a function sends as bytes": (f"processor: ./helpers.js, {PHASES}", "- post: { url: /text, beforeRequest: bytes }"),
    "functions in templates": (
        f"processor: ./helpers.js, {PHASES}",
        "- function: define\n"
        "- post: { url: '/{{ $plus(1, 2) }}', json: { a: '{{ $greet() }}', b: 'x{{ $plus(b, 1) }}', c: '{{ $none(1) }}' } }\n"
        "- get: { url: '/{{ $fail() }}' }",
    ),
    "no such scenario key": ("phases: 5", "- get: { url: / }"),
    "two keys": (PHASES, "- get: { url: / }\n  post: { url: / }"),
}

HELPERS = """
const crypto = require('crypto');
module.exports = {
  sign(params, context, events, done) {
    context.vars.who = 'me';
    params.headers = { ...params.headers, 'x-sign': 'x' };
    params.headers['x-sign'] = crypto.createHmac('sha256', 'key').update('x').digest('hex');
    params.json.extra = [1, '{{ who }}'];
    events.emit('counter', 'signed', 1);
    return done();
  },
  read(params, response, context, events, done) {
    const body = JSON.parse(response.body);
    context.vars.got = `${body.id}-${response.statusCode}-${response.headers['content-type'].length}`;
    events.emit('histogram', 'size', response.body.length);
    return done();
  },
  async prepare(context, events) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    context.vars.items = [{ name: 'a' }, { name: 'b' }];
    context.vars.item = context.vars.items.shift();
  },
  hasMore(context, next) {
    context.vars.item = context.vars.items.shift();
    return next(context.vars.item !== undefined);
  },
  async finish(context, events) { events.emit('rate', 'finished'); },
  refuse(params, response, context, events, done) { return done(new Error('refused it')); },
  async reject(context, events) { throw Object.assign(new Error('long text'), { code: 'ESHORT' }); },
  page(params, context, events, done) { params.qs = { page: 2 }; done(); },
  add(params, context, events, done) { params.body = 'added'; done(); },
  bytes(params, context, events, done) { params.body = Buffer.from('{{ not a template }}'); done(); },
  define(context, events, done) {
    context.vars.who = 'me';
    context.funcs.$plus = (a, b) => a + b;
    context.funcs.$greet = () => context.funcs.$template('hi {{ who }}') + '{{ who }}';
    context.funcs.$fail = () => { throw new Error('no luck'); };
    done();
  },
  never: (vars) => vars.none === 1,
  always: () => true,
};
"""


# Processors in the styles that people use: the files, and a scenario.
PROCESSORS = {
    "login with users of a CSV file": (
        {
            "users.csv": "name,password\nann,a1\nbob,b2\n",
            "p.js": """
const fs = require('fs');
const path = require('path');
const parse = require('csv-parse/lib/sync');
const users = parse(fs.readFileSync(path.join(__dirname, 'users.csv')), { columns: true });
function pick(context, events, done) {
  const user = users[0];
  context.vars.credentials = Buffer.from(`${user.name}:${user.password}`).toString('base64');
  return done();
}
function token(params, response, context, events, done) {
  context.vars.token = `t${JSON.parse(response.body).id}`;
  return done();
}
function authorize(params, context, events, done) {
  params.headers = params.headers || {};
  params.headers.Cookie = `token=${context.vars.token}`;
  return done();
}
module.exports = { pick, token, authorize };
""",
        },
        "- function: pick\n- post: { url: /login, json: { basic: '{{ credentials }}' }, afterResponse: token }\n"
        "- get: { url: /json, beforeRequest: authorize }",
    ),
    "streams of a CSV file and a form": (
        {
            "users.csv": "name,password\nann,a1\nbob,b2\n",
            "p.js": """
const fs = require('fs');
const path = require('path');
const parse = require('csv-parse');
const FormData = require('form-data');
const file = path.join(__dirname, 'users.csv');
exports.load = async (context) => {
  context.vars.names = [];
  for await (const row of fs.createReadStream(file).pipe(parse({ columns: true }))) context.vars.names.push(row.name);
};
exports.read = (context, events, done) => {
  parse(fs.readFileSync(file), { columns: true }, (error, rows) => {
    context.vars.passwords = rows?.map((row) => row.password).join('-');
    done(error);
  });
};
exports.upload = (params, context, events, done) => {
  const form = new FormData();
  form.setBoundary('B');
  form.append('name', context.vars.names.join());
  form.append('file', Buffer.from('content'), 'a.txt');
  Object.assign(params, { body: form.getBuffer(), headers: form.getHeaders() });
  done();
};
""",
        },
        "- function: load\n- function: read\n- post: { url: '/{{ passwords }}', beforeRequest: upload }",
    ),
    "GraphQL with uuid and lodash": (
        {
            "p.js": """
const { v5 } = require('uuid');
const _ = require('lodash');
const query = `query Items($ids: [ID!]!) { items(ids: $ids) { id name } }`;
exports.build = (params, context, ee, next) => {
  const ids = _.times(3, (n) => v5(String(n), v5.DNS));
  params.json = { operationName: 'Items', query, variables: _.pickBy({ ids, none: undefined }, Boolean) };
  next();
};
exports.check = (params, response, context, ee, next) => {
  const body = JSON.parse(response.body);
  ee.emit('counter', `graphql.${_.camelCase('has errors')}.${_.has(body, 'errors')}`, 1);
  if (_.get(body, 'list.length') !== 2) return next(new Error('wrong list'));
  return next();
};
""",
        },
        "- post: { url: /json, beforeRequest: build, afterResponse: check }",
    ),
    "generated people": (
        {
            "p.js": """
const { faker } = require('@faker-js/faker');
faker.seed(7);
const person = { name: faker.person.fullName(), email: faker.internet.email(), id: faker.string.uuid(), at: faker.location.city() };
module.exports.person = function (requestParams, context, ee, next) {
  requestParams.json = { ...person, score: faker.number.int({ min: 1, max: 1 }) };
  return next();
};
""",
        },
        "- post: { url: /json, beforeRequest: person }",
    ),
    "custom histograms of dates": (
        {
            "p.js": """
const moment = require('moment');
module.exports = {
  age: async function (context, events) {
    const days = moment.utc('2026-11-27').diff(moment.utc('2026-11-01'), 'days');
    events.emit('histogram', 'age.days', days);
    events.emit('histogram', 'age.hours', moment.duration(days, 'days').asHours());
    events.emit('counter', 'age.seen', 2);
    events.emit('rate', 'age.rate');
    context.vars.day = moment.utc('2026-11-27').format('YYYY/MM/DD');
  },
};
""",
        },
        "- function: age\n- get: { url: '/{{ day }}' }",
    ),
    "an ES module with async hooks": (
        {
            "lib/wait.mjs": "export default (ms) => new Promise((resolve) => setTimeout(resolve, ms));\nexport const unit = 'ms';\n",
            "lib/names.cjs": "exports.names = ['a', 'b'];\nexports['not-a-name'] = 1;\n",
            "p.mjs": """
import wait, { unit } from './lib/wait.mjs';
import pkg, { names } from './lib/names.cjs';
import { createHash } from 'node:crypto';
export const config = { unit };
export async function before(requestParams, context, events) {
  await wait(3);
  requestParams.json = { hash: createHash('sha1').update(names.join('')).digest('hex'), known: pkg.names.length };
}
export async function after(requestParams, response, context, events) {
  await wait(1);
  events.emit('counter', `status.${response.statusCode}.${unit}`, 1);
}
""",
        },
        "- post: { url: /json, json: {}, beforeRequest: before, afterResponse: after }",
    ),
    "TypeScript": (
        {
            "types.ts": "export interface Item { id: number; name?: string }\nexport enum Kind { Small = 'S', Large = 'L' }\n",
            "p.ts": """
import { Kind, type Item } from './types';
type Next = (error?: Error) => void;
const items: Item[] = [{ id: 1 }, { id: 2, name: 'two' }];
export function choose(context: { vars: Record<string, unknown> }, events: unknown, next: Next): void {
  const last = items[items.length - 1]!;
  context.vars.item = `${last.id}${last.name ?? ''}${Kind.Large as string}`;
  next();
}
""",
        },
        "- function: choose\n- get: { url: '/{{ item }}' }",
    ),
    "data in a loop": (
        {
            "p.js": """
const yaml = require('js-yaml');
const pages = yaml.safeLoad('- {path: /a, times: 2}\\n- {path: /b, times: 1}');
let calls = 0;
module.exports = {
  first(context, ee, next) {
    context.vars.left = pages.flatMap((page) => Array(page.times).fill(page.path));
    context.vars.page = context.vars.left.shift();
    next();
  },
  more: (context, next) => { calls += 1; context.vars.page = context.vars.left.shift(); return next(Boolean(context.vars.page)); },
};
""",
        },
        "- function: first\n- loop: [ { get: { url: '{{ page }}' } } ]\n  whileTrue: more",
    ),
    "errors of every kind": (
        {
            "p.js": """
let turn = 0;
module.exports = {
  fail(context, events, done) {
    turn += 1;
    if (turn === 1) throw new TypeError('thrown');
    if (turn === 2) return done(Object.assign(new Error('coded'), { code: 'ECODED' }));
    return setTimeout(() => done('just text'), 5);
  },
};
""",
        },
        "- function: fail\n- get: { url: /never }",
    ),
}


def result_of(tool: str, loadline: Loadline, artillery: Artillery, name: str) -> dict:
    """Runs a script with one of the two tools and returns its results."""
    if name in PROCESSORS:
        files, steps = PROCESSORS[name]
        processor = next(file for file in files if file.startswith("p."))
        config = f"processor: ./{processor}, {PHASES}"
        for file, code in files.items():
            (loadline.folder / file).parent.mkdir(exist_ok=True)
            loadline.write(file, code)
        packages = loadline.folder / "node_modules"
        if not packages.exists():
            packages.symlink_to(artillery.packages)
    else:
        config, steps = SCRIPTS[name]
    flow = "".join(f"      {line}\n" for line in steps.splitlines())
    with Recorder() as server:
        text = f"config: {{ target: '{server.url}', {config} }}\nscenarios:\n  - name: s\n    flow:\n{flow}"
        script = loadline.write(f"{tool}.yml", text)
        loadline.write("helpers.js", HELPERS)
        args = ["run", script, "-o", f"{tool}.json"]
        run = loadline("artillery", *args) if tool == "ours" else artillery.run(loadline, *args)
    output = loadline.folder / f"{tool}.json"
    return {
        "code": run.returncode,
        "stdout": run.stdout.replace(server.url, "URL"),
        "asked": {(m, re.sub(r"[0-9a-f-]{36}", "UUID", path), body): n for (m, path, body), n in server.asked.items()},
        "json": json.loads(output.read_text().replace(server.url, "URL")) if output.exists() else None,
    }


def created_users(result: dict) -> int | None:
    return result["json"] and result["json"]["aggregate"]["counters"].get("vusers.created")


def run_both(loadline: Loadline, artillery: Artillery, name: str) -> tuple[dict, dict]:
    """Runs a script with both tools."""
    theirs, ours = (result_of(tool, loadline, artillery, name) for tool in ("theirs", "ours"))
    if created_users(theirs) != created_users(ours):
        # In Artillery the last arrival of a phase races with the end of the phase.
        theirs = result_of("theirs", loadline, artillery, name)
    return theirs, ours


@pytest.mark.parametrize("name", [*SCRIPTS, *PROCESSORS])
def test_script_behaves_as_in_artillery(loadline, artillery, name):
    theirs, ours = run_both(loadline, artillery, name)
    assert ours["code"] == theirs["code"], ours["stdout"]
    assert sum(ours["asked"].values()) == sum(theirs["asked"].values())
    if name in PROCESSORS or "$uuid" not in SCRIPTS[name][1]:
        assert ours["asked"] == theirs["asked"]
    assert summary_labels(ours["stdout"]) == summary_labels(theirs["stdout"])
    assert (ours["json"] is None) == (theirs["json"] is None)
    if theirs["json"] is None:
        assert re.sub(r"id: \S+", "id", ours["stdout"]) == re.sub(r"id: \S+", "id", theirs["stdout"])
        return
    mine, original = ours["json"]["aggregate"], theirs["json"]["aggregate"]
    assert mine["counters"] == original["counters"]
    assert set(mine["rates"]) == set(original["rates"])
    for kind in ("summaries", "histograms"):
        assert {key: list(value) for key, value in mine[kind].items()} == {key: list(value) for key, value in original[kind].items()}
        assert {key: value["count"] for key, value in mine[kind].items()} == {
            key: value["count"] for key, value in original[kind].items()
        }
    assert set(mine) == set(original)
    # Artillery also writes each rate beside the counters of a period, as null.
    periods = [set(period) - set(original["rates"]) for period in theirs["json"]["intermediate"]]
    assert set().union(*map(set, ours["json"]["intermediate"])) == set().union(*periods)
