// The document of a page: a summary, its series and the manifest.

import type { Series } from "./series";
import type { Summary } from "./summary";

/** All data of the page. */
export interface Page {
  summary: Summary;
  series: Series;
  manifest: Manifest;
}

export interface About {
  objective?: string;
  owner?: string;
  environment?: [string, string][];
  links?: [string, string][];
  tags?: string[];
}

export interface Manifest {
  tool: { name: string; version: string };
  command: string[];
  frontend: string;
  stop: string[];
  /** The purpose of the test, as its owner wrote it. */
  about?: About;
  start: { utc: string; wall_ns: number };
  end: { ns: number; reason: string | null } | null;
  files: { path: string; sha256: string | null; bytes: number }[];
  git: string | null;
  host: {
    name: string | null;
    kernel: string | null;
    cpu: string | null;
    cpus: number | null;
    memory_bytes: number | null;
    clock_source: string | null;
    open_files_limit: string | null;
    local_ports: string | null;
    cgroup_cpu: string | null;
    cgroup_memory: string | null;
  };
}
