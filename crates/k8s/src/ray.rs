//! Renders a RayJob whose head is the conductor, with one node per host.

use crate::{
    RenderOptions,
    parts::{self, CONTAINER_SECURITY, RECORDS, below},
    yaml::{quoted, word},
};

const STORE: &str = "80000000";
const HEAD_CPU: &str = "2";
const HEAD_MEMORY: &str = "4Gi";

pub fn render(options: &RenderOptions, version: &str, wait_s: u64) -> (String, String) {
    let job = format!(
        "\
apiVersion: ray.io/v1
kind: RayJob
{metadata}spec:
  entrypoint: {entrypoint}
  # The sidecar uses the image that the node already has.
  submissionMode: SidecarMode
  # A load is never sent a second time without your knowledge.
  backoffLimit: 0
  # The load, the time for requests in flight after it, and the time until all nodes have started.
  activeDeadlineSeconds: {deadline}
  # Hosts are released immediately; the record stays on its volume.
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    rayVersion: {version}
    # Without a token, anyone who can reach the head can run code on every node. The operator stores a
    # token in a Secret and passes it to each container of this cluster, with RAY_AUTH_MODE=token.
    authOptions: {{mode: token}}
    headGroupSpec:
      # The head only conducts the run: it sends nothing, and no node is placed on it.
      rayStartParams: {{num-cpus: \"0\", object-store-memory: \"{STORE}\", disable-usage-stats: \"true\"}}
      template:
{head}    workerGroupSpecs:
      - groupName: nodes
        replicas: {nodes}
        minReplicas: {nodes}
        maxReplicas: {nodes}
        rayStartParams: {{num-cpus: \"1\", object-store-memory: \"{STORE}\", disable-usage-stats: \"true\"}}
        template:
{node}",
        metadata = parts::metadata(options, &options.name),
        entrypoint = quoted(&entrypoint(options, wait_s)),
        deadline = options.deadline_s,
        version = quoted(version),
        nodes = options.nodes,
        head = below(8, &head(options)),
        node = below(10, &node(options)),
    );
    (before(options), job)
}

fn before(options: &RenderOptions) -> String {
    let name = &options.name;
    format!(
        "\
# Created by `loadline k8s render`: {nodes} nodes of a Ray cluster share one run. It requires KubeRay 1.5.1 or later, which supports tokens.
#
#   {begins:<50} begins
#   kubectl get rayjob {name}
#   kubectl logs -f -c ray-job-submitter -l app.kubernetes.io/instance={name},app.kubernetes.io/component=head
#   kubectl delete -f FILE                             ends it and deletes the volume with the record
#
# The job ends with the exit code of the run, so it is also FAILED if a criterion failed. The record is on the volume
# {name}-records.
",
        nodes = options.nodes,
        begins = format!("{} -f FILE", parts::apply_command(options)),
    )
}

fn entrypoint(options: &RenderOptions, wait_s: u64) -> String {
    let mut line = format!(
        "cd {} && exec loadline run {} --on ray --nodes {} --wait {wait_s}s --runs {RECORDS}",
        word(&parts::folder(options)),
        word(&options.what),
        options.nodes
    );
    for flag in &options.flags {
        line.push(' ');
        line += &word(flag);
    }
    line
}

fn head(options: &RenderOptions) -> Vec<String> {
    let container = [
        "- name: ray-head\n".to_owned(),
        below(
            2,
            &[
                format!("image: {}\n", quoted(&options.image)),
                environment(),
                parts::env_from(options),
                parts::resources(HEAD_CPU, HEAD_MEMORY),
                CONTAINER_SECURITY.to_owned(),
                format!(
                    "volumeMounts:\n{}",
                    below(2, &[shared_mount(), parts::mounts(options)])
                ),
            ],
        ),
    ];
    vec![
        parts::pod_metadata(options, "head"),
        "spec:\n".to_owned(),
        below(2, &[
            "# A restarted head loses its run, so it must not be restarted.\nrestartPolicy: Never\n".to_owned(),
            parts::pod_security(),
            format!("containers:\n{}", below(2, &container)),
            format!("volumes:\n{}", below(2, &[shared(), parts::volumes(options, true)])),
        ]),
    ]
}

fn node(options: &RenderOptions) -> Vec<String> {
    let container = [
        "- name: ray-worker\n".to_owned(),
        below(
            2,
            &[
                format!("image: {}\n", quoted(&options.image)),
                environment(),
                parts::resources(&options.cpu, &options.memory),
                CONTAINER_SECURITY.to_owned(),
                format!("volumeMounts:\n{}", below(2, &[shared_mount()])),
            ],
        ),
    ];
    vec![
        parts::pod_metadata(options, "node"),
        "spec:\n".to_owned(),
        below(
            2,
            &[
                "restartPolicy: Never\n".to_owned(),
                parts::pod_security(),
                parts::apart(options),
                format!("containers:\n{}", below(2, &container)),
                format!("volumes:\n{}", below(2, &[shared()])),
            ],
        ),
    ]
}

fn environment() -> String {
    "\
env:
  # Do not report usage to Ray.
  - {name: RAY_USAGE_STATS_ENABLED, value: \"0\"}
  # By default Ray lowers the priority of its processes. A load generator needs normal priority.
  - {name: RAY_worker_niceness, value: \"0\"}
"
    .to_owned()
}

fn shared() -> String {
    "- name: shared-memory\n  emptyDir: {medium: Memory, sizeLimit: 128Mi}\n".to_owned()
}

fn shared_mount() -> String {
    "- {name: shared-memory, mountPath: /dev/shm}\n".to_owned()
}
