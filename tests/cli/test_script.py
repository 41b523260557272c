"""Plans with a script: functions in JavaScript that steps call."""

import fake_servers

PLAN = """loadline: 1
target: {url}
load: {{ count: 3, duration: 1s }}
script: helpers.js
{rest}
"""

HELPERS = """
const crypto = require('crypto');
module.exports = {
  async logIn(context) { context.vars.token = `t-${context.vars.$uuid.length}`; },
  sign(request, context, events, done) {
    request.headers['x-sign'] = crypto.createHash('sha256').update(JSON.stringify(request.json)).digest('hex');
    done();
  },
  read(request, response, context, events, done) { context.vars.seen = response.statusCode; done(); },
  more: (context, next) => next(context.vars.$loopCount < 2),
  broken() { throw new Error('broken on purpose'); },
  note(error, request, context, events, done) { console.log('noted:', error.message); done(); },
};
"""


def run(loadline, rest: str, *flags: str, code: int = 0):
    loadline.write("helpers.js", HELPERS)
    with fake_servers.RecordingServer() as peer:
        done = loadline("run", loadline.write("plan.yml", PLAN.format(url=peer.url, rest=rest)), *flags)
    assert done.returncode == code, done.stdout + done.stderr
    return peer, done


def test_steps_call_functions(loadline):
    rest = """steps:
  - call: logIn
  - post: { url: '/a/{{ token }}', json: { n: 1 }, before: sign, after: [read] }
  - loop: { while: more, steps: [{ get: '/b/{{ seen }}/{{ $loopCount }}' }] }"""
    peer, _ = run(loadline, rest)
    assert sorted(peer.lines) == ["GET /b/200/0"] * 3 + ["GET /b/200/1"] * 3 + ["GET /b/200/2"] * 3 + ["POST /a/t-36"] * 3
    assert all(len(request.headers["x-sign"]) == 64 for request in peer.requests if request.method == "POST")


def test_failing_function_fails_the_iteration(loadline):
    rest = "scenarios: [{ name: s, steps: [{ call: broken }, { get: / }] }]"
    peer, done = run(loadline, rest, code=3)
    assert peer.lines == []
    assert "helpers.js:11:" in done.stdout + done.stderr
    assert "3 started = 0 completed + 3 failed" in done.stdout


def test_function_receives_errors(loadline):
    rest = "scenarios: [{ name: s, on-error: note, steps: [{ get: 'http://127.0.0.1:1/' }] }]"
    _, done = run(loadline, rest, code=3)
    assert done.stdout.count("noted: ") == 3


def test_missing_function_is_refused(loadline):
    _, done = run(loadline, "steps: [{ call: gone }]", code=2)
    names = "broken, logIn, more, note, read, sign"
    assert f"plan.yml:5:17: {loadline.folder}/helpers.js exports no function `gone`: it exports {names}" in done.stderr


def test_missing_script_is_refused(loadline):
    with fake_servers.RecordingServer() as peer:
        plan = PLAN.format(url=peer.url, rest="steps: [{ get: / }]")
        done = loadline("run", loadline.write("plan.yml", plan))
    assert done.returncode == 2
    assert "plan.yml:4:9: `script: helpers.js` cannot be read: " in done.stderr


def test_call_without_script_is_refused(loadline):
    plan = "loadline: 1\ntarget: http://127.0.0.1:9\nload: { count: 1, duration: 1s }\nsteps: [{ call: f }]\n"
    done = loadline("run", loadline.write("plan.yml", plan))
    assert done.returncode == 2
    assert "`f` is not defined: add `script` with the file that exports it" in done.stderr


def test_once_shows_the_calls(loadline):
    _, done = run(loadline, "steps: [{ call: logIn }, { get: '/{{ token }}' }]", "--once")
    assert "call logIn" in done.stdout
