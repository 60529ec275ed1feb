const bristle = await import('/files/bristle.js');
await bristle.default();
const scenario = await import('/files/scenario.js');

// What the tests of the page have in common: the page in a frame, and what they do to it.
const done = [];
const check = (name, holds, found) => {
  if (!holds) throw new Error(`${name}: ${JSON.stringify(found)}`);
  done.push(name);
};
const near = (a, b, most) => Math.abs(a - b) <= most;

/** The page in a frame, once it is ready; its errors are collected. The console is read by browser.rs. */
const errors = [];
const open = async (address, width = 1280) => {
  const frame = document.createElement('iframe');
  frame.style.cssText = `width: ${width}px; height: 1000px`;
  frame.src = address;
  document.body.append(frame);
  await new Promise((loaded) => frame.addEventListener('load', loaded));
  const view = frame.contentWindow;
  view.addEventListener('error', (event) => errors.push(event.message));
  view.addEventListener('unhandledrejection', (event) => errors.push(String(event.reason)));
  // The deadline only ends a page that never begins.
  for (let i = 0; view.document.documentElement.dataset.ready !== 'yes'; i++) {
    if (i > 6000) throw new Error(`${address} does not begin: ${errors.join('; ')}`);
    await new Promise((next) => setTimeout(next, 20));
  }
  return view;
};

const view = await open('/files/index.html?pause');
const { page } = view.bristle;
const $ = (id) => view.document.getElementById(id);
const said = (id) => $(id).textContent;
const put = async (id, value) => {
  $(id).value = value;
  $(id).dispatchEvent(new view.Event('input', { bubbles: true }));
  view.bristle.pause(true);   // a grip goes on
  await view.bristle.refresh();
  await view.bristle.render();
};
const text = () => view.bristle.text();
const read = (key) => scenario.read(text(), key);
const SLICE = 1 / 120;
const pass = async (slices, of = view) => {
  for (let i = 0; i < slices; i++) await of.bristle.advance(SLICE);
  await of.bristle.render();
};
const all = (of = view) => Array.from(of.bristle.page.samples);

