"""A real Redis in which a service counts."""

import json


def test_redis_figures_show_the_load_of_a_service(loadline, serve, redis):
    service = serve(redis=redis)
    run = loadline(
        *("run", f"{service.url}/stock", "--rate", "30/s", "--duration", "5s"),
        *("--server", f"cache=redis://:hunter2@127.0.0.1:{redis}", "--check", "server.cache.total_commands_processed > 15/s"),
        *("--check", "server.cache.used_memory > 100000", "--check", "server.cache.rejected_connections <= 0/s"),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    series = json.loads((loadline.folder / ".loadline/runs/last/series.json").read_text())
    panels = {panel["name"]: panel for panel in series["server"]}
    assert panels["cache.used_memory"]["unit"] == "B"
    assert "Redis clients (cache)" in loadline.summary()["saturation"]["watched"]
