"""Locust on Loadline's engine. Importing this before a locustfile's ``from locust`` is all it takes: users' sessions then send and time
their requests natively; everything else is the real Locust's."""

from loadline.locust.activation import activate

activate()
