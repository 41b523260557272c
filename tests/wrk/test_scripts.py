"""wrk's Lua interface: every function, and every kind of script error."""

import re

import fake_servers
import pytest
import wire_recorder

PANIC = "PANIC: unprotected error in call to Lua API (t.lua:1: {})"


@pytest.fixture
def script(loadline):
    """Runs a script. Returns its output and the process."""

    def run(text, *line):
        loadline.write("t.lua", text)
        line = line if len(line) > 1 else ("-t1", "-c1", "-d1s", "-s", "t.lua", *line)
        done = loadline("wrk", *line, timeout=30)
        own = re.compile(
            r"Running |  \d+ threads|  Thread |    (Latency|Req/Sec) |  \d+ requests in|(Requests|Transfer)/sec|  Non-2xx|  Socket"
        )
        return [line for line in done.stdout.splitlines() if not own.match(line)], done

    return run


@pytest.fixture
def peer():
    with wire_recorder.WireRecorder() as recorder:
        yield recorder


def test_script_functions_are_called_in_order(script, peer):
    printed, run = script(
        """
        io.write("load ", tostring(wrk == require("wrk")), "\\n")
        local n = 0
        function setup(thread)
          n = n + 1
          thread:set("number", n)
          thread:set("nested", { deep = { 1, "two", true } })
          print("setup", type(thread), tostring(thread.addr), thread:get("number"), thread:get("missing"))
          threads = threads or {}
          threads[n] = thread
        end
        function init(args)
          print("init", number, nested.deep[2], args[0], args[1], args[2], wrk.headers.Host)
          asked = 0
        end
        function request()
          asked = asked + 1
          return wrk.format()
        end
        function done(summary, latency, requests)
          local sum = 0
          for _, thread in ipairs(threads) do sum = sum + thread:get("asked") end
          print("done", summary.requests, sum, summary.errors.status + summary.errors.timeout)
        end
        """,
        *("-t2", "-c4", "-d1s", "-s", "t.lua", "--", peer.url, "more", "-x"),
    )
    assert run.returncode == 0, run.stderr
    address = peer.url.removeprefix("http://")
    # The main state loads the script first, then each thread's state before its setup.
    assert printed[:6] == [
        "load true",
        "load true",
        f"setup\tuserdata\t{address}\t1\tnil",
        f"init\t1\ttwo\t{peer.url}\tmore\t-x\t{address}",
        "load true",
        f"setup\tuserdata\t{address}\t2\tnil",
    ]
    name, requests, asked, errors = printed[-1].split("\t")
    assert (name, errors) == ("done", "0")
    # Thread 0 had one extra call before the load; requests in flight at the end were sent.
    assert int(asked) == peer.total() + 1
    assert int(requests) <= peer.total()


def test_format_uses_defaults_for_missing_parts(script, peer):
    printed, run = script(
        """
        wrk.method = "PUT"
        wrk.headers["X-A"] = 1
        function init()
          local function show(text) print((text:gsub("\\r\\n", "|"))) end
          wrk.headers["X-A"] = nil
          show(wrk.format())
          show(wrk.format("GET", "/p?q", { ["X-B"] = true }))
          local given = {}
          local text = wrk.format("POST", nil, given, 12345)
          print(given.Host ~= nil, given["Content-Length"], text:sub(-9):gsub("\\r\\n", "|"))
        end
        """,
        peer.url + "/base",
    )
    assert run.returncode == 0, run.stderr
    host = peer.url.removeprefix("http://")
    assert printed[0] == f"PUT /base HTTP/1.1|Host: {host}||"
    assert printed[1] in (
        f"GET /p?q HTTP/1.1|Host: {host}|X-B: true||",
        f"GET /p?q HTTP/1.1|X-B: true|Host: {host}||",
    )
    assert printed[2] == "true\t5\t||12345\t2"


def test_response_receives_only_declared_parameters(script, peer):
    for parameters, wanted in [
        ("status", "200\tnil\tnil"),
        ("status, headers", "200\tt\tnil"),
        ("status, headers, body", '200\tt\t{"result":3}'),
        ("...", '200\tt\t{"result":3}'),
    ]:
        printed, run = script(
            f"""
            response = function({parameters})
              if seen then return end
              seen = true
              local all = {{ {parameters} }}
              print(all[1], all[2] and all[2]["X-Token"], all[3])
            end
            """,
            peer.url,
        )
        assert run.returncode == 0, run.stderr
        assert printed == [wanted]


def test_token_from_a_response_is_sent_in_later_requests(script, peer):
    _, run = script(
        """
        local token
        request = function() return wrk.format("GET", token and "/resource" or "/login") end
        response = function(status, headers)
          if not token then
            token = headers["X-Token"]
            wrk.headers["X-Token"] = token
          end
        end
        """,
        peer.url,
    )
    assert run.returncode == 0
    login = [count for (line, _, _), count in peer.seen.items() if line.startswith("GET /login")]
    # Called twice: the first call only inspects the request.
    assert login == [1]
    resource = next(headers for (line, headers, _) in peer.seen if line.startswith("GET /resource"))
    assert "X-Token: t" in resource


def test_several_requests_are_pipelined(script, peer):
    _, run = script(
        """
        init = function()
          local parts = {}
          for i = 1, 8 do parts[i] = wrk.format("GET", "/" .. i) end
          parts[9] = wrk.format("HEAD", "/head")
          batch = table.concat(parts)
        end
        request = function() return batch end
        """,
        peer.url,
    )
    assert run.returncode == 0
    assert "Socket errors" not in run.stdout
    counts = {line.split(" ")[1]: n for (line, _, _), n in peer.seen.items()}
    assert len(counts) == 9
    assert len(set(counts.values())) == 1
    requests = int(re.search(r"(\d+) requests in", run.stdout)[1])
    assert 0 <= peer.total() - requests <= 9


def test_changing_pipeline_depth_is_followed(script, peer):
    _, run = script(
        """
        local n = 0
        request = function()
          n = n + 1
          return wrk.format():rep(n % 3 + 1)
        end
        """,
        peer.url,
    )
    assert run.returncode == 0
    assert "Socket errors" not in run.stdout
    assert peer.total() > 100


def test_delay_spaces_requests(script, peer):
    _, run = script("delay = function() return 100.9 end", peer.url)
    assert run.returncode == 0
    # One per 100 ms at most; fewer on a busy machine.
    assert 1 <= peer.total() <= 10


def test_thread_can_stop_itself(script, peer):
    printed, run = script(
        """
        local n = 0
        request = function()
          n = n + 1
          if n == 6 then wrk.thread:stop() end
          return wrk.format()
        end
        done = function(summary) print(summary.requests, summary.duration >= 1000000) end
        """,
        peer.url,
    )
    # Five were sent and one was only inspected; the test lasts its full duration.
    assert (printed, peer.total()) == (["5\ttrue"], 5)


def test_threads_may_have_different_addresses(script):
    with wire_recorder.WireRecorder() as first, wire_recorder.WireRecorder() as second:
        port = second.url.rsplit(":", 1)[1]
        _, run = script(
            f"""
            local n = 0
            function setup(thread)
              n = n + 1
              if n == 2 then thread.addr = wrk.lookup("127.0.0.1", "{port}")[1] end
              assert(wrk.connect(thread.addr))
            end
            """,
            *("-t2", "-c2", "-d1s", "-s", "t.lua", first.url),
        )
        assert run.returncode == 0, run.stderr
        assert first.total() > 0
        assert second.total() > 0
        assert {headers for _, headers, _ in second.seen} == {headers for _, headers, _ in first.seen}


def test_host_of_a_script_changes_only_the_header(script, peer):
    _, run = script('wrk.host, wrk.port = "no-such-host.invalid", "81"', peer.url)
    assert run.returncode == 0, run.stderr
    assert {headers for _, headers, _ in peer.seen} == {frozenset({"Host: no-such-host.invalid:81"})}


def test_changed_thread_address_applies_to_new_connections(script):
    with (
        wire_recorder.WireRecorder(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") as first,
        wire_recorder.WireRecorder() as second,
    ):
        port = second.url.rsplit(":", 1)[1]
        _, run = script(
            f"""
            function response(status) wrk.thread.addr = wrk.lookup("127.0.0.1", "{port}")[1] end
            """,
            first.url,
        )
        assert run.returncode == 0, run.stderr
        assert (first.total(), second.total() > 10) == (1, True)


def test_error_in_delay_stops_sending(script, peer):
    script('local n = 0 delay = function() n = n + 1 if n > 3 then error("late") end return 50 end', peer.url)
    assert peer.total() == 3


def test_thread_stopped_before_the_test_still_runs(script, peer):
    printed, _ = script("setup = function(t) t:stop() print(t.nonsense) end init = function() wrk.thread:stop() end", peer.url)
    assert (printed, peer.total() > 0) == (["nonsense"], True)


def test_replaced_response_function_receives_its_parameters(script, peer):
    """This includes responses that were in flight, or in the same batch, at the replacement."""
    printed, _ = script(
        """
        local batch
        request = function() batch = batch or wrk.format():rep(3) return batch end
        response = function(status)
          response = function(status, headers, body)
            if not seen then print(status, headers["X-Token"], body) end
            seen = true
          end
        end
        """,
        peer.url,
    )
    assert printed == ['200\tt\t{"result":3}']


def test_modules_next_to_the_script_and_json_are_loaded(loadline, peer):
    folder = loadline.folder / "scripts"
    folder.mkdir()
    (folder / "mine.lua").write_text("return { name = 'mine' }")
    (folder / "t.lua").write_text(
        r"""
        local json, mine = require("json"), require("mine")
        init = function()
          print(mine.name, json.encode({ 1, "a\n\"", { x = true } }), json.decode([[{"a":[1.5e1,null,"\u00e4\ud83d\ude00"]}]]).a[3])
          print(pcall(json.decode, "[1,]"))
        end
        """
    )
    run = loadline("wrk", "-t1", "-c1", "-d1s", "-s", "scripts/t.lua", peer.url)
    assert run.stdout.startswith('mine\t[1,"a\\n\\"",{"x":true}]\tä😀\nfalse\tjson: no value at byte 4\n'), run.stdout + run.stderr


def test_done_receives_consistent_figures(script, peer):
    printed, run = script(
        """
        done = function(s, latency, requests)
          print(latency.min <= latency.mean, latency.mean <= latency.max, latency.stdev >= 0, latency.nonsense)
          print(latency:percentile(0.0001) == latency.min, latency:percentile(99) <= latency.max, #latency > 0, type(latency))
          local value, count = latency(1)
          print(value == latency.min, count > 0, latency(0), requests.max > 0)
        end
        """,
        peer.url,
    )
    assert run.returncode == 0, run.stderr
    assert printed == ["true\ttrue\ttrue\tnonsense", "true\ttrue\ttrue\tuserdata", "true\ttrue\t0\ttrue"]


def test_c_modules_are_loaded(script, peer):
    """The binary exports LuaJIT's C interface and searches Debian's module folders."""
    printed, run = script(
        """
        local cjson = require("cjson")
        local ffi = require("ffi")
        ffi.cdef[[ int getpid(void); ]]
        print(cjson.encode({ a = { 1, 2 } }), ffi.C.getpid() > 0, bit.band(6, 3), jit.version_num >= 20100, unpack({ 7 }))
        """,
        peer.url,
    )
    assert "not found" not in run.stderr, "lua-cjson is missing: apt-get install lua-cjson"
    assert printed[0] == '{"a":[1,2]}\ttrue\t2\ttrue\t7'


def test_printed_output_keeps_its_order_in_a_pipe(script, peer, loadline):
    loadline.write(
        "t.lua",
        'print("load")\ninit = function() io.write("init\\n") end\n'
        'local n = 0\nresponse = function(s) n = n + 1 if n == 1 then print("answer") end end\ndone = function() print("done") end',
    )
    run = loadline("wrk", "-t1", "-c1", "-d1s", "-s", "t.lua", peer.url)
    lines = run.stdout.splitlines()
    order = [line for line in lines if line in ("load", "init", "answer", "done") or line.startswith(("Running", "Transfer"))]
    assert order == ["load", "load", "init", f"Running 1s test @ {peer.url}", "answer", f"{order[5]}", "done"]
    assert order[5].startswith("Transfer/sec")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('setup = function() error("in setup") end', PANIC.format("in setup")),
        ('init = function() error("in init") end', PANIC.format("in init")),
        ('request = function() error("in request") end', PANIC.format("in request")),
        ('response = function() error("in response") end', PANIC.format("in response")),
        ('delay = function() error("in delay") end', PANIC.format("in delay")),
        ('done = function() error("in done") end', PANIC.format("in done")),
        ("init = function() error({}) end", "PANIC: unprotected error in call to Lua API (?)"),
        ('local n = 0 request = function() n = n + 1 if n > 5 then error("later") end return wrk.format() end', PANIC.format("later")),
        ("setup = function(t) t:set('f', print) end", PANIC.format("cannot transfer 'function' to thread")),
        ("setup = function(t) t.foo = 1 end", PANIC.format("cannot set 'number' on thread")),
        ("request = function() return nil end", "incomplete request at 1:1"),
        ("request = function() return {} end", "incomplete request at 1:1"),
        ('request = function() return "garbage" end', "invalid HTTP method at 1:1"),
        ('request = function() return "GET / HTTP/1.1\\r\\nHost x\\r\\n\\r\\n" end', "invalid character in header at 2:5"),
        ('wrk.method = "FOO"', "invalid HTTP method at 1:1"),
        ('wrk.path = "x y"', "invalid URL at 1:6"),
        ("init = function() wrk.lookup('no-such-host.invalid', 'http') end", "unable to resolve no-such-host.invalid:http"),
        ("init = function() pcall(wrk.lookup, 'no-such-host.invalid', 'http') end", "unable to resolve no-such-host.invalid:http"),
    ],
)
def test_script_error_ends_the_run(script, peer, text, message):
    _, run = script(text, peer.url)
    assert run.returncode == 1
    assert message in [line for line in run.stderr.splitlines() if not line.startswith("loadline:")][0]


def test_script_error_during_the_test_keeps_the_record(script, loadline):
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        script('local n = 0 request = function() n = n + 1 if n > 50 then error("later") end return wrk.format() end', peer.url)
    summary = loadline.summary()
    assert (summary["run"]["state"], summary["run"]["ended_by"]) == ("interrupted", "the script failed")
    assert summary["requests"]["ok"] == 49


def test_script_with_syntax_error_is_ignored_as_in_wrk(script, peer):
    _, run = script("request = function(", peer.url)
    assert run.returncode == 0
    message = "t.lua: t.lua:1: <name> or '...' expected near '<eof>'"
    assert [line for line in run.stderr.splitlines() if not line.startswith("loadline:")] == [message, message]
    assert peer.total() > 0


def test_missing_script_is_reported_as_in_wrk(loadline, peer):
    run = loadline("wrk", "-t1", "-c1", "-d1s", "-s", "none.lua", peer.url)
    assert run.returncode == 0
    assert run.stderr.startswith("none.lua: cannot open none.lua")


def test_run_command_accepts_lua_scripts(loadline, peer):
    loadline.write(
        "t.lua", 'request = function() return wrk.format("GET", "/x") end\ndone = function(s) print("done", s.requests > 0) end'
    )
    run = loadline("run", "t.lua", "--target", peer.url, "--rate", "200/s", "--duration", "1s", "--check", "errors < 1%")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "200 planned = 200 started + 0 skipped + 0 unsent" in run.stdout
    assert "done\ttrue" in run.stdout
    closed = loadline("run", "t.lua", "--target", peer.url, "--connections", "4", "--workers", "2", "--duration", "1s")
    assert closed.returncode == 0, closed.stdout + closed.stderr
    assert "closed loop, 4 users for 1 s" in closed.stdout
    for flags, message in [
        ([], "add --target URL"),
        (["--target", "nonsense"], "is not a URL"),
        (["--target", peer.url, "--once"], "--once is not available for wrk scripts"),
        (["--target", peer.url, "--connections", "5", "--workers", "2"], "cannot be divided equally among"),
    ]:
        refused = loadline("run", "t.lua", *flags)
        assert refused.returncode == 2
        assert message in refused.stderr
    loadline.write("bad.lua", 'request = function() error("boom") end')
    failed = loadline("run", "bad.lua", "--target", peer.url)
    assert failed.returncode == 2
    assert failed.stderr.startswith("loadline: the script failed: bad.lua:1: boom")
    loadline.write("bad.lua", "request = function(")
    before = peer.total()
    refused = loadline("run", "bad.lua", "--target", peer.url, "--duration", "1s")
    assert (refused.returncode, peer.total()) == (2, before)
    assert refused.stderr.startswith("loadline: the script cannot be loaded: bad.lua:1: ")


def test_run_command_passes_headers_and_arguments_to_scripts(loadline, peer):
    loadline.write("t.lua", 'init = function(a) print("init", a[0] ~= nil, a[1], a[2]) end')
    run = loadline("run", "t.lua", "--target", peer.url, "--duration", "1s", "-H", "X-A: 1", "--", "one", "-x")
    assert "init\ttrue\tone\t-x" in run.stdout, run.stdout + run.stderr
    assert all("X-A: 1" in headers for _, headers, _ in peer.seen)
    assert peer.total() > 0
    for what, flags in [("t.lua", ["--target", peer.url]), (peer.url, [])]:
        refused = loadline("run", what, *flags, "-H", "nonsense")
        assert refused.returncode == 2
        assert "-H `nonsense` is not a header" in refused.stderr
    refused = loadline("run", peer.url, "--", "one")
    assert (refused.returncode, "arguments after -- are passed only to scripts" in refused.stderr) == (2, True)


SCRIPT = """config: {{ target: '{url}', phases: [ {{ duration: 1, arrivalCount: 2 }} ] }}
scenarios: [ {{ flow: [ {{ get: {{ url: /, headers: {{ x-own: step }} }} }}, {{ parallel: [ {{ get: {{ url: /in }} }} ] }} ] }} ]
"""


def test_header_flag_applies_to_every_request(loadline):
    with fake_servers.RecordingServer() as peer:
        loadline.write("script.yml", SCRIPT.format(url=peer.url))
        for what in ("script.yml", peer.url):
            peer.requests.clear()
            done = loadline("run", what, *([] if what == "script.yml" else ["--once"]), "-H", "X-A: one", "-H", "X-Own: flag")
            assert peer.requests, done.stderr
            for request in peer.requests:
                assert request.headers["x-a"] == "one"
                assert request.headers["x-own"] == ("step" if (what, request.path) == ("script.yml", "/") else "flag")


def test_repeated_reserved_or_long_headers(loadline):
    with fake_servers.FakeServer(fake_servers.never_answer) as silent:
        for headers, why in [
            (("Cookie: a=1", "cookie: b=2"), "-H `cookie` is set twice"),
            (("Content-Length: 5",), "is set from the body"),
            (("transfer-encoding: chunked",), "is set from the body"),
        ]:
            refused = loadline("run", silent.url, *[flag for text in headers for flag in ("-H", text)])
            assert (refused.returncode, why in refused.stderr) == (2, True), refused.stderr
    heads = []

    def record_head(connection) -> None:
        while head := connection.recv(65536):
            heads.append(head.decode().lower())
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with fake_servers.FakeServer(record_head) as peer:
        loadline.write("script.yml", SCRIPT.format(url=peer.url))
        for what in (peer.url, "script.yml"):
            heads.clear()
            loadline("run", what, *(["--once"] if what == peer.url else []), "-H", "X: y", "-H", "x: z", "-H", "User-Agent: me")
            assert heads
            for head in heads:
                assert re.findall(r"^(?:x|user-agent): (.*)\r$", head, re.M) == ["y", "z", "me"], head


def test_exponential_arrivals_depend_on_the_seed(loadline, peer):
    def moments(seed: str) -> list:
        done = loadline("wrk", "-t1", "-c4", "-d2s", "-R200", "-D", "exp", peer.url, env={"LOADLINE_SEED": seed})
        assert done.returncode == 0, done.stderr
        summary = loadline.summary()
        assert "poisson" in (loadline.folder / ".loadline/runs/last/plan.json").read_text()
        return summary["arrivals"]["planned"]

    one, again, other = moments("1"), moments("1"), moments("2")
    # Equal seeds give equal times, and the count fits a Poisson process.
    assert one == again
    assert one != other
    assert 300 < one < 500
    refused = loadline("wrk", "-R9", "-D", "zipf", peer.url)
    assert (refused.returncode, "-D zipf is not supported: use fixed, or exp" in refused.stderr) == (1, True)
    assert "-D, --dist" in loadline("wrk", "--help").stdout


def test_batches_at_a_rate_equal_the_planned_arrivals(loadline, start_lab):
    loadline.write(
        "t.lua",
        "local r init = function() r = string.rep(wrk.format('GET', '/api/sum?a=1&b=2'), 12) end request = function() return r end",
    )
    lab = start_lab("sum")
    run = loadline("run", "t.lua", "--target", lab.url, "--rate", "10/s", "--duration", "3s", "--connections", "1")
    assert run.returncode == 0, run.stderr
    arrivals = loadline.summary()["arrivals"]
    assert (arrivals["planned"], arrivals["started"], arrivals["completed"], arrivals["adds_up"]) == (30, 30, 30, True)
    # The last batch is as long as the others.
    assert loadline.summary()["requests"]["ok"] == 36 == lab.stats()["answered"]["total"]


def test_trailers_are_passed_with_the_headers(loadline):
    answer = b"HTTP/1.1 200 OK\r\nX-A: one\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: tail\r\nX-A: again\r\n\r\n"
    loadline.write("t.lua", 'response = function(s, h, b) if not n then n = 1 print(h["X-A"], h["X-T"], b) end end')
    with fake_servers.FakeServer(fake_servers.answer_with(answer)) as peer:
        done = loadline("wrk", "-t1", "-c1", "-d1s", "-s", "t.lua", peer.url)
    assert "again\ttail\tabc\n" in done.stdout
