"""A locustfile that uses one of each feature around a client: task orders, wait times, tags,
shapes, events, arguments, other clients.
"""

import os
import time

import gevent
from locust import (
    FastHttpUser,
    HttpUser,
    LoadTestShape,
    MarkovTaskSet,
    SequentialTaskSet,
    TaskSet,
    User,
    between,
    constant,
    constant_pacing,
    constant_throughput,
    events,
    tag,
    task,
    transition,
)
from locust.contrib.csv_request_logger import CsvRequestLogger
from locust.exception import InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopUser
from locust.runners import LocalRunner

LOG = open(os.environ["EVENTS"], "w")  # noqa: SIM115  (as long as the process)


def log(*what):
    LOG.write(" ".join(map(str, what)) + "\n")
    LOG.flush()


@events.init_command_line_parser.add_listener
def _(parser):
    parser.add_argument("--greeting", env_var="GREETING", default="hello")
    parser.add_argument("--hidden", include_in_web_ui=False, default="")


@events.init.add_listener
def _(environment, runner, web_ui, **kwargs):
    log("init", isinstance(runner, LocalRunner), web_ui, environment.parsed_options.greeting)
    CsvRequestLogger("requests.csv").register(environment)


for name in ("test_start", "test_stopping", "test_stop", "quitting", "quit", "reset_stats"):
    getattr(events, name).add_listener(lambda name=name, **kwargs: log(name, *sorted(kwargs)))
events.spawning_complete.add_listener(lambda user_count, **kwargs: log("spawned", user_count))
events.user_error.add_listener(
    lambda user_instance, exception, tb, **kwargs: log("error", type(user_instance).__name__, repr(exception))
)


@events.request.add_listener
def _(request_type, name, response_time, response_length, exception, context, **kwargs):
    log("request", request_type, name, response_length, repr(exception), context, *sorted(kwargs))


@events.request.add_listener
def _(name, **kwargs):
    if name == "listener fails":
        raise ValueError("a listener's own")
    if name == "listener stops":
        raise StopUser


class Nested(TaskSet):
    wait_time = constant(0)

    def on_start(self):
        log("nested on_start", self.client is self.user.client, self.parent is self.user)

    def on_stop(self):
        log("nested on_stop")

    @task
    def once(self):
        self.client.get("/", name="nested")
        self.interrupt(reschedule=False)


class Inner(SequentialTaskSet):
    @task
    def first(self):
        self.client.get("/", name="inner first")

    @task
    def last(self):
        self.client.get("/missing", name="inner last")
        self.interrupt()


class Chain(MarkovTaskSet):
    wait_time = constant(0)

    @transition("second")
    def first(self):
        self.client.get("/", name="markov first")

    @transition("third")
    def second(self):
        self.client.get("/", name="markov second")

    @transition("first")
    def third(self):
        raise InterruptTaskSet(reschedule=False)


class Steps(SequentialTaskSet):
    wait_time = constant_pacing(0)
    inner = task(Inner)

    @task
    def measured(self):
        with self.user.environment.events.request.measure("SELECT", "own client", 7, {"a": 1}) as meta:
            meta["response_length"] = 8
        try:
            with self.user.environment.events.request.measure("SELECT", "own failure"):
                raise OSError("of our own")
        except OSError:
            log("went on")
        self.user.environment.events.request.fire(
            request_type="SELECT", name="by hand", response_time=1.5, response_length=3, exception=None, context={}
        )

    @task
    def again(self):
        self.n = getattr(self, "n", 0) + 1
        if self.n == 1:
            raise RescheduleTask
        if self.n == 2:
            raise RescheduleTaskImmediately
        log("again", self.n)

    markov = task(Chain)
    nested = task(Nested)

    @tag("left out")
    @task
    def never(self):
        log("never")

    @task
    def raises(self):
        self.client.get("/", name="before it raises")
        raise RuntimeError("of a task")

    @task
    def listeners(self):
        self.client.get("/", name="listener fails")
        self.client.get("/", name="listener stops")
        log("not reached")


class Walk:
    weight = 1
    fixed_count = 1

    def on_start(self):
        log("on_start", type(self).__name__)
        # One class after the other, so that the order is deterministic.
        while Walk.turn != type(self).__name__:
            gevent.sleep(0.01)

    def on_stop(self):
        log("on_stop", type(self).__name__)
        Walk.turn = {"AsHttp": "AsFast", "AsFast": "Mine"}.get(type(self).__name__)

    turn = "AsHttp"


class AsHttp(Walk, HttpUser):
    wait_time = between(0, 0)
    tasks = [Steps]


class AsFast(Walk, FastHttpUser):
    wait_time = constant_throughput(1000)
    tasks = {Steps: 1}


class Client:
    """A client of another library."""

    def __init__(self, event):
        self.event = event

    def call(self, name):
        began = time.perf_counter()
        ms = (time.perf_counter() - began) * 1000
        self.event.fire(request_type="RPC", name=name, response_time=ms, response_length=0, response=None, context={}, exception=None)


class Mine(Walk, User):
    wait_time = constant(0)

    def __init__(self, environment):
        super().__init__(environment)
        self.client = Client(environment.events.request)

    @task
    def call(self):
        self.client.call("rpc")
        log(self.environment.runner.user_classes_count, self.environment.stats.total.num_requests)
        Shape.over = True
        raise StopUser


class Shape(LoadTestShape):
    over = False

    def tick(self):
        return None if self.over or self.get_run_time() > 50 else (3, 3)
