// An older script: CommonJS modules, var, and exports of options.
var http = require('k6/http');
var k6 = require('k6');
var config = require('./lib/config.cjs.js');

module.exports.options = { vus: 1, iterations: config.get(__ENV.TARGET_ENV).items };

module.exports.default = function () {
  var res = http.get(__ENV.BASE_URL + '/health', { headers: config.headers });
  k6.check(res, { 'status is 200': function (r) { return r.status === 200; } });
};
