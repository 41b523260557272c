// A WebSocket and HTTP server whose path says how it answers. `GET /__log` returns what it received.
const fs = require('fs');
const http = require('http');
const https = require('https');

const [packages, plain, tls, key, cert] = process.argv.slice(2);
const WebSocket = require(`${packages}/ws`);

const log = [];
const GREETING = JSON.stringify({ type: 'welcome', id: 7, list: [1, 2], name: 'x' });
const REPLIES = {
  '/echo': (socket, text) => socket.send(text),
  '/object': (socket, text) => text.startsWith('{') && socket.send(text),
  '/greet': (socket, text) => socket.send(text),
  '/json': (socket, text, n) => socket.send(JSON.stringify({ ok: true, n, got: parsed(text) })),
  '/twice': (socket, text) => ['one', 'two'].forEach((part) => socket.send(`${part} ${text}`)),
  '/text': (socket) => socket.send('hello'),
  '/binary': (socket, text) => socket.send(Buffer.from(text)),
  '/close': (socket) => socket.close(1011, 'no more'),
  '/drop': (socket) => socket._socket.destroy(),
};

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function choose(offered) {
  return offered.includes('json') ? 'json' : offered[0];
}

const server = new WebSocket.Server({ noServer: true, perMessageDeflate: true, handleProtocols: choose });

server.on('connection', (socket, request) => {
  const { pathname } = new URL(request.url, 'http://peer');
  const entry = {
    path: request.url,
    protocol: socket.protocol,
    offered: request.headers['sec-websocket-protocol'] ?? '',
    extensions: request.headers['sec-websocket-extensions'] ?? '',
    headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.startsWith('x-') || name === 'cookie')),
    messages: [],
    closed: null,
  };
  log.push(entry);
  socket.on('message', (message) => {
    entry.messages.push(String(message));
    REPLIES[pathname]?.(socket, String(message), entry.messages.length);
  });
  socket.on('close', (code) => (entry.closed = code));
  socket.on('error', (error) => (entry.error = error.message));
  if (pathname === '/greet') socket.send(GREETING);
  // The delay lets the client begin to wait.
  if (pathname === '/late') setTimeout(() => socket.send(GREETING), 200);
});

function answer(request, response) {
  if (request.url === '/__log') return response.end(JSON.stringify(log));
  log.push({ path: request.url, method: request.method });
  response.setHeader('content-type', 'application/json');
  return response.end('{"id":7}');
}

function upgrade(request, socket, head) {
  if (request.url === '/refuse') {
    log.push({ path: request.url });
    return socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  }
  if (request.url === '/page') return socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');
  return server.handleUpgrade(request, socket, head, (accepted) => server.emit('connection', accepted, request));
}

const pair = { key: fs.readFileSync(key), cert: fs.readFileSync(cert) };
http.createServer(answer).on('upgrade', upgrade).listen(Number(plain), '127.0.0.1');
https.createServer(pair, answer).on('upgrade', upgrade).listen(Number(tls), '127.0.0.1');
