// Provenance: command, machine and files; enough to repeat the run.

import { type Child, h } from "../dom/el";
import { facts, table } from "../dom/table";
import { bytes, count, duration } from "../text/units";
import type { Page } from "../types";
import { type Section, section } from "./section";

export function provenance(): Section {
  return section("provenance", "Provenance", (page) => ({
    above: [h("div", { class: "card" }, origin(page)), files(page)],
  }));
}

function origin(page: Page): HTMLElement {
  const { manifest, summary } = page;
  const { host } = manifest;
  const machine = [
    host.name,
    host.cpu,
    host.cpus === null ? null : `${count(host.cpus)} CPUs`,
    host.memory_bytes === null ? null : `${bytes(host.memory_bytes)} memory`,
  ];
  const limits = [
    host.open_files_limit && `open files ${host.open_files_limit}`,
    host.local_ports && `local ports ${host.local_ports}`,
    host.cgroup_cpu && `control group CPU ${host.cgroup_cpu}`,
    host.cgroup_memory && `control group memory ${host.cgroup_memory}`,
  ];
  const items: [string, Child][] = [
    ["command", h("code", {}, manifest.command.map(quoted).join(" "))],
    ["tool", `${manifest.tool.name} ${manifest.tool.version}, front end ${manifest.frontend}`],
    ["target", summary.run.target],
    ["load", summary.run.load],
    ["HTTP version", summary.run.http ?? null],
    [
      "stop rules",
      manifest.stop.length > 0
        ? h("span", {}, ...manifest.stop.map((rule) => h("code", { class: "line" }, rule)))
        : null,
    ],
    ["machine", joined(machine)],
    ["kernel", joined([host.kernel, host.clock_source && `clock source ${host.clock_source}`])],
    ["limits", joined(limits)],
    ["git", manifest.git],
    ["seed", summary.run.seed === undefined ? null : String(summary.run.seed)],
    ["workers", summary.run.workers === undefined ? null : count(summary.run.workers)],
    ["start", manifest.start.utc],
    ["length", summary.run.elapsed_ns > 0 ? duration(Math.round(summary.run.elapsed_ns / 1e6) * 1e6) : null],
    ["end", ending(page)],
    ["record", summary.record ? h("code", {}, summary.record) : null],
  ];
  return facts(items.filter(([, value]) => value !== null && value !== ""));
}

function ending({ manifest, summary }: Page): string {
  if (summary.run.state === "running") return "none was recorded";
  return summary.run.ended_by ?? manifest.end?.reason ?? "as planned";
}

function files(page: Page): Child {
  const { files } = page.manifest;
  if (files.length === 0) return null;
  const columns = [{ name: "file" }, { name: "size", number: true }, { name: "SHA-256" }];
  const rows = files.map((f): Child[] => [
    h("code", {}, f.path),
    bytes(f.bytes),
    f.sha256 ? h("code", { class: "hash" }, f.sha256) : "not read",
  ]);
  return h("div", {}, h("h3", {}, "Files"), table("Files of the plan", columns, rows));
}

function joined(parts: (string | null | undefined | false)[]): string {
  return parts.filter((part): part is string => typeof part === "string" && part !== "").join(" · ");
}

/** Quotes an argument for a shell. */
function quoted(argument: string): string {
  return /^[\w@%+=:,./‹›{}-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
