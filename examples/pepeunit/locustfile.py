"""Pepeunit's busiest addresses: the page, the metrics by REST, and the same counts by GraphQL.

Each user asks once a second.
"""

from locust import HttpUser, constant, task

COUNTS = "query { getBaseMetrics { userCount repoCount unitCount unitNodeCount unitNodeEdgeCount } }"


class Visitor(HttpUser):
    wait_time = constant(1)

    @task
    def page(self):
        self.client.get("/pepeunit")


class Watcher(HttpUser):
    wait_time = constant(1)

    @task
    def metrics(self):
        with self.client.get("/pepeunit/api/v1/metrics/", catch_response=True) as answer:
            if not answer.ok or len(answer.json()) != 5:
                answer.failure(f"status {answer.status_code}: {answer.text[:80]}")


class Client(HttpUser):
    wait_time = constant(1)

    @task
    def counts(self):
        with self.client.post("/pepeunit/graphql", json={"query": COUNTS}, catch_response=True) as answer:
            # GraphQL reports errors in a response with status 200.
            if not answer.ok:
                answer.failure(f"status {answer.status_code}")
            elif errors := answer.json().get("errors"):
                answer.failure(str(errors))
