//! Renders an indexed Job in which each pod runs one part. All parts start at a set time.

use crate::{
    RenderOptions,
    parts::{self, CONTAINER_SECURITY, RECORDS, below},
    yaml::{list, quoted, word},
};

const INDEX: &str = "$(JOB_COMPLETION_INDEX)";

pub fn render(options: &RenderOptions, seed: u64, start_at: &str) -> (String, String) {
    let job = format!(
        "\
apiVersion: batch/v1
kind: Job
{metadata}spec:
  completionMode: Indexed
  completions: {nodes}
  # All parts run at the same time: one that starts later would miss the beginning.
  parallelism: {nodes}
  # A load is never sent a second time without your knowledge, and no pod is replaced while it may still be sending.
  backoffLimit: 0
  podReplacementPolicy: Failed
  # The time until the start, the load, and the time for requests in flight after it.
  activeDeadlineSeconds: {deadline}
  template:
{pod}",
        metadata = parts::metadata(options, &options.name),
        nodes = options.nodes,
        deadline = options.deadline_s,
        pod = below(4, &pod(options, seed, start_at)),
    );
    (before(options, start_at), job)
}

fn before(options: &RenderOptions, start_at: &str) -> String {
    let name = &options.name;
    let parts: Vec<String> = match options.nodes {
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
# Created by `loadline k8s render`: {nodes} parts of one run without a conductor.
#
# THE LOAD BEGINS AT {start_at}: apply it in time. A pod that is ready later sends nothing and exits with 3: then render
# the manifest again. The hosts' clocks must be synchronized (chrony, systemd-timesyncd).
#
#   {apply} -f FILE
#   kubectl wait --for=condition=complete job/{name} --timeout={deadline}s
#
# Then run this where the volume {name}-records is mounted. It reports missing parts and judges the criteria:
#
#   loadline merge {parts}
",
        apply = parts::apply_command(options),
        nodes = options.nodes,
        deadline = options.deadline_s,
        parts = parts.join(" "),
    )
}

fn arguments(options: &RenderOptions, seed: u64, start_at: &str) -> Vec<String> {
    let plain = |text: &String| text.replace("$(", "$$(");
    let mut all = vec!["run".to_owned(), plain(&options.what)];
    for (flag, value) in [
        ("--shard-index", format!("{INDEX}/{}", options.nodes)),
        ("--seed", seed.to_string()),
        ("--start-at", start_at.to_owned()),
        ("--runs", format!("{RECORDS}/{INDEX}")),
    ] {
        all.extend([flag.to_owned(), value]);
    }
    all.extend(options.flags.iter().map(plain));
    all
}

fn pod(options: &RenderOptions, seed: u64, start_at: &str) -> Vec<String> {
    let arguments = arguments(options, seed, start_at);
    let displayed: Vec<String> = arguments.iter().map(|text| word(text)).collect();
    let container = [
        "- name: loadline\n".to_owned(),
        below(
            2,
            &[
                format!("image: {}\n", quoted(&options.image)),
                format!("workingDir: {}\n", quoted(&parts::folder(options))),
                format!("# loadline {}\n", displayed.join(" ").replace('\n', " ")),
                "command: [loadline]\n".to_owned(),
                format!("args: {}\n", list(&arguments)),
                parts::env_from(options),
                parts::resources(&options.cpu, &options.memory),
                CONTAINER_SECURITY.to_owned(),
                format!("volumeMounts:\n{}", below(2, &[parts::mounts(options)])),
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
                format!("volumes:\n{}", below(2, &[parts::volumes(options, true)])),
            ],
        ),
    ]
}
