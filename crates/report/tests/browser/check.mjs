// Looks at pages of proofs with a real browser: light and dark, wide and narrow, with and without scripts.
//
//   node check.mjs FOLDER            # of NAME.html; writes NAME-*.png there
//   node check.mjs FOLDER firefox    # the same in Firefox, for what it can be asked from outside; writes no files
//
// Exit status: 0 all is well, 1 something is not.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, firefox } from 'playwright-core';

const folder = resolve(process.argv[2] ?? '.');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDTHS = { wide: 1400, narrow: 360 };

const inFirefox = process.argv[3] === 'firefox';

// An unchanged Firefox is asked by WebDriver BiDi, which sets no colours: each of the two has a browser of its own.
const launch = async (dark) => (inFirefox
  ? firefox.launch({
    channel: 'moz-firefox',
    executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
    firefoxUserPrefs: { 'layout.css.prefers-color-scheme.content-override': dark ? 0 : 1 },
  })
  : chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  }));
const light = await launch(false);
const dark = inFirefox ? await launch(true) : light;

// A page in a context of its own. What goes wrong in it, and what it loads, is collected.
const open = async (file, options) => {
  const browser = options.colorScheme === 'dark' ? dark : light;
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const wrong = [];
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (request.url() !== pathToFileURL(file).href) { wrong.push(`request: ${request.url()}`); }
  });
  page.on('dialog', (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(pathToFileURL(file).href);
  return { context, page, wrong };
};

const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

// WCAG 2.2 A and AA: contrast, names, roles, tables, order of headings.
const accessible = async (file, options) => {
  const { context, page, wrong } = await open(file, { ...options, bypassCSP: true });
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  const violations = found.violations.map(({ id, nodes }) => `${id}: ${nodes.length} times, as ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary}`);
  assert.deepEqual(violations, []);
  assert.deepEqual(wrong, []);
  await context.close();
};

const look = async (file) => {
  for (const colorScheme of ['light', 'dark']) {
    for (const [size, width] of Object.entries(WIDTHS)) {
      const { context, page, wrong } = await open(file, { colorScheme, viewport: { width, height: 900 } });
      assert.ok(await fits(page), `it is wider than ${width} pixels: ${await widest(page)}`);
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
      assert.equal(paper < 128, colorScheme === 'dark', `the paper is ${paper}`);
      if (!inFirefox) {
        await page.screenshot({ path: file.replace(/html$/, `${size}-${colorScheme}.png`), fullPage: statSync(file).size < 2 ** 20 });
      }
      assert.deepEqual(wrong, []);
      await context.close();
    }
  }
};

// The elements that stand out, to be told.
const widest = (page, scrolled = '.scroll, nav ul, pre') => page.evaluate((within) => [...document.body.querySelectorAll('*')]
  .filter((node) => node.getBoundingClientRect().right > innerWidth + 1 && !node.closest(within))
  .slice(0, 5).map((node) => node.outerHTML.slice(0, 120)).join('\n'), scrolled);

// Without scripts all is there, and nothing that would need them.
const withoutScripts = async (file) => {
  const { context, page, wrong } = await open(file, { javaScriptEnabled: false, viewport: { width: 1000, height: 900 } });
  assert.equal(await page.locator('button:visible').count(), 0, 'buttons do nothing without scripts');
  assert.equal(await page.locator('.timeline svg .pieces').count(), await page.locator('.timeline').count());
  assert.deepEqual(wrong, []);
  await context.close();
};

const theme = async (file) => {
  const { context, page } = await open(file, { colorScheme: 'light' });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('button', { name: /dark colours/ }).click();
  const dark = await paper();
  assert.notEqual(light, dark);
  await page.getByRole('button', { name: /light colours/ }).press('Enter');
  assert.equal(await paper(), light);
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.equal(await paper(), light, 'who has chosen keeps the choice');
  await page.getByRole('button', { name: /dark colours/ }).click();
  await page.emulateMedia({ media: 'print' });
  assert.equal(await paper(), 'rgb(255, 255, 255)', 'paper is white');
  await context.close();
};

const timeLine = async (file) => {
  const { context, page, wrong } = await open(file, { viewport: { width: 1200, height: 900 } });
  const line = page.locator('.timeline').first();
  const shown = async () => (await line.locator('output').textContent()).match(/[−\d.]+/g).map((text) => Number(text.replace('−', '-')));
  const length = async () => { const [from, until] = await shown(); return until - from; };
  const all = await shown();
  const piece = () => line.locator('.pieces rect').evaluateAll((nodes) => nodes.filter((node) => node.style.display !== 'none').length);
  const pieces = await piece();

  await line.getByRole('button', { name: 'Zoom in' }).click();
  const near = (one, other) => assert.ok(Math.abs(one - other) < 0.01 * Math.abs(all[1] - all[0]), `${one} is not ${other}`);
  near(await length(), (all[1] - all[0]) / 2);
  assert.ok(await piece() < pieces, 'what is outside is not drawn');
  const [before] = await shown();
  await line.getByRole('button', { name: 'Later' }).click();
  near((await shown())[0], before + (all[1] - all[0]) / 8);

  const box = line.locator('.scroll');
  await box.focus();
  await page.keyboard.press('0');
  assert.deepEqual(await shown(), all);
  await page.keyboard.press('+');
  await page.keyboard.press('ArrowLeft');
  near((await shown())[0], all[0] + (all[1] - all[0]) / 8);
  for (let times = 0; times < 60; times += 1) { await page.keyboard.press('+'); }
  assert.ok(await length() > 0, 'there is an end of zooming');
  await page.keyboard.press('0');

  await box.scrollIntoViewIfNeeded();
  const bounds = await line.locator('.scroll > svg').boundingBox();
  await page.mouse.move(bounds.x + bounds.width / 2, bounds.y + 20);
  await page.keyboard.down('Control');
  const text = await line.locator('output').textContent();
  await page.mouse.wheel(0, -100);
  // The wheel has no promise: its event comes later.
  await page.waitForFunction((before) => document.querySelector('.timeline output').textContent !== before, text);
  await page.keyboard.up('Control');
  assert.ok(await length() < all[1] - all[0], 'the wheel zooms with a key');
  const [start] = await shown();
  await page.mouse.down();
  await page.mouse.move(bounds.x + bounds.width / 2 - 60, bounds.y + 20, { steps: 3 });
  await page.mouse.up();
  assert.ok((await shown())[0] > start, 'the line follows the pointer');

  await page.keyboard.press('0');
  // Of bars that are thinner than a pixel, browsers differ in whether they are under the pointer.
  const widths = await line.locator('.pieces rect').evaluateAll((nodes) => nodes.map((node) => node.getBoundingClientRect().width));
  const bar = line.locator('.pieces rect').nth(widths.indexOf(Math.max(...widths)));
  await bar.hover({ force: true });
  // The bar may have been scrolled to, and scrolling hides the text.
  for (let times = 0; times < 20 && !await page.locator('#tip').isVisible(); times += 1) {
    await page.waitForTimeout(100);
    await page.mouse.move(0, 0);
    await bar.hover({ force: true });
  }
  assert.match(await page.locator('#tip').textContent(), /ms to .* ms: /);
  assert.ok(await page.locator('#tip').isVisible());
  await page.keyboard.press('Escape');
  assert.ok(!await page.locator('#tip').isVisible());

  await page.setViewportSize({ width: 700, height: 900 });
  await page.waitForFunction(() => document.querySelector('.timeline .scroll > svg').viewBox.baseVal.width < 700);
  assert.deepEqual(wrong, []);
  await context.close();
};

const printed = async (file) => {
  const { context, page, wrong } = await open(file, { viewport: { width: 1200, height: 900 } });
  const pdf = await page.pdf({ path: file.replace(/html$/, 'pdf'), format: 'A4', landscape: true, margin: { top: '12mm', bottom: '12mm', left: '12mm', right: '12mm' } });
  assert.ok(pdf.length > 10_000);
  // What is between the margins of A4, on its side.
  await page.setViewportSize({ width: 1031, height: 703 });
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.ok(await fits(page), `paper is too narrow for: ${await widest(page, 'nothing')}`);
  const broken = await page.evaluate(() => [...document.querySelectorAll('td.n')]
    .filter((node) => { const lines = document.createRange(); lines.selectNodeContents(node); return new Set([...lines.getClientRects()].map((box) => Math.round(box.top / 4))).size > 1; })
    .slice(0, 3).map((node) => node.textContent));
  assert.deepEqual(broken, [], 'a number is on one line');
  assert.deepEqual(wrong, []);
  await context.close();
};

const files = readdirSync(folder).filter((name) => name.endsWith('.html')).map((name) => join(folder, name));
assert.ok(files.length > 0, `there is no page in ${folder}`);
readdirSync(folder).filter((name) => name.endsWith('.png') && !inFirefox).forEach((name) => rmSync(join(folder, name)));
let failed = 0;
for (const file of files) {
  const small = statSync(file).size < 2 ** 20;
  const text = readFileSync(file, 'utf8');
  const lines = text.includes('class="timeline"');
  const scripted = text.includes('<script>');
  const checks = [
    ['looks', look, true],
    ['without scripts', withoutScripts, !inFirefox],
    ['theme', theme, scripted && !inFirefox],
    ['time line', timeLine, lines],
    ['accessible, light', (it) => accessible(it, { colorScheme: 'light' }), small],
    ['accessible, dark', (it) => accessible(it, { colorScheme: 'dark' }), small],
    ['printed', printed, small && !inFirefox],
  ];
  for (const [name, check, wanted] of checks) {
    if (!wanted) { continue; }
    try {
      await check(file);
      console.log(`ok   ${basename(file)}: ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${basename(file)}: ${name}\n${error.stack}`);
    }
  }
}
await light.close();
if (dark !== light) { await dark.close(); }
console.log(failed ? `${failed} checks failed` : inFirefox ? 'all is well in Firefox' : `all is well; screenshots are in ${folder}`);
process.exitCode = failed ? 1 : 0;
