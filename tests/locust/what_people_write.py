"""A locustfile with one of everything that locustfiles do with a client: each user does it once, in the same order every time, and
everything that a listener is told goes into a file."""

import json
import os

import gevent
from locust import FastHttpUser, HttpUser, events, task
from locust.exception import StopUser

TOLD = open(os.environ["TOLD"], "w")  # noqa: SIM115  (as long as the process)
NOBODY = "http://127.0.0.1:" + os.environ["NOBODY"]


@events.request.add_listener
def told(request_type, name, response_time, response_length, response, context, exception, start_time, url, **kwargs):
    status = getattr(response, "status_code", "none")
    line = [request_type, name, response_length, status, repr(exception), context, url, sorted(kwargs)]
    assert response_time > 0
    assert start_time > 1e9
    TOLD.write(json.dumps(line) + "\n")
    TOLD.flush()


def see(**what):
    TOLD.write(json.dumps({key: str(value) for key, value in what.items()}) + "\n")
    TOLD.flush()


class Both:
    abstract = True

    def context(self):
        return {"who": type(self).__name__}

    def over(self):
        gevent.spawn(self.environment.runner.quit)
        raise StopUser

    def bad_statuses(self):
        """Bad statuses on every way through the clients, and bodies that end too soon."""
        c = self.client
        for call in (
            lambda: c.post("/missing", data="a=1"),
            lambda: c.request("get", "/missing", name="lower case, missing"),
            lambda: c.get("/to-missing"),
            lambda: c.get("/binary"),
            lambda: c.get("/teapot/cookie"),
            lambda: c.get("/broken", name="behind a cookie"),
            lambda: c.post("/broken", data=b"\x00\xff", name="binary, broken"),
            lambda: c.get("/cut"),
            lambda: c.get("/cut-chunk"),
            lambda: c.get("/cut-missing"),
        ):
            try:
                answer = call()
                see(status=answer.status_code, error=repr(answer.error) if hasattr(answer, "error") else "no error")
                see(content=answer.content, text=answer.text)
            except Exception as error:
                see(raised=repr(error))
        for path in ("/missing", "/cut"):
            try:
                with c.get(path, stream=True, catch_response=True, name="streamed " + path) as answer:
                    see(streamed=answer.status_code)
                    answer.success()
            except Exception as error:
                see(raised=repr(error))
        c.cookies.clear() if hasattr(c, "cookies") else c.cookiejar.clear()

    def common(self):
        c = self.client
        self.bad_statuses()
        answer = c.get("/")
        see(json=answer.json(), text=answer.text, content=answer.content, type=answer.headers["content-TYPE"], ok=answer.ok)
        see(url=answer.request.url, method=answer.request.method, history=len(answer.history))
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
            see(path=path, status=answer.status_code, history=len(answer.history), text=answer.text)
        see(stays=c.get("/there", allow_redirects=False).status_code)
        c.post("/see", json={"a": 1})
        c.post("/again", json={"a": 1})
        c.get("/gzip").json()
        see(deflated=c.get("/deflate").text)
        see(chunked=c.get("/chunked").content, latin=c.get("/latin").text)
        c.get("/until-close")
        c.get("/")
        c.get(NOBODY + "/x", name="nobody")
        c.get("/gone")
        with c.get("/", catch_response=True) as answer:
            answer.failure("not good")
        with c.get("/missing", catch_response=True) as answer:
            answer.success()
        with c.get("/missing", catch_response=True) as answer:
            see(answered=answer.status_code)
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
            see(error=repr(error))
        with c.rename_request("group"):
            c.get("/?id=1")
            c.get("/?id=2")
        with self.rest("GET", "/") as answer:
            see(js=answer.js)
            assert answer.js["n"] == 1, "another number,"
        with self.rest("GET", "/created") as answer:
            see(js=answer.js)
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
        see(error=type(answer.error).__name__, status=answer.status_code)
        c.get("/loop")
        c.get("/cut")
        c.headers["X-All"] = "yes"
        c.get("/")
        answer = c.get("/", hooks={"response": lambda r, *a, **k: see(hooked=r.status_code)})
        see(cookies=sorted(c.cookies.get_dict().items()), elapsed=answer.elapsed.total_seconds() > 0)
        with c.get("/", stream=True, catch_response=True) as answer:
            see(streamed=b"".join(answer.iter_content(4)))
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
        see(error=type(answer.error).__name__, status=answer.status_code)
        c.get("/loop")
        c.get("/cut")
        c.client.default_headers["X-All"] = "yes"
        c.get("/")
        see(cookies=sorted(cookie.name for cookie in c.cookiejar))
        with c.get("/", stream=True, catch_response=True) as answer:
            see(streamed=answer.stream.read())
        c.client.clientpool.close()
        c.get("/")
        self.over()
