"""``loadline k8s render``: manifests are valid for Kubernetes and KubeRay, contain the test's
files, and call a valid command line.
"""

from __future__ import annotations

import base64
import json
import shlex
import time
from pathlib import Path

import jsonschema
import pytest
import yaml
from conftest import Loadline

SCHEMA = json.loads((Path(__file__).parent / "kubernetes.schema.json").read_text())
IMAGE = "registry.example/team/loadline:0.1.0"
PLAN = """
loadline: 1
target: http://127.0.0.1:9
csv: { file: ../data/users.csv }
load:
  - rate: 100/s
    duration: 10m
steps:
  - get: /{{ name }}
"""
USERS = b"name\nanna\nb\xc3\xb6rge\n"


@pytest.fixture
def render(loadline):
    """Renders from a folder below the data's folder. Returns the documents by kind, and the text."""
    (loadline.folder / "tests").mkdir()
    (loadline.folder / "data").mkdir()
    (loadline.folder / "tests/plan.yml").write_text(PLAN)
    (loadline.folder / "data/users.csv").write_bytes(USERS)

    def call(*args: object, what: str = "tests/plan.yml", nodes: object = 3, image: str = IMAGE):
        return loadline("k8s", "render", what, "--image", image, "--nodes", nodes, *args)

    def documents(*args: object, **how: object) -> tuple[dict[str, dict], str]:
        done = call(*args, **how)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        found = list(yaml.safe_load_all(done.stdout))
        for document in found:
            jsonschema.validate(document, SCHEMA)
        return {document["kind"]: document for document in found}, done.stdout

    documents.call = call
    return documents


def pods_of(job: dict) -> list[dict]:
    spec = job["spec"]
    if job["kind"] == "Job":
        return [spec["template"]]
    cluster = spec["rayClusterSpec"]
    return [cluster["headGroupSpec"]["template"], *(group["template"] for group in cluster["workerGroupSpecs"])]


def test_schema_rejects_invalid_manifests(render):
    found, _ = render()
    job = found["RayJob"]
    for break_it in (
        lambda spec: spec.update(entryPoint="x"),
        lambda spec: spec.update(backoffLimit="0"),
        lambda spec: spec.update(submissionMode="Sidecar"),
        lambda spec: spec["rayClusterSpec"]["headGroupSpec"]["rayStartParams"].update({"num-cpus": 0}),
        lambda spec: spec["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"].update(nodeselector={}),
        lambda spec: spec["rayClusterSpec"]["workerGroupSpecs"][0].pop("maxReplicas"),
    ):
        broken = json.loads(json.dumps(job))
        break_it(broken["spec"])
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)


def test_ray_job_runs_exactly_once(render):
    found, text = render("--", "--check", "p99 < 250ms", "--tag", "it's")
    assert set(found) == {"PersistentVolumeClaim", "ConfigMap", "RayJob"}
    job = found["RayJob"]
    spec = job["spec"]
    assert job["metadata"]["name"] == "loadline-plan"
    assert (spec["submissionMode"], spec["backoffLimit"], spec["shutdownAfterJobFinishes"]) == ("SidecarMode", 0, True)
    # Ten minutes of load, half a minute of drain, ten minutes to wait for nodes, and fifteen for
    # the rest.
    assert spec["activeDeadlineSeconds"] == 600 + 30 + 600 + 900
    cluster = spec["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    head, nodes = cluster["headGroupSpec"], cluster["workerGroupSpecs"][0]
    assert head["rayStartParams"]["num-cpus"] == "0"
    assert head["rayStartParams"]["object-store-memory"] == nodes["rayStartParams"]["object-store-memory"] == "80000000"
    assert [nodes[key] for key in ("replicas", "minReplicas", "maxReplicas")] == [3, 3, 3]
    for pod in pods_of(job):
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in pod["spec"]["containers"][0]["env"]
    assert spec["entrypoint"] == (
        "cd /test && exec loadline run tests/plan.yml --on ray --nodes 3 --wait 600s --runs /records "
        "--check 'p99 < 250ms' --tag 'it'\\''s'"
    )
    assert "kubectl apply" in text


def test_indexed_job_runs_parts_of_one_run(render):
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    found, text = render("--job", "indexed", "--start-at", start, "--", "--seed", 7, "--tag", "$(HOME)")
    assert set(found) == {"PersistentVolumeClaim", "ConfigMap", "Job"}
    spec = found["Job"]["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
    assert (spec["backoffLimit"], spec["podReplacementPolicy"]) == (0, "Failed")
    assert 3600 + 630 + 890 < spec["activeDeadlineSeconds"] <= 3600 + 630 + 900
    container = spec["template"]["spec"]["containers"][0]
    index = "$(JOB_COMPLETION_INDEX)"
    assert container["command"] == ["loadline"]
    assert container["args"] == ["run", "tests/plan.yml", "--shard-index", f"{index}/3", "--seed", "7", "--start-at", start] + [
        "--runs",
        f"/records/{index}",
        "--tag",
        "$$(HOME)",
    ]
    assert container["workingDir"] == "/test"
    assert found["PersistentVolumeClaim"]["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "#   loadline merge /records/0/last /records/1/last /records/2/last\n" in text
    assert f"# THE LOAD BEGINS AT {start}: " in text


def test_indexed_job_without_start_time_states_when_it_starts(render):
    before = time.time()
    found, text = render("--job", "indexed")
    args = found["Job"]["spec"]["template"]["spec"]["containers"][0]["args"]
    said = args[args.index("--start-at") + 1]
    at = time.mktime(time.strptime(said, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    assert before + 299 <= at <= time.time() + 301
    assert said in text
    assert int(args[args.index("--seed") + 1]) >= 0


@pytest.mark.parametrize("job", ["ray", "indexed"])
def test_pods_are_unprivileged_and_on_separate_hosts(render, job):
    found, text = render("--job", job, "--cpu", "1500m", "--memory", "3Gi", "--env-from", "shop.secrets", "--namespace", "load")
    assert {document["metadata"]["namespace"] for document in found.values()} == {"load"}
    pods = pods_of(found["RayJob" if job == "ray" else "Job"])
    for pod in pods:
        assert pod["metadata"]["annotations"] == {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
        assert pod["spec"]["restartPolicy"] == "Never"
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        container = pod["spec"]["containers"][0]
        assert container["image"] == IMAGE
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        named = {volume["name"] for volume in pod["spec"]["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == named
    assert pods[0]["spec"]["containers"][0]["envFrom"] == [{"secretRef": {"name": "shop.secrets"}}]
    node = pods[-1]
    assert node["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1500m", "memory": "3Gi"}
    rule = node["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"]["matchLabels"] == node["metadata"]["labels"]
    # Documents are separated only by our own markers, never by text of the user.
    assert text.count("\n---\n") == 3


def test_files_keep_their_paths_and_bytes(render, loadline):
    (loadline.folder / "data/ca.der").write_bytes(b"name\n\xff\xfe\n")
    found, _ = render("--", "--cacert", "data/ca.der")
    volume = {each["name"]: each for each in pods_of(found["RayJob"])[0]["spec"]["volumes"]}["files"]
    paths = {item["path"]: item["key"] for item in volume["configMap"]["items"]}
    assert set(paths) == {"tests/plan.yml", "data/users.csv", "data/ca.der"}
    config = found["ConfigMap"]
    assert volume["configMap"]["name"] == config["metadata"]["name"]
    assert config["data"][paths["tests/plan.yml"]] == PLAN
    assert config["data"][paths["data/users.csv"]] == USERS.decode()
    assert base64.b64decode(config["binaryData"][paths["data/ca.der"]]) == b"name\n\xff\xfe\n"


def test_file_with_a_secret_becomes_a_secret_with_a_warning(render, loadline, monkeypatch):
    def with_header(value: str) -> str:
        return PLAN.replace("- get: /{{ name }}", f"- get: {{ url: /, headers: {{ authorization: '{value}' }} }}")

    plan = with_header("Bearer kd83-hh29-very-secret")
    (loadline.folder / "tests/plan.yml").write_text(plan)
    done = render.call("--", "--header", "x-api-key: 5up3r-s3cret-key")
    assert done.returncode == 0
    files, flags = done.stderr.splitlines()
    assert "tests/plan.yml contains a secret" in files
    assert "--env-from" in files
    assert "the flags after -- contain a secret" in flags
    assert "kd83" not in done.stderr + flags
    found = {document["kind"]: document for document in yaml.safe_load_all(done.stdout)}
    for document in found.values():
        jsonschema.validate(document, SCHEMA)
    assert "ConfigMap" not in found
    assert plan in found["Secret"]["stringData"].values()
    head = pods_of(found["RayJob"])[0]
    volume = {each["name"]: each for each in head["spec"]["volumes"]}["files"]
    assert volume["secret"]["secretName"] == found["Secret"]["metadata"]["name"]
    # A value from the cluster's own Secret is in no manifest, so there is no warning.
    monkeypatch.setenv("TOKEN", "kd83-hh29-very-secret")
    (loadline.folder / "tests/plan.yml").write_text(with_header("Bearer {{ $env.TOKEN }}"))
    found, _ = render("--env-from", "tokens")
    assert "Secret" not in found


def test_render_from_a_subfolder_runs_in_it(loadline, render):
    done = Loadline(loadline.folder / "tests")("k8s", "render", "plan.yml", "--image", IMAGE, "--nodes", 2)
    assert done.returncode == 0, done.stderr
    job = next(each for each in yaml.safe_load_all(done.stdout) if each["kind"] == "RayJob")
    assert job["spec"]["entrypoint"].startswith("cd /test/tests && exec loadline run plan.yml --on ray ")


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n",
        "- 'it''s'\n",
        'x: "\\u0000"\n',
        "tab:\t1\n",
        "trailing  \n\n\n",
        "\n\nfirst\n",
        "#: %YAML 1.1\n---\n...\n",
        "ö: \U0001f600\r\n",
    ],
)
def test_text_is_preserved_exactly(render, loadline, text):
    content = PLAN + "".join(f"# {line}" for line in text.splitlines(keepends=True)) + "\n"
    (loadline.folder / "tests/plan.yml").write_bytes(content.encode())
    found, _ = render()
    assert content in found["ConfigMap"]["data"].values()


def test_rendered_command_line_is_valid(render, loadline):
    """Runs it until it fails to reach the cluster."""
    found, _ = render("--", "--check", "p99 < 250ms")
    words = shlex.split(found["RayJob"]["spec"]["entrypoint"].partition("exec loadline ")[2])
    words[words.index("--runs") + 1] = "records"
    done = loadline(*words, "--address", "127.0.0.1:1", env={"LOADLINE_PYTHON": "/nowhere/python"})
    assert done.returncode == 3
    assert "/nowhere/python" in done.stderr


def test_in_image_needs_no_config_map(render):
    found, _ = render("--in-image", "/srv/tests")
    assert "ConfigMap" not in found
    assert found["RayJob"]["spec"]["entrypoint"].startswith("cd /srv/tests && ")
    for pod in pods_of(found["RayJob"]):
        assert all("configMap" not in volume for volume in pod["spec"]["volumes"])


def test_output_flag_writes_a_file(render, loadline):
    done = render.call("--output", "job.yml")
    assert (done.returncode, done.stdout) == (0, "")
    assert (loadline.folder / "job.yml").read_text().startswith("# Created by `loadline k8s render`")


def test_files_larger_than_a_config_map_are_refused(render, loadline):
    (loadline.folder / "data/users.csv").write_bytes(b"name\n" + b"anna\n" * 220_000)
    done = render.call()
    assert done.returncode == 2
    assert done.stderr.startswith("loadline: the files of the test are 110")
    assert "a ConfigMap holds at most 1048576: put them into the image and pass their folder with --in-image" in done.stderr
    assert render.call("--in-image", "/srv").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--name", "Shop"],
            "--name Shop: use lower-case letters, digits and dashes, starting with a letter and not ending with a dash, "
            "at most 47 characters",
        ),
        (["--name", "a" * 48], f"--name {'a' * 48}: use lower-case letters"),
        (["--namespace", "x_y"], "--namespace x_y: use lower-case letters"),
        (["--env-from", "a b"], "--env-from a b: not a valid name for a Secret"),
        (["--cpu", "two"], "--cpu two: use the Kubernetes format, for example 2 or 1500m"),
        (["--memory", "2GiB"], "--memory 2GiB: use the Kubernetes format, for example 2Gi or 512Mi"),
        (["--storage", "0Gi"], "--storage 0Gi: use the Kubernetes format, for example 5Gi"),
        (["--ray-version", "latest"], "--ray-version latest: use the version of Ray in the image, for example 2.60.0"),
        (["--wait", "soon"], "--wait 'soon', column 1: "),
        (["--deadline", "1"], "--deadline '1', column 1: "),
        (["--in-image", "tests"], "--in-image tests: use an absolute path in the image"),
        (["--start-at", "2030-01-01T00:00:00Z"], "--start-at requires --job indexed: a conductor starts its nodes itself"),
        (
            ["--job", "indexed", "--start-at", "noon"],
            "--start-at noon: use a time such as 2026-11-24T19:30:00Z, or seconds since 1970",
        ),
        (["--job", "indexed", "--start-at", "2020-01-01T00:00:00Z"], "--start-at 2020-01-01T00:00:00Z has passed"),
        (["--", "--on", "local"], "--on after --: the manifest sets it, so remove it"),
        (["--", "--runs=/x"], "--runs=/x after --: the manifest sets it, so remove it"),
        (["--", "--cheque", "x"], "after --: unexpected argument '--cheque' found"),
        (["--", "--rate", "fast"], "--rate"),
    ],
)
def test_render_bad_flags_are_one_line(render, arguments, line):
    done = render.call(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"loadline: {line}"), done.stderr


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ({"nodes": 0}, "--nodes 0: use a number from 1 to 4096"),
        ({"nodes": 5000}, "--nodes 5000: use a number from 1 to 4096"),
        ({"image": "a b"}, "--image a b: not a valid image name"),
        ({"what": "tests/none.yml"}, "tests/none.yml: "),
        ({"what": "locustfile.py"}, "Locust distributes a locustfile with its own master and workers"),
    ],
)
def test_render_bad_names_are_one_line(render, how, line):
    done = render.call(**how)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"loadline: {line}"), done.stderr


def test_url_needs_no_files(render):
    found, _ = render("--", "--rate", "50/s", "--duration", "1m", what="https://shop.example/")
    assert set(found) == {"PersistentVolumeClaim", "RayJob"}
    assert "loadline run https://shop.example/ --on ray" in found["RayJob"]["spec"]["entrypoint"]
    assert found["RayJob"]["spec"]["activeDeadlineSeconds"] == 60 + 30 + 600 + 900


@pytest.mark.parametrize(
    ("more", "flags", "what"),
    [
        ("setup:\n  - get: /login\n", [], "setup"),
        ("teardown:\n  - get: /logout\n", [], "teardown"),
        ("", ["--stop", "errors > 10% for 10s: stop fail"], "stop rules"),
    ],
)
def test_features_of_the_whole_run_require_a_ray_job(render, loadline, more, flags, what):
    (loadline.folder / "tests/plan.yml").write_text(PLAN + more)
    assert render.call("--", *flags).returncode == 0
    done = render.call("--job", "indexed", "--", *flags)
    assert done.returncode == 2
    assert done.stderr == (f"loadline: {what} need a conductor, which has the data of the whole run: use --job ray, or remove them\n")


ARTILLERY = """
config:
  target: http://127.0.0.1:9
  payload: { path: people.csv, fields: [name] }
  phases: [{ duration: 1, arrivalRate: 5 }]
scenarios:
  - flow: [{ get: { url: "/{{ name }}" } }]
"""


@pytest.mark.parametrize("folder", ["tests", "../elsewhere"])
def test_files_of_other_test_formats_are_included_by_relative_path(render, loadline, folder):
    place = loadline.folder / folder
    place.mkdir(exist_ok=True)
    (place / "shop.yml").write_text(ARTILLERY)
    (place / "people.csv").write_text("anna\n")
    found, _ = render(what=f"{folder}/shop.yml")
    held = {**found["ConfigMap"].get("data", {}), **found["ConfigMap"].get("binaryData", {})}
    assert len(held) == 2
    # An absolute path does not exist on other machines.
    (place / "shop.yml").write_text(ARTILLERY.replace("people.csv", str(place.resolve() / "people.csv")))
    refused = render.call(what=f"{folder}/shop.yml")
    assert refused.returncode == 2
    assert "is an absolute path" in refused.stderr


def test_manifest_too_large_for_an_annotation_uses_server_side_apply(render, loadline):
    assert "kubectl apply -f FILE" in render()[1]
    (loadline.folder / "data/users.csv").write_bytes(USERS + b"someone\n" * 40_000)
    for job in ("ray", "indexed"):
        start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        more = () if job == "ray" else ("--start-at", start)
        _, text = render("--job", job, *more)
        assert "kubectl apply --server-side -f FILE" in text
        assert "kubectl apply -f" not in text
