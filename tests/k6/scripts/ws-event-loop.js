// Several connections of one user in the event loop, with an exchange of binary messages.
import { WebSocket, Blob } from 'k6/websockets';
import { setInterval, clearInterval } from 'k6/timers';
import { check } from 'k6';

export const options = { vus: 2, iterations: 2, thresholds: { ws_sessions: ['count==6'] } };

export default function () {
  for (let i = 0; i < 3; i++) startConnection(i);
}

function startConnection(id) {
  const ws = new WebSocket(`${__ENV.WS_URL}/echo`);
  ws.binaryType = 'arraybuffer';
  let left = 3;
  ws.addEventListener('open', () => {
    const timer = setInterval(() => {
      if (ws.readyState === WebSocket.OPEN) ws.send(new Blob([`${id}:${left}`]));
    }, 20);
    ws.onclose = () => clearInterval(timer);
  });
  ws.addEventListener('message', (e) => {
    const text = new TextDecoder().decode(e.data);
    check(text, { 'own number': (t) => t.startsWith(`${id}:`) });
    left -= 1;
    if (left === 0) ws.close();
  });
  ws.addEventListener('error', (e) => console.error(e.error));
}
