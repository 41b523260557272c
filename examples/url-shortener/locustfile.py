"""Create short links; follow every tenth one through the redirect, and compare its destination with
the stored one.
"""

import os
import uuid

from locust import FastHttpUser, constant, events, task


class Citizen(FastHttpUser):
    """Creates one link after the other."""

    wait_time = constant(0)

    def on_start(self):
        self.made = 0
        self.headers = {"Authorization": "Bearer " + os.environ["SHORTENER_TOKEN"]}

    @task
    def create(self):
        long_url = f"https://example.test/check-in/?id={uuid.uuid4()}"
        link = {"url": long_url, "expires": "2040-01-01T00:00:00+00:00"}
        with self.client.post("/actions/short-urls", json=link, headers=self.headers, catch_response=True) as made:
            if made.status_code != 201:
                made.failure(f"status {made.status_code}")
                return
            short_url = made.json()["shortUrl"]
        self.made += 1
        if self.made % 10 == 0:
            self.follow(short_url, long_url)

    def follow(self, short_url, long_url):
        asked = {"allow_redirects": False, "name": "/short-urls/{id}", "catch_response": True}
        with self.client.get(short_url, **asked) as followed:
            if followed.headers is None or followed.headers.get("Location") != long_url:
                followed.failure("leads elsewhere")


@events.request.add_listener
def say(name, exception, **_):
    if exception:
        print(name, exception)
