// A run as a timeline to scale. All rows are kept as data; only those on the screen are in the document, so 10,000 of
// them are as fast as ten. The server makes the rows; this file places them.

const AROUND = 8;
const LEAST_GAP = 1000;
const SVG = 'http://www.w3.org/2000/svg';

function make(tag, classes, ...children) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.append(...children.filter((child) => child !== ''));
  return element;
}

function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function time(ms) {
  const seconds = ms / 1000;
  if (seconds < 1) return `${+ms.toPrecision(3)} ms`;
  if (seconds < 60) return `${+seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min${seconds % 60 >= 1 ? ` ${Math.round(seconds % 60)} s` : ''}`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

/** Converts times to percent of the width. Long waits for a person are folded. */
class Scale {
  constructor() {
    /** The spans in which something ran, in order; spans that are close are merged. */
    this.work = [];
  }

  add(from, to) {
    const work = this.work;
    let at = work.length;
    while (at > 0 && work[at - 1].from > from) at -= 1;
    const before = work[at - 1];
    if (before && from - before.to < LEAST_GAP) before.to = Math.max(before.to, to);
    else work.splice(at, 0, { from, to });
    at = Math.max(0, at - 1);
    while (work[at + 1] && work[at + 1].from - work[at].to < LEAST_GAP) {
      work[at].to = Math.max(work[at].to, work[at + 1].to);
      work.splice(at + 1, 1);
    }
  }

  /** Lays the parts out; `end` is where the axis ends. */
  lay(end) {
    const parts = [];
    let worked = 0;
    for (const { from, to } of this.work) worked += Math.max(to - from, 1);
    const last = this.work[this.work.length - 1];
    const spans = end > (last?.to ?? 0) ? [...this.work, { from: end, to: end }] : this.work;
    spans.forEach(({ from, to }, at) => {
      if (at > 0) {
        const before = spans[at - 1].to;
        parts.push({ from: before, to: from, fold: from - before > 2 * worked });
      }
      parts.push({ from, to, fold: false });
    });
    const folds = parts.filter((part) => part.fold).length;
    const band = folds ? Math.min(10, 40 / folds) : 0;
    const open = parts.filter((part) => !part.fold).reduce((sum, part) => sum + part.to - part.from, 0) || 1;
    const per = (100 - folds * band) / open;
    let x = 0;
    for (const part of parts) {
      part.x = x;
      part.width = part.fold ? band : (part.to - part.from) * per;
      x += part.width;
    }
    this.parts = parts;
    this.per = per;
  }

  x(time) {
    const parts = this.parts;
    let [low, high] = [0, parts.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (parts[middle].to < time) low = middle + 1;
      else high = middle;
    }
    const part = parts[low];
    if (!part) return 0;
    const share = part.to > part.from ? (time - part.from) / (part.to - part.from) : 0;
    return part.x + part.width * Math.min(1, Math.max(0, share));
  }

  /** Where the axis has a number: about six, at round times. */
  ticks() {
    const start = this.parts[0]?.from ?? 0;
    const wide = 100 / this.per / 6;
    const round = [1, 2, 5].flatMap((digit) => Array.from({ length: 9 }, (_, zeros) => digit * 10 ** zeros));
    const step = round.sort((a, b) => a - b).find((it) => it >= wide) ?? 1e9;
    const ticks = [];
    for (const part of this.parts) {
      if (part.fold) continue;
      for (let at = Math.ceil((part.from - start) / step) * step; start + at < part.to && ticks.length < 50; at += step) {
        ticks.push({ x: this.x(start + at), text: time(at) });
      }
    }
    return ticks.filter((tick, at) => at === 0 || tick.x - ticks[at - 1].x > 6);
  }
}

export class Timeline {
  constructor(place) {
    this.place = place;
    this.run = place.dataset.run;
    this.rows = [];
    this.view = [];
    /** Where each row of the view begins, and how many of these are known. */
    this.tops = [0];
    this.laid = 0;
    this.open = new Set();
    this.drawn = new Map();
    this.focused = 0;
    this.fresh = 0;
    this.after = null;
    this.waiting = [];
    this.going = new Set();
    this.ahead = 0;
    this.scale = new Scale();
    this.counts = { block: 0, fail: 0, wait: 0, hook: 0 };
    this.plugins = new Set();
    this.build();
    this.load();
  }

  build() {
    this.axis = draw('svg', { 'aria-hidden': 'true' });
    const head = make('div', 'axis', make('span', '', 'What'), make('span', '', 'Outcome'), make('span', 'ruler', this.axis), make('span', 'number', 'Took'));
    this.grid = draw('svg', { class: 'grid', 'aria-hidden': 'true' });
    this.list = make('ol', 'rows');
    this.list.setAttribute('role', 'list');
    this.more = make('button', 'button go new-rows');
    this.more.type = 'button';
    this.more.hidden = true;
    this.more.onclick = () => this.follow();
    this.body = make('div', 'rows-body', this.grid, this.list);
    this.place.replaceChildren(head, this.body, this.more);
    this.filters = document.getElementById('filters');
    this.filters.hidden = false;
    this.filters.onchange = () => this.filter();
    this.filters.onsubmit = (event) => event.preventDefault();
    this.list.addEventListener('keydown', (event) => this.key(event));
    document.addEventListener('scroll', () => this.later(), { capture: true, passive: true });
    new ResizeObserver(() => this.measure()).observe(this.place);
    setInterval(() => this.tick(), 1000);
    const legend = document.getElementById('legend');
    legend.hidden = false;
    for (const [kind, word] of [['model', 'model'], ['tool', 'tool'], ['hook', 'hook'], ['agent', 'sub-agent'], ['person', 'a person'], ['fold', 'folded time']]) {
      const svg = draw('svg', { width: 22, height: 10, 'aria-hidden': 'true' });
      svg.append(draw('rect', { class: kind === 'fold' ? 'fold' : `b-${kind}`, x: 1, y: 1, width: 20, height: 8, rx: 2 }));
      legend.append(make('span', '', svg, ` ${word}`));
    }
  }

  async load() {
    if (this.loading) return;
    this.loading = true;
    this.after = null;
    try {
      const response = await fetch(`/live/${encodeURIComponent(this.run)}/rows`);
      const { after, now, isLive, isOpen, rows } = await response.json();
      this.ahead = Date.now() - now;
      this.isLive = isLive;
      // A run of another program: its rows are read again from time to time.
      if (isOpen) setTimeout(() => this.load(), 3000);
      this.rows = [];
      this.going.clear();
      this.scale = new Scale();
      this.counts = { block: 0, fail: 0, wait: 0, hook: 0 };
      for (const row of rows) this.put(row);
      this.after = after;
      this.loading = false;
      this.filter();
      for (const [event, id] of this.waiting.splice(0)) this.take(event, id);
    } catch {
      this.loading = false;
      setTimeout(() => this.load(), 2000);
    }
  }

  /** Adds an event of the stream, unless the rows have it already. */
  take(event, id) {
    if (event.type === 'gap') return this.load();
    if (event.run !== this.run || event.rows.length === 0) return;
    if (this.after === null) return this.waiting.push([event, id]);
    if (!this.isLive) return this.load();
    if (!isLater(id, this.after)) return;
    const isAtEnd = this.isAtEnd();
    for (const row of event.rows) {
      const before = this.rows[row.i];
      const was = before && this.shows(before);
      this.put(row);
      if (!before) this.add(row, this.behind(row));
      else if (was !== this.shows(row) || this.isFolded(before) !== this.isFolded(row)) this.stale = true;
      else if (Boolean(before.why) !== Boolean(row.why)) this.laid = 0;
      this.drawn.delete(row.i);
    }
    this.dirty = true;
    if (isAtEnd) this.follows = true;
    this.later();
  }

  put(row) {
    const before = this.rows[row.i];
    if (before) this.count(before, -1);
    this.count(row, 1);
    this.rows[row.i] = row;
    if (row.is_open) this.going.add(row.i);
    else this.going.delete(row.i);
    if (row.kind !== 'person') this.scale.add(row.from, Math.max(row.to, row.from));
    if (row.kind === 'hook' && !this.plugins.has(row.plugin ?? '')) this.plugin(row.plugin ?? '');
  }

  count(row, by) {
    if (row.mark in this.counts) this.counts[row.mark] += by;
    if (row.kind === 'hook') this.counts.hook += by;
  }

  plugin(name) {
    this.plugins.add(name);
    const option = make('option', '', name || 'built in');
    option.value = name || '-';
    this.filters.elements.plugin.append(option);
  }

  /** Whether the filters let a row through. */
  shows(row) {
    const { block, fail, wait, slow, plugin } = this.chosen ?? {};
    if ((block || fail || wait) && !this.chosen[row.mark]) return false;
    if (slow && row.to - row.from < slow) return false;
    if (plugin && (row.kind !== 'hook' || (row.plugin ?? '-') !== plugin)) return false;
    return true;
  }

  /** Hooks that allowed everything share one row, unless the filter shows all. */
  isFolded(row) {
    return row.kind === 'hook' && row.mark === 'ok' && !row.changed && !this.chosen?.hooks && !this.chosen?.isActive;
  }

  /** The rows in the order of the page: each after its parent. */
  ordered() {
    const [top, below] = [[], new Map()];
    for (const row of this.rows) {
      if (row.under === undefined) top.push(row);
      else if (below.has(row.under)) below.get(row.under).push(row);
      else below.set(row.under, [row]);
    }
    const walk = (row) => [row, ...(below.get(row.i) ?? []).flatMap(walk)];
    return below.size ? top.flatMap(walk) : top;
  }

  /** The place of a new row: after the last row of the same call. */
  behind(row) {
    const isBelow = (i) => i !== undefined && (i === row.under || isBelow(this.rows[i].under));
    let at = row.under === undefined ? 0 : this.view.length;
    while (at > 0 && !isBelow(this.view[at - 1].i)) at -= 1;
    return at || this.view.length;
  }

  /** Shows a row at this place, unless it is filtered out. */
  add(row, at) {
    if (!this.shows(row)) return;
    const before = this.view[at - 1];
    this.fresh += 1;
    if (this.isFolded(row) && before?.fold && before.level === row.level && this.rows[before.i].under === row.under) {
      before.fold.push(row.i);
      this.drawn.delete(before.key);
      return;
    }
    const fold = this.isFolded(row) ? [row.i] : null;
    this.view.splice(at, 0, { key: fold ? `f${row.i}` : row.i, i: row.i, fold, level: row.level });
    if (at < this.view.length - 1 && at <= this.focused) this.focused += 1;
    this.laid = Math.min(this.laid, at);
  }

  filter() {
    const form = this.filters.elements;
    const chosen = { block: form.block.checked, fail: form.fail.checked, wait: form.wait.checked, hooks: form.hooks.checked };
    chosen.slow = Number(form.slow.value);
    chosen.plugin = form.plugin.value;
    chosen.isActive = Boolean(chosen.block || chosen.fail || chosen.wait || chosen.slow || chosen.plugin);
    this.chosen = chosen;
    this.view = [];
    for (const row of this.ordered()) this.add(row, this.view.length);
    this.fresh = 0;
    this.stale = false;
    if (this.list.contains(document.activeElement)) this.refocus = document.activeElement.closest('li').key;
    this.drawn.clear();
    this.list.replaceChildren();
    this.focused = Math.min(this.focused, Math.max(0, this.view.length - 1));
    this.measure();
    this.paint();
  }

  measure() {
    const style = getComputedStyle(this.place);
    this.height = parseFloat(style.getPropertyValue('--row')) || 30;
    this.reason = parseFloat(style.getPropertyValue('--why')) || 16;
    this.dirty = true;
    this.laid = 0;
    this.later();
  }

  later() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  tick() {
    if (this.going.size === 0 || document.hidden) return;
    this.dirty = true;
    this.later();
  }

  heightOf(entry) {
    const own = entry.fold || !this.rows[entry.i].why ? this.height : this.height + this.reason;
    return own + (this.open.has(entry.key) ? (entry.opened ?? 0) : 0);
  }

  /** Rows above the first one that changed stay where they are. */
  lay() {
    for (let at = this.laid; at < this.view.length; at += 1) this.tops[at + 1] = this.tops[at] + this.heightOf(this.view[at]);
    this.laid = this.view.length;
    this.list.style.height = `${this.tops[this.view.length]}px`;
    // An open row ends at the current time.
    this.now = this.going.size ? Date.now() - this.ahead : 0;
    this.scale.lay(this.now);
    this.drawAxis();
    for (const [name, count] of Object.entries(this.counts)) {
      const place = this.filters.querySelector(`[data-count=${name}]`);
      if (place) place.textContent = count;
    }
    const shown = `${this.view.length.toLocaleString('en')} of ${this.rows.length.toLocaleString('en')} rows`;
    const count = document.getElementById('count');
    if (count.textContent !== shown) count.textContent = shown;
  }

  drawAxis() {
    const ticks = this.scale.ticks();
    const folds = this.scale.parts.filter((part) => part.fold);
    const key = JSON.stringify([ticks, folds]);
    if (key === this.axisKey && !this.now) return;
    this.axisKey = key;
    const band = (part) => draw('rect', { class: 'fold', x: `${part.x}%`, width: `${part.width}%`, height: '100%' });
    const line = (tick) => draw('line', { class: 'tick', x1: `${tick.x}%`, x2: `${tick.x}%`, y1: 0, y2: '100%' });
    this.grid.replaceChildren(...folds.map(band), ...ticks.map(line));
    const label = (x, text, kind, anchor) => {
      const element = draw('text', { x: `${x}%`, y: 20, class: kind, 'text-anchor': anchor });
      element.textContent = text;
      return element;
    };
    const anchor = (x) => (x < 3 ? 'start' : x > 96 ? 'end' : 'middle');
    this.axis.replaceChildren(
      ...folds.map(band),
      ...ticks.map((tick) => label(tick.x, tick.text, '', anchor(tick.x))),
      ...folds.map((part) => label(part.x + part.width / 2, time(part.to - part.from), 'folded', anchor(part.x + part.width / 2))),
    );
    // All bars have moved.
    for (const [key, item] of this.drawn) this.placeBar(key, item);
  }

  paint() {
    if (this.stale) return this.filter();
    if (this.dirty) this.lay();
    this.dirty = false;
    const { top } = this.list.getBoundingClientRect();
    const first = Math.max(0, this.at(-top) - AROUND);
    const last = Math.min(this.view.length - 1, this.at(innerHeight - top) + AROUND);
    const wanted = new Map();
    for (let at = first; at <= last; at += 1) wanted.set(this.view[at].key, at);
    for (const item of [...this.list.children]) {
      if (!wanted.has(item.key) || this.drawn.get(item.key) !== item) {
        if (item.contains(document.activeElement)) this.refocus = item.key;
        if (this.drawn.get(item.key) === item) this.drawn.delete(item.key);
        item.remove();
      }
    }
    let before = null;
    for (const [key, at] of wanted) {
      let item = this.drawn.get(key);
      if (!item) {
        item = this.item(this.view[at], at);
        this.drawn.set(key, item);
        this.list.insertBefore(item, before ? before.nextSibling : this.list.firstChild);
        this.placeBar(key, item);
        if (this.refocus === key) item.firstChild.focus({ preventScroll: true });
      }
      item.style.transform = `translateY(${this.tops[at]}px)`;
      item.setAttribute('aria-posinset', at + 1);
      item.setAttribute('aria-setsize', this.view.length);
      item.firstChild.tabIndex = at === this.focused ? 0 : -1;
      before = item;
    }
    this.refocus = null;
    if (this.follows) this.follow();
    else this.more.hidden = this.fresh === 0 || this.isAtEnd();
    this.more.textContent = `${this.fresh} new row${this.fresh === 1 ? '' : 's'}`;
    if (this.isAtEnd()) this.fresh = 0;
  }

  /** The row at this height. */
  at(height) {
    let [low, high] = [0, this.view.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= height) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  isAtEnd() {
    return this.list.getBoundingClientRect().bottom <= innerHeight + 4;
  }

  follow() {
    this.follows = false;
    this.fresh = 0;
    this.more.hidden = true;
    this.list.lastElementChild?.scrollIntoView({ block: 'nearest' });
    const scroller = this.place.closest('.run');
    scroller.scrollTop = scroller.scrollHeight;
    this.later();
  }

  item(entry, at) {
    const row = entry.fold ? this.folded(entry) : this.rows[entry.i];
    const name = make('span', 'name', make('b', '', row.name), ' ', make(['tool', 'agent'].includes(row.kind) ? 'code' : 'span', 'detail', row.detail));
    if (row.why) name.append(make('span', 'why', row.why));
    const bar = draw('svg', { class: 'bar', 'aria-hidden': 'true' });
    const button = make('button', `r l${Math.min(row.level, 4)} is-${row.mark}`, name, make('span', `outcome ${row.mark}`, row.word), bar, make('span', 'number', row.took));
    button.type = 'button';
    button.setAttribute('aria-expanded', this.open.has(entry.key));
    button.onclick = () => this.toggle(entry);
    const item = make('li', '', button);
    item.key = entry.key;
    item.row = row;
    if (this.open.has(entry.key)) item.append(this.details(entry, row));
    return item;
  }

  folded(entry) {
    const rows = entry.fold.map((i) => this.rows[i]);
    if (rows.length === 1) return rows[0];
    const took = rows.reduce((sum, row) => sum + row.to - row.from, 0);
    const [name, detail] = [`${rows.length} hooks`, 'all let it pass'];
    return { ...rows[0], name, detail, to: rows[rows.length - 1].to, took: took < 0.1 ? '< 0.1 ms' : time(took), more: rows.map((row) => [row.name, `${row.detail}: ${row.word}, ${row.took}`]) };
  }

  placeBar(key, item) {
    const { row } = item;
    const from = this.scale.x(row.from);
    const width = Math.max(this.scale.x(row.is_open ? this.now : row.to) - from, 0.5);
    const high = row.kind === 'hook' ? 6 : 12;
    const state = row.took === 'not started' ? 'todo' : row.mark === 'block' || row.mark === 'fail' ? row.mark : row.kind;
    const bar = draw('rect', { class: `b-${state}`, x: `${Math.min(from, 99.5)}%`, y: (28 - high) / 2, width: `${width}%`, height: high, rx: 2 });
    item.querySelector('.bar').replaceChildren(bar);
  }

  details(entry, row) {
    const facts = make('dl', 'facts-of');
    for (const [name, text] of row.more) facts.append(make('dt', '', name), make('dd', 'said', text));
    if (row.question) {
      const link = make('a', '', 'Open the question');
      link.href = `/approvals/${row.question}`;
      facts.append(make('dt', '', 'Question'), make('dd', '', link));
    }
    return make('div', 'more', facts);
  }

  toggle(entry) {
    const item = this.drawn.get(entry.key);
    this.focused = this.view.indexOf(entry);
    if (this.open.delete(entry.key)) item.querySelector('.more').remove();
    else {
      this.open.add(entry.key);
      item.append(this.details(entry, item.row));
      entry.opened = item.querySelector('.more').offsetHeight;
    }
    item.firstChild.setAttribute('aria-expanded', this.open.has(entry.key));
    this.laid = Math.min(this.laid, this.focused);
    this.dirty = true;
    this.later();
  }

  key(event) {
    const last = this.view.length - 1;
    const moves = { ArrowDown: this.focused + 1, ArrowUp: this.focused - 1, Home: 0, End: last, PageDown: this.focused + 20, PageUp: this.focused - 20 };
    if (!(event.key in moves) || !event.target.classList.contains('r')) return;
    event.preventDefault();
    this.focused = Math.min(last, Math.max(0, moves[event.key]));
    const entry = this.view[this.focused];
    const scroller = this.place.closest('.run');
    const inView = this.list.getBoundingClientRect().top + this.tops[this.focused];
    if (inView < 160 || inView > innerHeight - 80) {
      const by = inView - innerHeight / 2;
      scroller.scrollBy(0, by);
      scrollBy(0, by);
    }
    this.paint();
    this.drawn.get(entry.key)?.firstChild.focus({ preventScroll: true });
  }
}

/** Whether an event came after another one. Another epoch is another server. */
function isLater(id, than) {
  const [epoch, number] = id.split('-');
  const [other, reference] = than.split('-');
  return epoch !== other || Number(number) > Number(reference);
}
