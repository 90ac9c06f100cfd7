// The timeline, live in eight tabs over one connection, and after that connection was lost.

import net from 'node:net';
import { accessible, api, base, browser, check, close, ended, live, open, rest, say, signedIn, token, until } from './support.mjs';

const [proxyPort] = rest;
const { context, page } = await signedIn({ viewport: { width: 1280, height: 800 } });
const streams = [];
context.on('request', (request) => {
  if (new URL(request.url()).pathname === '/events') streams.push(request.url());
});

// A blocked call, by the terminal guard.
const blocked = await say('run rm -rf /', 'blocked <img src=x onerror=alert(1)>');
await ended(blocked);
await page.goto(`${base}/live/${blocked}`);
await page.waitForSelector('.r.is-block');
const row = await page.locator('.r.is-block').first().textContent();
check(row.includes('rm -rf /') && row.includes('blocked') && row.includes('never ran'), `a blocked call: ${row}`);
check((await page.locator('.r.is-block .outcome.block').count()) >= 2, 'the call and the hook that blocked it');
check((await page.locator('img').count()) === 0, 'text is never markup');
const all = await page.locator('.r').count();
await page.getByLabel(/Blocked/).check();
await until('the filter', async () => (await page.locator('.r').count()) === (await page.locator('.r.is-block').count()));
check((await page.locator('.r').count()) < all, 'the filter leaves rows out');
await page.getByLabel(/Blocked/).uncheck();
await page.getByLabel(/Plugin/).selectOption('-');
const names = () => page.locator('.r b').allTextContents();
await until('the filter by plugin', async () => !(await names()).includes('Message'));
const others = (await names()).filter((name) => ['Message', 'System prompt', 'terminal', 'Answer'].includes(name) || name.startsWith('Model'));
check((await names()).includes('terminal guard') && others.length === 0, `built-in hooks alone: ${await names()}`);
await page.getByLabel(/Plugin/).selectOption('');

// By keyboard: the arrows move, Enter opens.
await page.locator('.r').first().focus();
await page.keyboard.press('ArrowDown');
check((await page.evaluate(() => document.activeElement.closest('li').getAttribute('aria-posinset'))) === '2', 'an arrow moves');
await page.keyboard.press('Enter');
await page.waitForSelector('li .more');
check((await page.locator('[aria-expanded=true]').count()) === 1, 'Enter opens');
await accessible(page, 'an open row');

// Eight tabs, one connection.
const tabs = [page];
await live(page);
while (tabs.length < 8) tabs.push(await open(context, '/'));
await Promise.all(tabs.map((tab) => live(tab)));
check(streams.length <= 2, `one stream for all tabs: ${streams}`);
const shown = await say('run echo for all tabs');
await Promise.all(tabs.map((tab) => tab.waitForSelector(`#runs a[href="/live/${shown}"]`)));
// The tab that holds the connection goes; another one takes over.
await tabs.shift().close();
const later = await say('run echo after it went');
await Promise.all(tabs.map((tab) => tab.waitForSelector(`#runs a[href="/live/${later}"]`)));
for (const tab of tabs) await tab.close();
await close(context);

// A lost connection: what happened meanwhile is sent afterwards, and nothing is read twice.
const sockets = new Set();
let isCut = false;
const proxy = net.createServer((inside) => {
  if (isCut) return inside.destroy();
  const [host, port] = base.slice('http://'.length).split(':');
  const outside = net.connect(Number(port), host);
  for (const [socket, peer] of [[inside, outside], [outside, inside]]) {
    sockets.add(socket);
    socket.pipe(peer);
    socket.on('error', () => peer.destroy());
    socket.on('close', () => peer.destroy());
  }
});
await new Promise((done) => proxy.listen(Number(proxyPort), '127.0.0.1', done));
const far = `http://127.0.0.1:${proxyPort}`;
const away = await browser.newContext();
const seen = await away.newPage();
let reads = 0;
seen.on('request', (request) => {
  if (request.url().endsWith('/rows')) reads += 1;
});
await seen.goto(`${far}/login`);
await seen.fill('#token', token);
await seen.click('button');
await seen.waitForURL(`${far}/`);
// A run that goes on for as long as this test wants.
const slow = await say('run echo begun; while [ ! -e go-on ]; do sleep 0.05; done', 'slow');
await until('the run', async () => !(await api(`/v1/runs/${slow}`)).error);
await seen.goto(`${far}/live/${slow}`);
await seen.waitForSelector('.r:has-text("running")');
await live(seen);
const before = reads;
isCut = true;
for (const socket of sockets) socket.destroy();
await seen.waitForFunction(() => document.getElementById('connection').textContent.startsWith('Reconnecting'));
await say('run touch go-on', 'other');
await ended(slow);
isCut = false;
await seen.waitForSelector('.r:has-text("Answer")');
await live(seen);
check(reads === before, 'the rows came by the stream, from where it was lost');
await away.close();
proxy.close();
await browser.close();
