// A real browser over the page of a `pintle serve` that runs.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

export const [address, token, scenario, ...rest] = process.argv.slice(2);
export const base = `http://${address}`;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function check(is, what) {
  if (!is) throw new Error(what);
}

/** Waits until it is so: for events, never for a time. */
export async function until(what, is) {
  const end = Date.now() + 60_000;
  for (;;) {
    const found = await is();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it never happened: ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}

export async function api(path, body, headers = {}) {
  const response = await fetch(base + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: body && JSON.stringify(body),
  });
  return response.json();
}

const messages = new Map();

/** Sends a message and does not wait for its answer. */
export async function say(text, chat = 'c') {
  const message = { chat, messageId: `${scenario}-${messages.size}`, sender: 'ann', text };
  const { runId } = await api('/v1/messages', message, { prefer: 'respond-async' });
  messages.set(runId, message);
  return runId;
}

/** How a run ended: the same message again gets the same answer, once there is one. */
export async function ended(run) {
  return (await api('/v1/messages', messages.get(run))).outcome;
}

export function pending() {
  return until('a question', async () => (await api('/v1/approvals?state=pending'))[0]);
}

export const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });

/** A browser that is signed in. Whatever its pages break or refuse is a failure. */
export async function signedIn(options = {}) {
  const context = await browser.newContext(options);
  context.problems = [];
  context.on('console', (message) => {
    const text = message.text();
    // A connection that a test cuts is not a problem.
    if (message.type() === 'error' && !text.includes('net::ERR')) context.problems.push(text);
  });
  context.on('weberror', (error) => context.problems.push(String(error.error())));
  const page = await context.newPage();
  await page.goto(`${base}/`);
  check(page.url() === `${base}/login`, `without a token one gets the form, not ${page.url()}`);
  await page.fill('#token', token);
  await page.click('button');
  await page.waitForURL(`${base}/`);
  return { context, page };
}

export async function close(context) {
  check(context.problems.length === 0, `the browser complains: ${context.problems.join('\n')}`);
  await context.close();
}

/** Opens a page and waits until the server pushes to it. */
export async function open(context, path) {
  const page = await context.newPage();
  await page.goto(base + path);
  await live(page);
  return page;
}

export function live(page) {
  return page.waitForFunction(() => document.getElementById('connection').textContent === 'Live');
}

/** What axe finds that is serious. */
export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter((it) => ['serious', 'critical'].includes(it.impact));
  const said = serious.map((it) => `${it.id}: ${it.nodes.map((node) => `${node.html} ${node.failureSummary}`).join('\n  ')}`);
  check(serious.length === 0, `axe on ${what}: ${said.join('\n')}`);
}
