// 10,000 rows: only those on the screen are in the document. With `bench`, what one more costs beside one among ten.

import { base, browser, check, close, ended, say, scenario, signedIn, until } from './support.mjs';

const { context, page } = await signedIn({ viewport: { width: 1280, height: 800 } });
const run = await say('run echo hello');
await ended(run);

function row(i) {
  const kinds = ['model', 'tool', 'hook', 'hook'];
  const mark = i % 50 === 7 ? 'block' : i % 50 === 9 ? 'fail' : 'ok';
  return {
    i, level: i % 4 > 1 ? 1 : 0, kind: kinds[i % 4], name: `row ${i}`, detail: 'tool.pre', why: mark === 'ok' ? '' : 'a reason',
    plugin: i % 8 === 2 ? 'ours' : undefined, mark, word: mark, from: 1e12 + i * 20, to: 1e12 + i * 20 + 15, is_open: false, took: '15 ms', changed: false, more: [['Point', 'tool.pre']],
  };
}

let count = 0;
let next = 0;
await context.route('**/rows', (route) => route.fulfill({ json: { after: 'x-0', now: Date.now(), isLive: true, rows: Array.from({ length: count }, (_, i) => row(i)) } }));

async function show(rows) {
  [count, next] = [rows, rows];
  await page.goto(`${base}/live/${run}`);
  await page.getByLabel(/Every hook/).check();
  await until('the rows', async () => (await page.textContent('#count')).startsWith(`${rows.toLocaleString('en')} of`));
}

/** Sends live rows, each in a frame of its own. */
function add(from, times) {
  return page.evaluate(async ({ rows, run }) => {
    const { take } = await import('/assets/live.js');
    for (const row of rows) {
      take({ id: `x-${row.i + 1}`, event: { type: 'tool.end', run, rows: [row] } });
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
  }, { rows: Array.from({ length: times }, (_, i) => ({ ...row(from + i), i: next++ })), run });
}

const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);

if (scenario === 'bench') {
  // What the browser itself counts: script, style and layout, whatever else the machine does. In turns; the median of the rounds.
  const devtools = await context.newCDPSession(page);
  await devtools.send('Performance.enable');
  const spent = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    const of = ['ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration'];
    return metrics.filter(({ name }) => of.includes(name)).reduce((sum, { value }) => sum + value, 0);
  };
  const times = { 10: [], 10_000: [] };
  for (let round = 0; round < 9; round += 1) {
    for (const rows of [10, 10_000]) {
      await show(rows);
      await page.evaluate(() => document.querySelector('.run').scrollTo(0, 1e9));
      await add(rows, 10);
      const before = await spent();
      await add(rows + 10, 20);
      times[rows].push((await spent() - before) / 20);
    }
  }
  const median = (rows) => times[rows].sort((a, b) => a - b)[times[rows].length >> 1];
  const [value, base] = [median(10_000), median(10)];
  const row = { row: 'one live row on the page, among 10,000', value: value * 1e9, unit: 'ns', against: 'among 10', base: base * 1e9 };
  console.log(JSON.stringify({ ...row, ratio: value / base, hold: '≤ 3×' }));
} else {
  await show(10_000);
  const most = 1500;
  check((await nodes()) < most, `${await nodes()} nodes at the top`);
  await page.evaluate(() => document.querySelector('.run').scrollTo(0, 120_000));
  await until('rows in the middle', async () => (await page.locator('.rows').textContent()).includes('row 4'));
  check((await nodes()) < most, `${await nodes()} nodes in the middle`);
  await page.locator('.r').first().focus();
  await page.keyboard.press('End');
  await page.waitForSelector('.r:has-text("row 9999")');
  check((await page.evaluate(() => document.activeElement.textContent)).includes('row 9999'), 'End goes to the last row');
  const last = page.locator('li:has-text("row 9999")');
  check((await last.getAttribute('aria-setsize')) === '10000' && (await last.getAttribute('aria-posinset')) === '10000', 'a reader knows how many there are');
  await add(10_000, 5);
  await page.waitForSelector('.r:has-text("row 10004")');
  check((await nodes()) < most, `${await nodes()} nodes at the end`);
  // Whoever has scrolled up is not moved.
  await page.evaluate(() => document.querySelector('.run').scrollTo(0, 0));
  await page.waitForSelector('.r:has-text("row 0")');
  await add(10_005, 3);
  await page.waitForSelector('.new-rows:has-text("3 new rows")');
  await page.getByLabel(/Failed/).check();
  await until('the filter', async () => (await page.textContent('#count')).startsWith('200 of'));
  check((await nodes()) < most, `${await nodes()} nodes when filtered`);
  await page.getByLabel(/Failed/).uncheck();
  await page.getByLabel(/Slower than/).selectOption('100');
  await until('the filter by time', async () => (await page.textContent('#count')).startsWith('0 of'));
  await page.getByLabel(/Slower than/).selectOption('10');
  await until('the filter by time', async () => (await page.textContent('#count')).startsWith('10,008 of'));
  // The filter by plugin: hooks of that plugin and nothing else, also in rows that come later.
  await page.getByLabel(/Slower than/).selectOption('0');
  const options = await page.getByLabel(/Plugin/).locator('option').allTextContents();
  check(options.join() === 'all,ours,built in', `the plugins to choose from: ${options}`);
  const numbers = async () => (await page.locator('.r b').allTextContents()).map((name) => Number(name.split(' ')[1]));
  for (const [plugin, count, is] of [['ours', '1,251', (i) => i % 8 === 2], ['-', '3,753', (i) => i % 4 > 1 && i % 8 !== 2]]) {
    await page.getByLabel(/Plugin/).selectOption(plugin);
    await until(`the filter by plugin ${plugin}`, async () => (await page.textContent('#count')).startsWith(`${count} of`));
    const shown = await numbers();
    check(shown.length > 10 && shown.every(is), `rows of ${plugin}: ${shown}`);
  }
  await page.getByLabel(/Plugin/).selectOption('');
  await until('no filter', async () => (await page.textContent('#count')).startsWith('10,008 of'));
  // An hour in which nothing worked is folded, and says how long it was.
  check((await page.locator('.grid .fold').count()) === 0, 'no gap, no fold');
  await add(10_008 + 180_000, 1);
  await page.waitForSelector('.ruler .folded');
  check((await page.textContent('.ruler .folded')).startsWith('1 h'), await page.textContent('.ruler .folded'));
  check((await page.locator('.grid .fold').count()) === 1, 'the band goes through all rows');
}
await close(context);
await browser.close();
