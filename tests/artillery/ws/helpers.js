// The processor of the scripts in this folder.
let calls = 0;
module.exports = {
  prepare(context, events, done) {
    calls += 1;
    context.vars.text = 'from a function';
    events.emit('counter', 'prepared', 1);
    return done();
  },
  async prepareLater(context, events) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    context.vars.text = `later ${context.vars.checked}`;
    events.emit('histogram', 'length', context.vars.text.length);
  },
  check(context, events, done) {
    context.vars.checked = context.vars.reply === 'from a function';
    return done();
  },
  finish(context, events, done) {
    events.emit('counter', 'finished', 1);
    return done();
  },
  hasMore(context, next) {
    context.vars.left = (context.vars.left ?? 0) + 1;
    return next(context.vars.left < 3);
  },
  async reject() {
    throw new Error('rejected');
  },
};
