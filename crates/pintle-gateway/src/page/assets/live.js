// Live events in every tab over one connection. Browsers open at most six connections to a server, so one tab holds the
// stream and forwards it to the others. When that tab closes, another one takes over at the same event.

const channel = new BroadcastChannel('pintle');
const listeners = new Set();
let last = document.body.dataset.after || '';
let lastTime = 0;

/** Calls back with each event: {type, run, rows}; `gap` when some were missed. */
export function listen(listener) {
  listeners.add(listener);
}

/** Handles a message of the stream. */
export function take(message) {
  if (message.state !== undefined) return show(message.state);
  if (message.id) {
    last = message.id;
    lastTime = Date.now();
  }
  for (const listener of listeners) listener(message.event, message.id);
}

function tell(message) {
  channel.postMessage(message);
  take(message);
}

channel.onmessage = ({ data }) => {
  // A tab that opens asks; the one that holds the stream answers.
  if (data.ask) return source && tell({ state: source.readyState });
  take(data);
};

function show(state) {
  const shown = document.getElementById('connection');
  if (!shown) return;
  const text = document.createElement('span');
  const isLive = state === EventSource.OPEN;
  text.className = isLive ? 'outcome ok' : 'outcome fail';
  const since = lastTime ? `, last event ${new Date(lastTime).toLocaleTimeString()}` : '';
  text.textContent = isLive ? 'Live' : `Reconnecting${since}`;
  if (shown.textContent !== text.textContent) shown.replaceChildren(text);
}

let source = null;

/** Holds the stream while this tab is open. */
function hold() {
  source = new EventSource(`/events?after=${encodeURIComponent(last)}`);
  source.onopen = () => tell({ state: EventSource.OPEN });
  source.onmessage = ({ data, lastEventId }) => tell({ id: lastEventId, event: JSON.parse(data) });
  source.addEventListener('gap', () => tell({ event: { type: 'gap', rows: [] } }));
  source.onerror = () => {
    tell({ state: EventSource.CONNECTING });
    // The server did not answer with a stream: the browser gives up, this tab tries again.
    if (source.readyState === EventSource.CLOSED) setTimeout(hold, 2000);
  };
  return new Promise(() => {});
}

// Without a secure context there are no locks; then each tab has its own stream.
if (navigator.locks) navigator.locks.request('pintle-events', hold);
else hold();
channel.postMessage({ ask: true });
