'use strict';

module.exports = {
  EOL: '\n',
  hostname: () => native.hostname,
  platform: () => 'linux',
  type: () => 'Linux',
  arch: () => native.arch,
  cpus: () => Array.from({ length: native.cores }, () => ({ model: '', speed: 0, times: {} })),
  availableParallelism: () => native.cores,
  tmpdir: () => process.env.TMPDIR ?? '/tmp',
  homedir: () => process.env.HOME ?? '/',
  endianness: () => 'LE',
};
