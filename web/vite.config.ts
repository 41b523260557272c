// Builds the report into one file without dependencies: every script and style is put into the
// HTML.

import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Puts the bundle's scripts and styles into its HTML and drops the files. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["report.html"];
      if (page?.type !== "asset") return this.error("the bundle has no report.html");
      let html = String(page.source);
      for (const [name, item] of Object.entries(bundle)) {
        const tag = new RegExp(
          `[ \\t]*<(?:script|link)\\b[^>]*\\b${name.replaceAll(".", "\\.")}"[^>]*>(?:</script>)?\\n?`,
        );
        if (item.type === "chunk") {
          // The text must not end its own element.
          const code = item.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
          html = html.replace(tag, "").replace("</body>", () => `  <script type="module">${code}</script>\n  </body>`);
        } else if (name.endsWith(".css")) {
          html = html.replace(tag, () => `    <style>${String(item.source)}</style>\n`);
        } else continue;
        delete bundle[name];
      }
      page.source = html;
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: { input: "report.html" },
  },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
