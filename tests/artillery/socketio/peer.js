// A Socket.IO and HTTP server whose events say how it answers. `GET /__log` returns what it received.
const http = require('http');

const [packages, version, port] = process.argv.slice(2);
const { Server } = require(`${packages}/${version}`);

const log = [];
const GREETING = { type: 'welcome', id: 7, list: [1, 2], name: 'x' };
const ANSWERS = {
  echo: (socket, args) => socket.emit('echo', ...args),
  greet: (socket) => socket.emit('greeting', GREETING),
  pair: (socket) => socket.emit('pair', 'first', { n: 2 }),
  parts: (socket) => ['one', 'two', 'three'].forEach((part) => socket.emit('part', part)),
  late: (socket) => setTimeout(() => socket.emit('greeting', GREETING), 200),
  push: (socket) => setTimeout(() => socket.emit('pushed', 'later'), 50),
  binary: (socket) => socket.emit('bytes', Buffer.from([1, 2, 3])),
  bye: (socket) => socket.disconnect(true),
  leave: (socket) => socket.disconnect(false),
};

function answer(request, response) {
  const path = request.url.split('?')[0];
  if (path === '/__log') return response.end(JSON.stringify(log));
  log.push({ path, method: request.method, cookie: request.headers.cookie ?? '' });
  if (path === '/login') response.setHeader('set-cookie', 'session=s1');
  response.statusCode = path === '/missing/' ? 404 : 200;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ token: 't1' }));
}

const server = http.createServer(answer);

function serve(path) {
  const io = new Server(server, { path, serveClient: false });
  ['/', '/admin', '/locked'].forEach((name) => serveNamespace(io, name));
}

function serveNamespace(io, name) {
  const namespace = io.of(name);
  if (name === '/locked') {
    namespace.use((socket, next) => next(Object.assign(new Error('not authorized'), { data: { code: 1 } })));
  }
  namespace.on('connection', (socket) => {
    const { headers, query, auth } = socket.handshake;
    const own = Object.entries(query).filter(([key]) => !['EIO', 'transport', 't', 'sid', 'b64'].includes(key));
    const entry = {
      path: `${io.path()} ${name}`,
      auth,
      query: Object.fromEntries(own),
      headers: Object.fromEntries(Object.entries(headers).filter(([key]) => key.startsWith('x-') || key === 'cookie')),
      first_transport: query.transport,
      events: [],
      closed: null,
    };
    log.push(entry);
    socket.onAny((event, ...args) => {
      const acknowledge = typeof args[args.length - 1] === 'function' ? args.pop() : null;
      entry.events.push([event, ...args, ...(acknowledge ? ['(ack)'] : [])]);
      if (acknowledge && event === 'ask') acknowledge({ ok: true, n: entry.events.length, got: args });
      if (acknowledge && event === 'ask-text') acknowledge('yes', 'more');
      if (acknowledge && event === 'ask-nothing') acknowledge();
      ANSWERS[event]?.(socket, args);
    });
    socket.on('disconnect', (reason) => (entry.closed = reason));
  });
}

serve('/socket.io');
serve('/other');
server.listen(Number(port), '127.0.0.1');
