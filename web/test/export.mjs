// Writes every fixture as JSON into the folder given, for tests that run in a browser.

import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "vite";

const folder = process.argv[2] ?? "test-results/fixtures";
const server = await createServer({
  configFile: false,
  logLevel: "error",
  server: { middlewareMode: true, ws: false },
  optimizeDeps: { noDiscovery: true },
});
const { fixtures } = await server.ssrLoadModule("/test/fixtures.ts");
mkdirSync(folder, { recursive: true });
for (const [name, make] of Object.entries(fixtures)) writeFileSync(`${folder}/${name}.json`, JSON.stringify(make()));
await server.close();
