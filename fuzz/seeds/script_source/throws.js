module.exports = { f() { return require("./none"); } };
throw new Error("x")