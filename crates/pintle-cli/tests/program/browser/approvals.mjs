// A click approves, and the tool runs; a click denies, and it does not. The same with scripts off.

import { existsSync } from 'node:fs';
import { base, browser, check, close, ended, open, pending, rest, say, scenario, signedIn, until } from './support.mjs';

const [folder] = rest;
const made = (name) => existsSync(`${folder}/${name}`);
const hasScripts = scenario === 'scripts-on';
const { context, page } = await signedIn({ javaScriptEnabled: hasScripts });

// Two questions: the link of one opens exactly that one.
let run = await say('run echo yes > approved', 'a');
let question = await pending();
await say('run echo other > other', 'b');
const other = await until('a second question', async () => (await pendingBut(question.id)));
const second = hasScripts ? await open(context, '/approvals') : null;
await page.goto(`${base}/approvals/${question.id}`);
check((await page.locator('article').count()) === 1, 'a link opens one question');
check((await page.textContent('.command')).includes('$ echo yes > approved'), 'the exact command is shown');
check(!made('approved'), 'nothing ran before the answer');
if (second) await second.waitForSelector(`#q-${question.id}`);
await page.getByRole('button', { name: 'Approve' }).click();
check((await page.textContent('h1')).includes('was approved'), 'the page says what became of it');
check((await ended(run)) === 'end_turn' && made('approved'), 'an approved call runs');
// The other tab sees it without being touched.
if (second) await second.waitForSelector(`#q-${question.id}`, { state: 'detached' });
check(!made('other'), 'the other question is still open');

// Enter in the field for the reason denies: it never approves.
await page.goto(`${base}/approvals`);
const article = page.locator(`#q-${other.id}`);
await article.getByLabel('Deny, and say why').fill('Not today');
await article.getByLabel('Deny, and say why').press('Enter');
await until('the denial', async () => (await page.textContent('#answered')).includes('Not today'));
check((await ended(other.runId)) === 'end_turn' && !made('other'), 'a denied call does not run');

// By the button.
run = await say('run echo no > denied', 'c');
question = await pending();
await page.goto(`${base}/approvals`);
await page.getByRole('button', { name: 'Deny' }).click();
await until('the denial', async () => (await page.textContent('h1')).includes('No open questions'));
check((await ended(run)) === 'end_turn' && !made('denied'), 'a denied call does not run');
await page.goto(`${base}/runs/${run}`);
check((await page.textContent('main')).includes('never ran'), 'the run says that it never ran');
if (second) await until('the other tab', async () => (await second.textContent('h1')).includes('No open questions'));

async function pendingBut(id) {
  const { api } = await import('./support.mjs');
  return (await api('/v1/approvals?state=pending')).find((it) => it.id !== id);
}

await close(context);
await browser.close();
