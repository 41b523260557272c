const environments = { local: { items: 2 }, staging: { items: 50 } };

module.exports = {
  get: (name) => environments[name] || environments.local,
  headers: { Accept: 'application/json' },
};
