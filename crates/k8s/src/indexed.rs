//! Renders an indexed Job, in which each pod runs a part that starts at a set time.

use crate::{
    RenderOptions,
    parts::{self, CONTAINER_SECURITY, RECORDS, below},
    yaml::{list, quoted, word},
};

const INDEX: &str = "$(JOB_COMPLETION_INDEX)";

pub fn rendered(wanted: &RenderOptions, seed: u64, start_at: &str) -> (String, String) {
    let job = format!(
        "\
apiVersion: batch/v1
kind: Job
{metadata}spec:
  completionMode: Indexed
  completions: {nodes}
  # All at once: a part that comes later has missed the beginning.
  parallelism: {nodes}
  # A load is never sent a second time without your knowledge, and no pod is replaced while it may still be sending.
  backoffLimit: 0
  podReplacementPolicy: Failed
  # The time until the start, the load, and the time for requests in flight after it.
  activeDeadlineSeconds: {deadline}
  template:
{pod}",
        metadata = parts::metadata(wanted, &wanted.name),
        nodes = wanted.nodes,
        deadline = wanted.deadline_s,
        pod = below(4, &pod(wanted, seed, start_at)),
    );
    (before(wanted, start_at), job)
}

fn before(wanted: &RenderOptions, start_at: &str) -> String {
    let name = &wanted.name;
    let parts: Vec<String> = match wanted.nodes {
        nodes @ 0..=8 => (0..nodes)
            .map(|number| format!("{RECORDS}/{number}/last"))
            .collect(),
        nodes => vec![
            format!("{RECORDS}/0/last"),
            format!("{RECORDS}/1/last"),
            "…".to_owned(),
            format!("{RECORDS}/{}/last", nodes - 1),
        ],
    };
    format!(
        "\
# Made by `loadline k8s render`: {nodes} parts of one run without a conductor.
#
# THE LOAD BEGINS AT {start_at}: apply it in time. A pod that is ready later sends nothing and ends with 3; render it again
# then. The hosts' clocks must be synchronized (chrony, systemd-timesyncd).
#
#   {apply} -f FILE
#   kubectl wait --for=condition=complete job/{name} --timeout={deadline}s
#
# Then, where the volume {name}-records is mounted. This reports missing parts and judges the criteria:
#
#   loadline merge {parts}
",
        apply = parts::apply_command(wanted),
        nodes = wanted.nodes,
        deadline = wanted.deadline_s,
        parts = parts.join(" "),
    )
}

fn arguments(wanted: &RenderOptions, seed: u64, start_at: &str) -> Vec<String> {
    let plain = |text: &String| text.replace("$(", "$$(");
    let mut all = vec!["run".to_owned(), plain(&wanted.what)];
    for (flag, value) in [
        ("--shard", format!("{INDEX}/{}", wanted.nodes)),
        ("--seed", seed.to_string()),
        ("--start-at", start_at.to_owned()),
        ("--runs", format!("{RECORDS}/{INDEX}")),
    ] {
        all.extend([flag.to_owned(), value]);
    }
    all.extend(wanted.flags.iter().map(plain));
    all
}

fn pod(wanted: &RenderOptions, seed: u64, start_at: &str) -> Vec<String> {
    let arguments = arguments(wanted, seed, start_at);
    let shown: Vec<String> = arguments.iter().map(|text| word(text)).collect();
    let container = [
        "- name: loadline\n".to_owned(),
        below(
            2,
            &[
                format!("image: {}\n", quoted(&wanted.image)),
                format!("workingDir: {}\n", quoted(&parts::folder(wanted))),
                format!("# loadline {}\n", shown.join(" ").replace('\n', " ")),
                "command: [loadline]\n".to_owned(),
                format!("args: {}\n", list(&arguments)),
                parts::env_from(wanted),
                parts::resources(&wanted.cpu, &wanted.memory),
                CONTAINER_SECURITY.to_owned(),
                format!("volumeMounts:\n{}", below(2, &[parts::mounts(wanted)])),
            ],
        ),
    ];
    vec![
        parts::pod_metadata(wanted, "node"),
        "spec:\n".to_owned(),
        below(
            2,
            &[
                "restartPolicy: Never\n".to_owned(),
                parts::pod_security(),
                parts::apart(wanted),
                format!("containers:\n{}", below(2, &container)),
                format!("volumes:\n{}", below(2, &[parts::volumes(wanted, true)])),
            ],
        ),
    ]
}
