"""A locustfile that uses one of each feature of a client.

Each user runs it once in a fixed order, and all events are logged.
"""

import json
import os

import gevent
from locust import FastHttpUser, HttpUser, events, task
from locust.exception import StopUser

EVENTS = open(os.environ["EVENTS"], "w")  # noqa: SIM115  (as long as the process)
CLOSED = "http://127.0.0.1:" + os.environ["CLOSED_PORT"]


@events.request.add_listener
def log_request(request_type, name, response_time, response_length, response, context, exception, start_time, url, **kwargs):
    status = getattr(response, "status_code", "none")
    line = [request_type, name, response_length, status, repr(exception), context, url, sorted(kwargs)]
    assert response_time > 0
    assert start_time > 1e9
    EVENTS.write(json.dumps(line) + "\n")
    EVENTS.flush()


def log_values(**what):
    EVENTS.write(json.dumps({key: str(value) for key, value in what.items()}) + "\n")
    EVENTS.flush()


class Both:
    abstract = True

    def context(self):
        return {"who": type(self).__name__}

    def over(self):
        gevent.spawn(self.environment.runner.quit)
        raise StopUser

    def bad_statuses(self):
        """Error statuses through every method of the clients, and bodies that end too early."""
        c = self.client
        for call in (
            lambda: c.post("/missing", data="a=1"),
            lambda: c.request("get", "/missing", name="lower case, missing"),
            lambda: c.get("/to-missing"),
            lambda: c.get("/binary"),
            lambda: c.get("/teapot/cookie"),
            lambda: c.get("/broken", name="with a cookie"),
            lambda: c.post("/broken", data=b"\x00\xff", name="binary, broken"),
            lambda: c.get("/cut"),
            lambda: c.get("/cut-chunk"),
            lambda: c.get("/cut-missing"),
        ):
            try:
                answer = call()
                log_values(status=answer.status_code, error=repr(answer.error) if hasattr(answer, "error") else "no error")
                log_values(content=answer.content, text=answer.text)
            except Exception as error:
                log_values(raised=repr(error))
        for path in ("/missing", "/cut"):
            try:
                with c.get(path, stream=True, catch_response=True, name="streamed " + path) as answer:
                    log_values(streamed=answer.status_code)
                    answer.success()
            except Exception as error:
                log_values(raised=repr(error))
        c.cookies.clear() if hasattr(c, "cookies") else c.cookiejar.clear()

    def common(self):
        c = self.client
        self.bad_statuses()
        answer = c.get("/")
        log_values(json=answer.json(), text=answer.text, content=answer.content, type=answer.headers["content-TYPE"], ok=answer.ok)
        log_values(url=answer.request.url, method=answer.request.method, history=len(answer.history))
        c.get("/?a=1&b=2")
        c.get("/", name="a name", context={"more": 1})
        c.get("/empty")
        for path in ("/missing", "/broken", "/teapot", "/partial", "/created"):
            c.get(path)
        c.post("/created", json={"a": [1, "é"], "b": None})
        c.post("/created", data="text", headers={"Content-Type": "text/csv"})
        c.post("/created", data=b"\x00\xff", headers={"Content-Type": "application/octet-stream"})
        c.post("/created")
        c.put("/created", data="text", headers={"content-type": "text/plain"})
        c.patch("/created", json=[])
        c.delete("/created")
        c.head("/")
        c.request("get", "/", name="lower case")
        c.post("/created", data="", headers={"X-Empty": "1"})
        c.post("/created", data="text", headers={"X-Empty": "1"})
        c.get("/sealed")
        c.options("/")
        c.get("/", headers={"X-One": "1", "accept": "text/plain"})
        c.get("/", headers={"User-Agent": "mine"})
        c.get("/", auth=("user", "päss"))
        c.get("/%7Euser/ü?q=é x")
        for path in ("/there", "/far"):
            answer = c.get(path)
            log_values(path=path, status=answer.status_code, history=len(answer.history), text=answer.text)
        log_values(stays=c.get("/there", allow_redirects=False).status_code)
        c.post("/see", json={"a": 1})
        c.post("/again", json={"a": 1})
        c.get("/gzip").json()
        log_values(deflated=c.get("/deflate").text)
        log_values(chunked=c.get("/chunked").content, latin=c.get("/latin").text)
        c.get("/until-close")
        c.get("/")
        c.get(CLOSED + "/x", name="refused")
        c.get("/gone")
        with c.get("/", catch_response=True) as answer:
            answer.failure("not good")
        with c.get("/missing", catch_response=True) as answer:
            answer.success()
        with c.get("/missing", catch_response=True) as answer:
            log_values(answered=answer.status_code)
        with c.get("/", catch_response=True) as answer:
            answer.request_meta["name"] = "renamed"
            answer.request_meta["context"] = {"changed": 1}
        with c.get("/", catch_response=True) as answer:
            answer.failure(ValueError("a value"))
            answer.success()
        try:
            with c.get("/", name="past", catch_response=True) as answer:
                raise KeyError("not reported")
        except KeyError as error:
            log_values(error=repr(error))
        with c.rename_request("group"):
            c.get("/?id=1")
            c.get("/?id=2")
        with self.rest("GET", "/") as answer:
            log_values(js=answer.js)
            assert answer.js["n"] == 1, "another number,"
        with self.rest("GET", "/created") as answer:
            log_values(js=answer.js)
        c.get("/cookie")
        c.get("/", name="with cookies")
        c.get("/away")
        c.get("/", name="with more")


class Requests(Both, HttpUser):
    @task
    def everything(self):
        self.common()
        c = self.client
        c.post("/created", data={"a": "1 2", "b": ["x", "y"]})
        c.post("/created", files={"f": ("name.txt", b"text", "text/plain")}, name="a file")
        c.get("/", params={"q": "é 1", "r": [1, 2]})
        c.get(self.host + "/?absolute=1")
        c.get("/", cookies={"own": "1"})
        answer = c.get("/silent", timeout=1.5)
        log_values(error=type(answer.error).__name__, status=answer.status_code)
        c.get("/loop")
        c.get("/cut")
        c.headers["X-All"] = "yes"
        c.get("/")
        answer = c.get("/", hooks={"response": lambda r, *a, **k: log_values(hooked=r.status_code)})
        log_values(cookies=sorted(c.cookies.get_dict().items()), elapsed=answer.elapsed.total_seconds() > 0)
        with c.get("/", stream=True, catch_response=True) as answer:
            log_values(streamed=b"".join(answer.iter_content(4)))
        self.over()


class Fast(Both, FastHttpUser):
    network_timeout = 1.5
    max_redirects = 4

    @task
    def everything(self):
        self.common()
        c = self.client
        c.post("/created", data={"a": "1 2"})
        c.post("/created", data="no type")
        c.post("/created", data=b"no type")
        c.get("/", params={"q": "é 1"})
        c.get("/", timeout=30)
        c.get(self.host + "/?absolute=1")
        answer = c.get("/silent")
        log_values(error=type(answer.error).__name__, status=answer.status_code)
        c.get("/loop")
        c.get("/cut")
        c.client.default_headers["X-All"] = "yes"
        c.get("/")
        log_values(cookies=sorted(cookie.name for cookie in c.cookiejar))
        with c.get("/", stream=True, catch_response=True) as answer:
            log_values(streamed=answer.stream.read())
        c.client.clientpool.close()
        c.get("/")
        self.over()
