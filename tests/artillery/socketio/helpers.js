module.exports = {
  setName(context, events, done) {
    context.vars.name = 'n1';
    events.emit('counter', 'named', 1);
    return done();
  },
  note(context, events, done) {
    events.emit('counter', 'hook', 1);
    return done();
  },
};
