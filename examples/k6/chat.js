// Users talk in rooms over WebSocket connections, and measure how long a message takes to come back.
// The target is `loadline lab chat`; BASE_URL, ROOMS and DURATION change the test, and ROUND_TRIP_MS and
// CONNECTING_MS its limits.
import { check } from 'k6';
import exec from 'k6/execution';
import { Counter, Trend } from 'k6/metrics';
import { WebSocket } from 'k6/websockets';

const BASE_URL = __ENV.BASE_URL || 'ws://127.0.0.1:8081';
const ROOMS = Number(__ENV.ROOMS || 2);
const DURATION = __ENV.DURATION || '20s';
const ROUND_TRIP_MS = Number(__ENV.ROUND_TRIP_MS || 100);
const CONNECTING_MS = Number(__ENV.CONNECTING_MS || 500);
const MESSAGES = 5;

const roundTrip = new Trend('chat_round_trip', true);
const heard = new Counter('chat_messages_of_others');

export const options = {
  scenarios: {
    chat: {
      executor: 'ramping-vus',
      stages: [
        { duration: DURATION, target: 10 },
        { duration: '1s', target: 0 },
      ],
      gracefulRampDown: '30s',
    },
  },
  thresholds: {
    checks: ['rate>0.99'],
    chat_round_trip: [`p(95)<${ROUND_TRIP_MS}`],
    ws_connecting: [`p(95)<${CONNECTING_MS}`],
  },
};

export default function () {
  const user = exec.vu.idInTest;
  const room = user % ROOMS;
  const socket = new WebSocket(`${BASE_URL}/rooms/${room}`, null, { tags: { name: 'room' } });
  let sent = 0;
  let guard;

  const say = () => {
    sent += 1;
    socket.send(JSON.stringify({ user, number: sent, at: Date.now() }));
  };
  socket.addEventListener('open', () => {
    say();
    // A user whose messages are lost leaves the room too.
    guard = setTimeout(() => socket.close(), 20000);
  });
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data);
    if (message.user !== user) {
      heard.add(1);
      return;
    }
    roundTrip.add(Date.now() - message.at);
    check(message, { 'messages come back in order': (m) => m.number === sent });
    if (sent < MESSAGES) setTimeout(say, 200);
    else socket.close();
  });
  socket.addEventListener('error', (e) => console.error(`user ${user}: ${e.error}`));
  socket.addEventListener('close', () => {
    clearTimeout(guard);
    check(sent, { 'all messages were sent': (n) => n === MESSAGES });
  });
}
