// Replaces Artillery's telemetry client. The original sends events even if telemetry is disabled,
// and without Internet it delays the exit of each run by 12 seconds.
const Module = require('node:module');

class Silent {
  capture() {}

  async shutdownAsync() {}
}

const load = Module._load;
Module._load = (name, ...rest) => (name === 'posthog-node' ? { PostHog: Silent } : load(name, ...rest));
