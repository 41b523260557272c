// Functions of script.yml.
const crypto = require('node:crypto');

const ITEMS = [10, 20, 30];

// Gives the virtual user a token, as a login would, and its first item.
async function logIn(context, events) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  context.vars.token = crypto.randomUUID();
  context.vars.left = [...ITEMS];
  context.vars.item = context.vars.left.shift();
  events.emit('counter', 'sums.logins', 1);
}

// Signs the body with the user's token.
function sign(requestParams, context, events, done) {
  const body = JSON.stringify(requestParams.json);
  requestParams.headers['x-signature'] = crypto.createHmac('sha256', context.vars.token).update(body).digest('hex');
  return done();
}

// Measures the size of the response.
function measure(requestParams, response, context, events, done) {
  events.emit('histogram', 'sums.bytes', response.body.length);
  return done();
}

// Continues while there are items.
function hasMore(context, next) {
  context.vars.item = context.vars.left.shift();
  return next(context.vars.item !== undefined);
}

module.exports = { logIn, sign, measure, hasMore };
