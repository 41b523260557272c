/** Makes a prompt of about `input_tokens` tokens. */
exports.makePrompt = function (context, events, done) {
  context.vars.prompt = "word ".repeat(context.vars.input_tokens);
  done();
};
