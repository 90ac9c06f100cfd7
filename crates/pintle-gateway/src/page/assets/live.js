// What happens, in every tab over one connection. Browsers open six connections to a server at most, so one tab holds the
// stream and tells the others. When that tab goes, another one takes over where it was.

const channel = new BroadcastChannel('pintle');
const listeners = new Set();
let last = document.body.dataset.after || '';
let lastTime = 0;

/** Calls back with each event: {type, run, rows}; `gap` when some were missed. */
export function listen(listener) {
  listeners.add(listener);
}

/** What this tab makes of a message of the stream. */
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

/** Holds the stream for as long as this tab lives. */
function hold() {
  source = new EventSource(`/events?after=${encodeURIComponent(last)}`);
  source.onopen = () => tell({ state: EventSource.OPEN });
  source.onmessage = ({ data, lastEventId }) => tell({ id: lastEventId, event: JSON.parse(data) });
  source.addEventListener('gap', () => tell({ event: { type: 'gap', rows: [] } }));
  source.onerror = () => {
    tell({ state: EventSource.CONNECTING });
    // The server answered with something else than a stream: the browser gives up, this tab does not.
    if (source.readyState === EventSource.CLOSED) setTimeout(hold, 2000);
  };
  return new Promise(() => {});
}

// Without a secure context there are no locks; then each tab has its own stream.
if (navigator.locks) navigator.locks.request('pintle-events', hold);
else hold();
channel.postMessage({ ask: true });
