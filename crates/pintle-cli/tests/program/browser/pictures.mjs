// Every page, in light on a desk and in dark on a phone: pictures, their words, and what axe finds.

import { writeFileSync } from 'node:fs';
import { accessible, base, browser, check, close, ended, pending, rest, say, signedIn, until } from './support.mjs';

const [folder] = rest;
const asked = await say('Ship the retry fix and push it', 'backend');
const question = await pending();
const letters = await say('What changed last week?', 'mara');
await ended(letters);
const screens = [
  { width: 'desktop', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { width: 'phone', colorScheme: 'dark', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
];
const pages = {
  live: `/live/${asked}`, approvals: '/approvals', question: `/approvals/${question.id}`, hooks: '/hooks', runs: '/runs', run: `/runs/${asked}`, tickets: '/tickets', messages: '/messages', login: '/login', 'not-found': '/runs/none',
};
for (const { width, ...screen } of screens) {
  const { context, page } = await signedIn(screen);
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(base + path);
    if (name === 'live') await page.waitForSelector('.r');
    if (!['login', 'not-found'].includes(name)) await until('the stream', async () => (await page.textContent('#connection')) === 'Live');
    const what = `${name}-${width}`;
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wider <= 0, `${what} is ${wider} px wider than the screen`);
    await accessible(page, `${what}, ${screen.colorScheme}`);
    // The folder of a test is no folder of a reader.
    await page.evaluate(() => {
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/\/\S*\.tmp\w+\/work\b/g, '~/shop');
    });
    check(!(await page.evaluate(() => document.body.innerText.includes('.tmp'))), `${what} shows a path of this machine`);
    await page.screenshot({ path: `${folder}/${what}.png` });
    writeFileSync(`${folder}/${what}.txt`, `${await page.evaluate(() => document.body.innerText)}\n`);
  }
  // The 404 is there on purpose.
  context.problems = context.problems.filter((problem) => !problem.includes('404'));
  await close(context);
}
await browser.close();
