// A past run, step by step: the prompt, the model's words, calls that ran at the same time, their hooks, a sub-agent; and all of it as JSON.

import { readFileSync } from 'node:fs';
import { accessible, base, browser, check, close, ended, say, signedIn } from './support.mjs';

const { context, page } = await signedIn();
const run = await say('Look at both');
check((await ended(run)) === 'end_turn', 'it ends');
await page.goto(`${base}/runs/${run}`);
const steps = await page.locator('.step h2').allTextContents();
check(steps.map((it) => it.split(/ {2}|\n| \d/)[0].trim()).join().startsWith('Message,Model request'), `the steps: ${steps}`);
check((await page.textContent('.step .said')) === 'Look at both', 'the prompt of the person');

const prompt = page.locator('.step').first().locator('details:has-text("System prompt")');
check(!(await prompt.locator('dl').isVisible()), 'the system prompt is folded');
await prompt.locator('summary').click();
const parts = await prompt.locator('dl').textContent();
check(parts.includes('safety prelude, by pintle') && parts.includes('You act through tools'), `the system prompt: ${parts}`);
check((await page.locator('.step').nth(1).textContent()).includes('I look at three things.'), 'the words between the calls');

// Each hook stands below its own call, and the sub-agent's rows below the call that started it.
const rows = (await page.locator('.step').nth(1).locator('summary b').allTextContents()).join();
check(
  rows.startsWith('terminal,terminal guard,injection safety,injection safety,context files,terminal,terminal guard,delegate,injection safety,System prompt,Model request 1,terminal,terminal guard,injection safety,injection safety,context files,Model request 2,'),
  `the rows: ${rows}`,
);
const sub = page.locator('details.l1:has-text("Model request 1")');
await sub.locator('summary').click();
check((await sub.textContent()).includes('I go and see.'), 'the words of the sub-agent');
await accessible(page, 'a run with everything');

const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export JSON' }).click()]);
check(download.suggestedFilename() === `run-${run}.json`, download.suggestedFilename());
const exported = JSON.parse(readFileSync(await download.path(), 'utf8'));
const of = (kind, events = exported.events) => events.filter((it) => it.type === kind);
check(exported.run.runId === run && of('run.start')[0].prompt === 'Look at both', 'the run');
check(of('prompt')[0].parts.length >= 2 && of('tool.calls')[0].text === 'I look at three things.', 'the prompt and the words');
check(of('tool.end').map((it) => it.outcome).sort().join() === 'ok,ok,rejected', 'the calls');
check(of('hook.fired').filter((it) => it.toolCallId === 'two').length > 0, 'the hooks name their call');
check(exported.subAgents.length === 1 && of('done', exported.subAgents[0].events).length === 1, 'the sub-agent');
await close(context);
await browser.close();
