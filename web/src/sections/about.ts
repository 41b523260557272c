// The purpose of the test, as its owner wrote it.

import { type Child, h } from "../dom/el";
import { facts } from "../dom/table";
import type { About, Page } from "../types";
import { type Section, section } from "./section";

export function about(): Section {
  return section("about", "About", (page: Page) => {
    const { about } = page.manifest;
    if (!about) return {};
    const items = rows(about);
    return {
      above: [
        about.objective ? h("p", {}, about.objective) : null,
        items.length > 0 ? h("div", { class: "card" }, facts(items)) : null,
      ],
    };
  });
}

function rows(about: About): [string, Child][] {
  const links = (about.links ?? []).map(([name, url]): [string, Child] => [name, link(url)]);
  const tags = about.tags ?? [];
  return [
    ...(about.owner ? [["Owner", about.owner] as [string, Child]] : []),
    ...(about.environment ?? []),
    ...links,
    ...(tags.length > 0 ? [["Tags", tags.join(", ")] as [string, Child]] : []),
  ];
}

/** Only URLs of pages become links, because anyone can write a record. */
function link(url: string): Child {
  return /^https?:\/\//.test(url) ? h("a", { href: url, rel: "noreferrer" }, url) : url;
}
