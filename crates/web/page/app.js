// The page: it steps the batch as time passes, sets what the visitor sets, and draws. All that a run depends
// on is in its text and in the record of grip forces.

import init, { Batch, Gpu, version } from './bristle.js';
import * as scenario from './scenario.js';
import * as draw from './draw.js';
import * as measuring from './measure.js';

const $ = (id) => document.getElementById(id);
/** Time of a step between two reads [s]; a multiple of it passes in a frame. */
const SLICE = 1 / 120;
/** Time that steps may take in a frame [ms]. */
const BUDGET = 12;
/** Directions of the drawn surface. */
const RINGS = 16;
/** The most grip forces that a link holds. */
const MOST_FORCES = 4000;
/** The most boxes by the slider. */
const MOST_BOXES = { cpu: 300, gpu: 3000 };

const page = {
  text: '',          // the scenario, whose grip force is that at the start
  record: [],        // [time, grip force] of this run
  replay: null,      // the record of a link while it runs
  end: 0,            // when it ends [s]
  pausesAtEnd: true,
  gpu: null,         // the visitor's GPU, if the browser gives one
  on: 'cpu',         // where the batch is
  batch: null,
  time: 0,
  // `index.html?pause` waits for the visitor.
  paused: new URLSearchParams(location.search).has('pause'),
  chosen: 0,
  samples: new Float64Array(0),
  detail: null,      // what is drawn of the chosen box and does not change
};

let rows = [];       // the pressure map that is painted, top row first
let cursor = null;   // its cell of the keyboard
let next = null;     // the text of the run that begins before the next frame

function say(message, wrong = false) {
  $('status').textContent = message;
  $('status').classList.toggle('wrong', wrong);
}

/** Calls `work`; what it refuses is said, and nothing changes. */
async function attempt(work) {
  try {
    await work();
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  }
}

let queue = Promise.resolve();

/** Does `work` on the batch after all that was asked before: a GPU answers later. */
function alone(work) {
  const done = queue.then(work);
  queue = done.catch(() => {});
  return done;
}

/** Calls the batch: on a GPU the call that answers later. */
const call = (name, ...given) => page.batch[page.on === 'gpu' ? `${name}Async` : name](...given);

/** Begins a run of this text, or of that of a link with its record. */
async function start(text) {
  const forces = scenario.forces(text);
  if (!forces) throw new Error('inputs.normal_force: this page plays a number, or points that are constant');
  const on = place(text);
  const batch = on === 'gpu' ? await page.gpu.batch(text, 0) : new Batch(text, 0, '');
  page.batch?.free();
  Object.assign(page, { text, batch, on, time: 0, record: forces.map((point) => [...point]), detail: null });
  page.replay = forces.length > 1 ? page.record : null;
  page.pausesAtEnd = true;
  page.end = batch.duration;
  page.chosen = Math.min(page.chosen, batch.length - 1);
  page.samples = await call('samples');
  showForce(forces[0][1]);
  showFields();
  say('');
}

/** Where a scenario runs: where it says, if that is here, else on a GPU that is none in software. */
function place(text) {
  const asked = scenario.read(text, 'engine') ?? 'auto';
  if (!page.gpu || asked === 'cpu' || scenario.read(text, 'precision') === 'f64') return 'cpu';
  return asked === 'gpu' || !JSON.parse(page.gpu.adapter).software ? 'gpu' : 'cpu';
}

/** Opens the visitor's GPU; without one the page does all on the CPU. */
async function openGpu() {
  if (!navigator.gpu) return;
  try {
    page.gpu = await Gpu.open();
  } catch {
    page.gpu = null;
  }
}

/** Goes on without the GPU, which has failed: the CPU repeats the run. */
async function fallBack(error) {
  const kept = scenario.write(text(), 'engine', '"cpu"');
  page.gpu = null;
  await start(kept);
  page.pausesAtEnd = false;
  say(`The GPU has stopped (${error.message}). The CPU repeats the run.`, true);
}

/** The grip force at the present time. */
function force() {
  let found = page.record[0][1];
  for (const [t, value] of page.record) if (t <= page.time) found = value;
  return found;
}

/** The visitor sets the grip force from now on. */
function setForce(value) {
  showForce(value);
  return alone(() => takeForce(value));
}

async function takeForce(value) {
  if (page.replay) {
    page.record = page.record.filter(([t]) => t < page.time || t === 0);
    page.replay = null;
  }
  const done = await attempt(() => page.batch.setAll(scenario.FORCE, value));
  if (!done) return;
  const last = page.record.at(-1);
  if (last[0] === page.time) last[1] = value;
  else page.record.push([page.time, value]);
}

function showForce(value) {
  $('grip').value = value;
  $('grip-value').textContent = `${Number(value).toFixed(2)} N`;
}

/** Lets time pass. */
async function advance(dt) {
  await call('advance', dt);
  page.time = page.batch.time(0);
}

/** Lets the time of one frame pass, or as much of it as there is time for. */
async function frame(elapsed) {
  const slices = Math.max(1, Math.min(6, Math.round(elapsed / SLICE)));
  const begin = performance.now();
  let done = 0;
  if (page.on === 'gpu') {
    await advance(slices * SLICE);
    done = slices;
  }
  while (done < slices && (done === 0 || performance.now() - begin < BUDGET)) {
    await advance(SLICE);
    done++;
  }
  pace.real += elapsed;
  pace.simulated += done * SLICE;
  if (pace.real > 1) {
    const rate = pace.simulated / pace.real;
    $('clock').dataset.rate = rate < 0.93 ? ` (${rate.toFixed(2)} of real time)` : '';
    Object.assign(pace, { real: 0, simulated: 0 });
  }
  if (page.replay) {
    showForce(force());
    if (page.time >= page.end) {
      page.replay = null;
      if (!page.pausesAtEnd) return;
      page.paused = true;
      say('This is the end of the run that the link holds. Change the grip and it goes on.');
      showPaused();
    }
  }
}
const pace = { real: 0, simulated: 0 };

/** The text with the record in it, which reproduces the run until now. */
function text() {
  const end = Math.max(page.time, 0.1);
  return scenario.withForces(page.text, page.record.filter(([t]) => t <= end), end);
}

async function render() {
  page.samples = await call('samples');
  const { batch, chosen, samples } = page;
  const states = await call('bristles', chosen);
  page.detail ??= {
    grid: batch.grid(chosen), weights: batch.weights(chosen), cells: batch.cells(chosen),
    surface: batch.surface(chosen, RINGS), numbers: JSON.parse(batch.parameters(chosen)),
  };
  const { detail } = page;
  draw.drawBoxes($('boxes'), samples, chosen, Math.max(detail.grid[2], detail.grid[3]));
  draw.drawHistory($('history'), page.record, page.time, Number($('grip').max));
  draw.drawBristles($('bristles'), { ...detail, states, mu: detail.numbers['friction.mu_c'] });
  const [fx, fy, tau, factor] = batch.margin(chosen);
  const own = samples.subarray(chosen * draw.NUMBERS, (chosen + 1) * draw.NUMBERS);
  const slips = own[10] > 0.5;
  draw.drawSurface($('surface'), detail.surface, RINGS, [fx, fy, tau], slips);
  const share = Math.min(1, 1 / factor);
  $('share').textContent = own[9] > 0 ? `${Math.round(100 * share)} % used` : 'no contact';
  $('chosen').textContent = `Box ${chosen + 1}`;
  const state = own[1] < -draw.GONE ? 'has fallen' : slips ? 'slides' : own[10] > 0 ? 'slips in part' : 'holds';
  $('state').textContent = state;
  $('clock').textContent = `${page.time.toFixed(2)} s${$('clock').dataset.rate ?? ''}`;
}

/** The fields show what the text says. */
function showFields() {
  const middle = (key, otherwise) => scenario.middle(page.text, key, otherwise);
  const show = (id, value, words) => {
    $(id).value = value;
    $(`${id}-value`).textContent = words;
  };
  const mu = middle('friction.mu_c', 1);
  const mass = middle('body.mass', 0.2);
  const offset = 1e3 * middle('initial.pose.0', 0);
  show('mu', mu, mu.toFixed(2));
  show('mass', mass, `${Math.round(1e3 * mass)} g`);
  show('offset', offset, `${offset.toFixed(1)} mm`);
  $('count').max = MOST_BOXES[page.on];
  show('count', page.batch.length, page.batch.length);
  $('on').value = page.on;
  $('on').querySelector('[value=gpu]').disabled = !page.gpu;
  $('law').value = scenario.read(page.text, 'friction.law') ?? 'elasto-plastic';
  $('model').value = scenario.read(page.text, 'contact.model') ?? 'distributed';
  const [nx, ny] = page.batch.grid(0);
  const weights = page.batch.weights(0);
  const most = Math.max(...weights);
  rows = Array.from({ length: ny }, (_, i) =>
    Array.from({ length: nx }, (_, j) => weights[(ny - 1 - i) * nx + j] / most));
  draw.drawMap($('map'), rows, cursor);
  const cells = page.batch.cells(0).length;
  const each = cells > 0 ? `${cells} bristles each` : 'one reduced bristle each';
  const precision = scenario.read(page.text, 'precision') ?? 'f32';
  const where = page.on === 'gpu' ? `GPU of this device, ${page.batch.engine}` : `CPU of this device, one thread, ${precision}`;
  const why = page.gpu ? '' : ' This browser gives no GPU.';
  $('engine').textContent = `bristle ${version()} on the ${where}: ${page.batch.length} patches, ${each}.${why}`;
}

/** Begins a run of the changed scenario, with the present grip force from its start on. */
function restart(change) {
  return attempt(() => {
    next = change(scenario.withForces(next ?? page.text, [[0, Number($('grip').value)]], 10));
  });
}

/** Begins the run that waits. What is refused leaves the present one as it is. */
async function refresh() {
  if (next === null) return;
  const text = next;
  next = null;
  if (!(await attempt(() => start(text)))) showFields();
}

function field(id, change) {
  $(id).addEventListener('input', () => restart((text) => change(text, $(id).value)));
}

function paint(i, j, radius, by) {
  rows.forEach((row, y) => row.forEach((pressure, x) => {
    const far = Math.hypot(y - i, x - j) / radius;
    if (far < 1) row[x] = Math.min(1, Math.max(0, pressure + by * (1 - far * far)));
  }));
  pressed();
}

/** The patch has the pressure that is painted. */
function pressed() {
  draw.drawMap($('map'), rows, cursor);
  if (rows.flat().every((pressure) => pressure <= 0)) {
    say('Nothing presses: draw a spot.');
    return;
  }
  restart((text) => scenario.press(text, rows.map((row) => row.map((p) => Math.round(p * 100) / 100))));
}

/** Replaces the map by the pressure at x, y in -1 .. 1. */
function shape(pressure, cells = 13) {
  const at = (i) => (2 * (i + 0.5)) / cells - 1;
  rows = Array.from({ length: cells }, (_, i) => Array.from({ length: cells }, (_, j) => pressure(at(j), -at(i))));
  pressed();
}

const SHAPES = {
  disc: (x, y) => (Math.hypot(x, y) < 1 ? 1 : 0),
  edge: (x) => (x < -0.6 ? 1 : 0),
  ring: (x, y) => (Math.abs(Math.hypot(x, y) - 0.8) < 0.2 ? 1 : 0),
  two: (x, y) => (Math.hypot(Math.abs(x) - 0.7, y) < 0.3 ? 1 : 0),
  clear: () => 0,
};

/** The brightness of an image is the pressure. */
async function image(file) {
  const bitmap = await createImageBitmap(file);
  const cells = 15;
  const small = new OffscreenCanvas(cells, cells).getContext('2d');
  small.imageSmoothingQuality = 'high';
  small.drawImage(bitmap, 0, 0, cells, cells);
  const { data } = small.getImageData(0, 0, cells, cells);
  const bright = (i) => ((0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2]) * data[i + 3]) / 65025;
  rows = Array.from({ length: cells }, (_, i) => Array.from({ length: cells }, (_, j) => bright(4 * (i * cells + j))));
  pressed();
}

function choose(k) {
  page.chosen = Math.min(page.batch.length - 1, Math.max(0, k));
  page.detail = null;
}

function showPaused() {
  $('pause').textContent = page.paused ? 'Go on' : 'Pause';
}

function pause(paused = !page.paused) {
  page.paused = paused;
  showPaused();
}

function connect() {
  $('grip').addEventListener('input', () => {
    setForce(Number($('grip').value));
    if (page.paused) pause(false);
  });
  document.querySelectorAll('[data-grip]').forEach((button) =>
    button.addEventListener('click', () => {
      setForce(Number(button.dataset.grip));
      pause(false);
    }));
  $('pause').addEventListener('click', () => pause());
  $('again').addEventListener('click', () => {
    restart((text) => text);
    pause(false);
  });
  $('next-box').addEventListener('click', () => choose((page.chosen + 1) % page.batch.length));
  $('paint-edge').addEventListener('click', () => shape(SHAPES.edge));
  field('mu', (text, mu) => scenario.write(text, 'friction.mu_c', scenario.around(Number(mu), 0.1 * mu)));
  field('mass', (text, mass) => scenario.write(text, 'body.mass', scenario.around(Number(mass), 0.1 * mass)));
  field('offset', (text, mm) => scenario.write(text, 'initial.pose.0', scenario.around(mm / 1e3, 1e-3)));
  field('count', (text, count) => scenario.write(text, 'contacts', count));
  field('on', (text, on) => {
    const few = on === 'cpu' ? Math.min(page.batch.length, MOST_BOXES.cpu) : page.batch.length;
    return scenario.write(scenario.write(text, 'engine', `"${on}"`), 'contacts', few);
  });
  // A reduced bristle of this law is on an ellipsoid alone.
  const surface = (text) => {
    const ellipsoid = $('law').value === 'viscoelasto-plastic' && $('model').value === 'reduced';
    return scenario.write(text, 'contact.surface', ellipsoid ? '"ellipsoid"' : null);
  };
  field('law', (text, law) => surface(scenario.write(text, 'friction.law', `"${law}"`)));
  field('model', (text, model) => surface(scenario.write(text, 'contact.model', `"${model}"`)));
  $('shapes').addEventListener('click', ({ target }) => {
    if (target.dataset.shape) shape(SHAPES[target.dataset.shape]);
  });
  $('image').addEventListener('change', ({ target }) => target.files[0] && image(target.files[0]).catch(notAnImage));
  connectMap();
  connectPictures();
  $('link').addEventListener('click', share);
  $('download').addEventListener('click', download);
  addEventListener('hashchange', () => alone(open).catch((error) => say(error.message, true)));
  addEventListener('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
    if (target.matches('button, input, select, #map') || ctrlKey || metaKey || altKey) return;
    if (key === ' ') pause();
    else if (key === 'r') $('again').click();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
  new ResizeObserver(() => draw.drawMap($('map'), rows, cursor)).observe($('map'));
}

const notAnImage = () => say('This file is no image that the browser can read.', true);

function recolour() {
  draw.readColours();
  draw.drawMap($('map'), rows, cursor);
}

function connectMap() {
  const map = $('map');
  let by = 0;
  const place = ({ clientX, clientY }) => {
    const { left, top, width, height } = map.getBoundingClientRect();
    return [((clientY - top) / height) * rows.length - 0.5, ((clientX - left) / width) * rows[0].length - 0.5];
  };
  map.addEventListener('pointerdown', (event) => {
    by = event.shiftKey || event.button === 2 ? -0.6 : 0.6;
    paint(...place(event), 2, by);
  });
  map.addEventListener('pointermove', (event) => {
    if (event.buttons) paint(...place(event), 2, by);
  });
  map.addEventListener('contextmenu', (event) => event.preventDefault());
  map.addEventListener('blur', () => {
    cursor = null;
    draw.drawMap(map, rows, cursor);
  });
  map.addEventListener('keydown', (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    cursor ??= [Math.floor(rows.length / 2), Math.floor(rows[0].length / 2)];
    if (move) {
      cursor = [
        Math.min(rows.length - 1, Math.max(0, cursor[0] + move[0])),
        Math.min(rows[0].length - 1, Math.max(0, cursor[1] + move[1])),
      ];
    } else if (event.key === 'Enter' || event.key === ' ') paint(...cursor, 2, 0.6);
    else if (event.key === 'Delete' || event.key === 'Backspace') paint(...cursor, 2, -0.6);
    else return;
    event.preventDefault();
    draw.drawMap(map, rows, cursor);
  });
  const drop = document.querySelector('.paint');
  drop.addEventListener('dragover', (event) => event.preventDefault());
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    if (file) image(file).catch(notAnImage);
  });
}

function connectPictures() {
  const boxes = $('boxes');
  boxes.addEventListener('click', ({ offsetX, offsetY }) => {
    const [columns, rows] = draw.tiling(boxes, page.batch.length);
    const column = Math.floor((offsetX / boxes.clientWidth) * columns);
    choose(Math.floor((offsetY / boxes.clientHeight) * rows) * columns + column);
  });
  boxes.addEventListener('keydown', (event) => {
    const [columns] = draw.tiling(boxes, page.batch.length);
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (!by) return;
    event.preventDefault();
    choose(page.chosen + by);
  });
  const surface = $('surface');
  const turn = (yaw, pitch) => {
    draw.view.yaw += yaw;
    draw.view.pitch = Math.max(-1.5, Math.min(1.5, draw.view.pitch + pitch));
    turning = false;
  };
  surface.addEventListener('pointerdown', (event) => surface.setPointerCapture(event.pointerId));
  surface.addEventListener('pointermove', (event) => {
    if (event.buttons) turn(0.01 * event.movementX, 0.01 * event.movementY);
  });
  surface.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (!by) return;
    event.preventDefault();
    turn(...by);
  });
}

/** Whether the surface turns by itself. */
let turning = !matchMedia('(prefers-reduced-motion: reduce)').matches;

async function share() {
  if (page.record.length > MOST_FORCES) {
    say(`The grip has changed ${page.record.length} times, and a link holds ${MOST_FORCES} changes. `
      + 'Download the scenario, which holds all of them, or start again.', true);
    return;
  }
  const fragment = await scenario.packed(text());
  history.replaceState(null, '', fragment);
  try {
    await navigator.clipboard.writeText(location.href);
    say('The link is in the clipboard, and in the address.');
  } catch {
    say('The link is in the address.');
  }
}

function download() {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text()], { type: 'application/toml' }));
  link.download = 'scenario.toml';
  link.click();
  URL.revokeObjectURL(link.href);
  say('`bristle rollout scenario.toml` is the same run, natively.');
}

/** Begins the run that the address holds, or the first one. */
async function open() {
  const found = await scenario.unpacked(location.hash);
  await start(found ?? scenario.FIRST);
}

/** What happens between two pictures. */
async function tick(elapsed) {
  await refresh();
  try {
    if (!page.paused) {
      if (turning) draw.view.yaw += 0.12 * elapsed;
      await frame(elapsed);
    }
    await render();
  } catch (error) {
    if (page.on === 'gpu') await attempt(() => fallBack(error));
    else say(error.message, true);
  }
}

async function loop() {
  for (let last; ;) {
    const now = await new Promise(requestAnimationFrame);
    const elapsed = last === undefined ? SLICE : Math.min(0.05, (now - last) / 1e3);
    last = now;
    await alone(() => tick(elapsed));
  }
}

draw.readColours();
await init();
await openGpu();
try {
  await open();
} catch (error) {
  await start(scenario.FIRST);
  say(`The address holds no run that this page can play: ${error.message}`, true);
}
connect();
measuring.connect(() => pause(true), page.gpu !== null);
showPaused();
loop();
// For tests, and for the console.
globalThis.bristle = {
  page, text, setForce, pause, image, measure: measuring.measure,
  refresh: () => alone(refresh), render: () => alone(render), advance: (dt) => alone(() => advance(dt)),
};
document.documentElement.dataset.ready = 'yes';
