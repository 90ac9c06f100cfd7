// Keeps a page up to date: parts marked with `data-fresh` are fetched again, as the server makes them, after an event.

import { listen } from './live.js';
import { Timeline } from './timeline.js';

const SOON = 300;
const SLOW = 3000;
// Another program may have asked or answered a question: this server sends no event for that.
const ANYWAY = 5000;

/** The page as the server makes it now. No text becomes markup here: the browser parses the response itself. */
function fetchPage() {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open('GET', location.href);
    request.responseType = 'document';
    request.setRequestHeader('Accept', 'text/html');
    request.onload = () => (request.status === 200 && request.response ? done(request.response) : failed());
    request.onerror = failed;
    request.send();
  });
}

/** Replaces the parts that changed, and keeps the others, so focus and half-typed text stay. */
function freshen(old, now) {
  if (old.isEqualNode(now)) return;
  const children = [...now.children];
  const kept = new Map([...old.querySelectorAll('[data-keep]')].map((it) => [it.id, it]));
  if (children.length === 0 || kept.size === 0) {
    const address = old.contains(document.activeElement) && document.activeElement.getAttribute('href');
    old.replaceChildren(...now.childNodes);
    if (address) [...old.querySelectorAll('a')].find((it) => it.getAttribute('href') === address)?.focus();
    return;
  }
  old.replaceChildren(
    ...children.map((child) => {
      const before = kept.get(child.id);
      return before && before.dataset.keep === child.dataset.keep ? before : child;
    }),
  );
}

let due = 0;
let busy = false;

async function refresh() {
  if (busy || document.hidden) return;
  busy = true;
  try {
    const now = await fetchPage();
    for (const old of document.querySelectorAll('[data-fresh]')) {
      const fresh = now.getElementById(old.id);
      if (fresh) freshen(old, document.importNode(fresh, true));
    }
    if (now.title) document.title = now.title;
  } catch {
    // The connection is lost; the bar shows that.
  }
  busy = false;
}

function soon(wait) {
  const at = Date.now() + wait;
  if (due && due <= at) return;
  due = at;
  setTimeout(() => {
    due = 0;
    refresh();
  }, wait);
}

const SEEN = ['run.start', 'done', 'approval.requested', 'approval.resolved', 'error', 'gap'];
const isSlow = Boolean(document.querySelector('[data-fresh=slow]'));

const place = document.getElementById('timeline');
const timeline = place && new Timeline(place);

listen((event, id) => {
  if (timeline) timeline.take(event, id);
  if (isSlow) soon(SLOW);
  else if (SEEN.includes(event.type)) soon(SOON);
});
setInterval(() => refresh(), ANYWAY);
document.addEventListener('visibilitychange', () => refresh());
