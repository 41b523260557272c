// Two users in a room over k6/ws: each says something, hears the other one, and leaves when both have heard.
import ws from 'k6/ws';
import { check } from 'k6';
import { Trend } from 'k6/metrics';
import { randomString } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

const latency = new Trend('chat_latency', true);

export const options = {
  vus: 2,
  iterations: 2,
  thresholds: { ws_sessions: ['count==2'], checks: ['rate==1'], ws_session_duration: ['med>0'] },
};

export default function () {
  const url = `${__ENV.WS_URL}/rooms/lobby`;
  const params = { tags: { my_tag: 'my ws session' } };
  const user = `user_${__VU}_${randomString(4)}`;
  let heard = 0;
  let isHeard = false;
  let hasPong = false;

  const res = ws.connect(url, params, function (socket) {
    const say = () => socket.send(JSON.stringify({ type: 'message', user, heard, at: Date.now() }));
    const leaveWhenDone = () => {
      if (heard === 0 || !isHeard || !hasPong) return;
      // The other one may still wait for a message of a user who has heard.
      say();
      socket.close();
    };
    socket.on('open', function open() {
      socket.setInterval(function timeout() {
        say();
        socket.ping();
      }, 50);
    });
    socket.on('message', function (message) {
      const msg = JSON.parse(message);
      if (msg.user === user) {
        latency.add(Date.now() - msg.at);
        return;
      }
      heard += 1;
      isHeard = isHeard || msg.heard > 0;
      leaveWhenDone();
    });
    socket.on('pong', () => {
      hasPong = true;
      leaveWhenDone();
    });
    socket.on('error', function (e) {
      if (e.error() != 'websocket: close sent') console.log('An unexpected error occured: ', e.error());
    });
    socket.on('close', () => {});
    socket.setTimeout(function () {
      socket.close();
    }, 20000);
  });

  check(res, { 'status is 101': (r) => r && r.status === 101 });
  check(heard, { 'heard somebody': (n) => n > 0 });
}
