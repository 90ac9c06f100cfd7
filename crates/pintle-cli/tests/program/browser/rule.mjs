// "Always" with its rule: what the label says is what is approved, and the next call that fits it is not asked about.

import { base, browser, check, close, ended, pending, say, signedIn } from './support.mjs';

const { context, page } = await signedIn();
let run = await say('go', 'a');
const question = await pending();
await page.goto(`${base}/approvals/${question.id}`);
const labels = await page.locator('fieldset label').allTextContents();
check(labels.some((label) => label.includes(question.rule) && label.includes('always')), `the rule is in the label: ${labels}`);
await page.getByLabel(/always/).check();
await page.getByRole('button', { name: 'Approve' }).click();
check((await ended(run)) === 'end_turn', 'it runs');
run = await say('again', 'a');
check((await ended(run)) === 'end_turn', 'the second call fits the rule and is not asked about');
await page.goto(`${base}/live/${run}`);
await page.waitForSelector('.r');
check((await page.textContent('#timeline')).includes('the rule'), 'the timeline says which rule approved it');
await close(context);
await browser.close();
