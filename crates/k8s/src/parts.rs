//! Renders what both types of job share: files, storage, security.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    RenderOptions,
    yaml::{block, indented, quoted},
};

pub const FILES: &str = "/test";
pub const RECORDS: &str = "/records";
const MOST: usize = 1 << 20;
const USER: u32 = 10001;

pub fn metadata(options: &RenderOptions, name: &str) -> String {
    let mut out = format!("metadata:\n  name: {}\n", quoted(name));
    if let Some(namespace) = &options.namespace {
        out += &format!("  namespace: {}\n", quoted(namespace));
    }
    out + "  labels: " + &labels(options, None) + "\n"
}

pub fn labels(options: &RenderOptions, role: Option<&str>) -> String {
    let role = role.map_or_else(String::new, |role| {
        format!(", app.kubernetes.io/component: {}", quoted(role))
    });
    format!(
        "{{app.kubernetes.io/name: loadline, app.kubernetes.io/instance: {}{role}}}",
        quoted(&options.name)
    )
}

pub fn claim(options: &RenderOptions) -> String {
    let (mode, reason) = match options.job {
        crate::Job::Ray { .. } => (
            "ReadWriteOnce",
            "Only the head writes the record. The record outlives the cluster.",
        ),
        crate::Job::Indexed { .. } => (
            "ReadWriteMany",
            "Every pod writes the record of its part, on any host: the storage must support that.",
        ),
    };
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\n{}spec:\n  # {reason}\n  accessModes: [{mode}]\n  resources: {{requests: {{storage: {}}}}}\n",
        metadata(options, &format!("{}-records", options.name)),
        quoted(&options.storage),
    )
}

pub fn files(options: &RenderOptions) -> Result<String, String> {
    let (kind, of_texts, of_bytes) = if options.files_are_secret {
        ("Secret", "stringData", "data")
    } else {
        ("ConfigMap", "data", "binaryData")
    };
    let (mut texts, mut bytes, mut size) = (String::new(), String::new(), 0);
    for (number, (_, content)) in options.files.iter().enumerate() {
        let key = key(number);
        match std::str::from_utf8(content) {
            Ok(text) => {
                size += key.len() + text.len();
                texts += &format!("  {key}: {}\n", block(text, 4));
            }
            Err(_) => {
                size += key.len() + content.len();
                bytes += &format!("  {key}: {}\n", STANDARD.encode(content));
            }
        }
    }
    if size > MOST {
        return Err(format!(
            "the files of the test are {size} bytes, but a {kind} holds at most {MOST}: put them into the image and pass their folder with --in-image"
        ));
    }
    let mut out = format!(
        "apiVersion: v1\nkind: {kind}\n{}# Keys cannot contain folders: the mount below sets the path of each file.\n",
        metadata(options, &format!("{}-files", options.name))
    );
    if !texts.is_empty() {
        out += &format!("{of_texts}:\n{texts}");
    }
    if !bytes.is_empty() {
        out += &format!("{of_bytes}:\n{bytes}");
    }
    Ok(out)
}

fn key(number: usize) -> String {
    format!("file-{number}")
}

pub fn volumes(options: &RenderOptions, has_records: bool) -> String {
    let mut out = String::new();
    if !options.files.is_empty() {
        let (source, name) = if options.files_are_secret {
            ("secret", "secretName")
        } else {
            ("configMap", "name")
        };
        out += &format!(
            "- name: files\n  {source}:\n    {name}: {}\n    items:\n",
            quoted(&format!("{}-files", options.name))
        );
        for (number, (path, _)) in options.files.iter().enumerate() {
            out += &format!("      - {{key: {}, path: {}}}\n", key(number), quoted(path));
        }
    }
    if has_records {
        out += &format!(
            "- name: records\n  persistentVolumeClaim: {{claimName: {}}}\n",
            quoted(&format!("{}-records", options.name))
        );
    }
    out
}

pub fn mounts(options: &RenderOptions) -> String {
    let mut out = String::new();
    if !options.files.is_empty() {
        out += &format!("- {{name: files, mountPath: {FILES}, readOnly: true}}\n");
    }
    out + &format!("- {{name: records, mountPath: {RECORDS}}}\n")
}

pub fn folder(options: &RenderOptions) -> String {
    match options.folder.as_str() {
        folder if folder.starts_with('/') => folder.to_owned(),
        "." | "" => FILES.to_owned(),
        folder => format!("{FILES}/{folder}"),
    }
}

pub fn pod_security() -> String {
    format!(
        "# A load generator needs no privileges.\nsecurityContext:\n  runAsNonRoot: true\n  runAsUser: {USER}\n  runAsGroup: {USER}\n  fsGroup: {USER}\n  seccompProfile: {{type: RuntimeDefault}}\n"
    )
}

pub const CONTAINER_SECURITY: &str =
    "securityContext:\n  allowPrivilegeEscalation: false\n  capabilities: {drop: [ALL]}\n";

pub fn resources(cpu: &str, memory: &str) -> String {
    let (cpu, memory) = (quoted(cpu), quoted(memory));
    format!(
        "resources:\n  requests: {{cpu: {cpu}, memory: {memory}}}\n  limits: {{cpu: {cpu}, memory: {memory}}}\n"
    )
}

pub fn apart(options: &RenderOptions) -> String {
    let labels = labels(options, Some("node"));
    format!(
        "# One node per host: two would share its CPUs, ports and network.\naffinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      - topologyKey: kubernetes.io/hostname\n        labelSelector:\n          matchLabels: {labels}\n"
    )
}

pub fn env_from(options: &RenderOptions) -> String {
    options.env_from.as_ref().map_or_else(String::new, |name| {
        format!("envFrom:\n  - secretRef: {{name: {}}}\n", quoted(name))
    })
}

pub fn pod_metadata(options: &RenderOptions, role: &str) -> String {
    format!(
        "metadata:\n  labels: {}\n  annotations:\n    # Moving a pod would lose its node.\n    cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\"\n",
        labels(options, Some(role))
    )
}

pub fn below(by: usize, pieces: &[String]) -> String {
    indented(&pieces.concat(), by)
}

/// Maximum size of a file, because `kubectl apply` stores manifests in an annotation of at most 256
/// KiB.
const MOST_APPLIED: usize = 128 << 10;

pub fn apply_command(options: &RenderOptions) -> &'static str {
    let bytes: usize = options.files.iter().map(|(_, content)| content.len()).sum();
    if bytes > MOST_APPLIED {
        "kubectl apply --server-side"
    } else {
        "kubectl apply"
    }
}
