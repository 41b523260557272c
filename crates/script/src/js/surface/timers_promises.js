'use strict';

module.exports = {
  setTimeout: (delay, value) => new Promise((resolve) => { setTimeout(resolve, delay, value); }),
  setImmediate: (value) => new Promise((resolve) => { setImmediate(resolve, value); }),
};
