const bristle = await import('/files/bristle.js');
await bristle.default();
const scenario = await import('/files/scenario.js');

const done = [];
const check = (name, holds, found) => {
  if (!holds) throw new Error(`${name}: ${JSON.stringify(found)}`);
  done.push(name);
};
const near = (a, b, most) => Math.abs(a - b) <= most;

/** The page in a frame, once it is ready; what it reports as an error is collected. */
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
  for (const level of ['error', 'warn']) view.console[level] = (...words) => errors.push(words.join(' '));
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
const put = (id, value) => {
  $(id).value = value;
  $(id).dispatchEvent(new view.Event('input', { bubbles: true }));
  view.bristle.pause(true);   // a grip goes on
  view.bristle.refresh();
  view.bristle.render();
};
const text = () => view.bristle.text();
const read = (key) => scenario.read(text(), key);
const SLICE = 1 / 120;
const pass = (slices, of = view) => {
  for (let i = 0; i < slices; i++) of.bristle.advance(SLICE);
  of.bristle.render();
};
const all = (of = view) => Array.from(of.bristle.page.samples);

// Fields change what they say.
check('it begins with 120 boxes', page.batch.length === 120 && page.time === 0, [page.batch.length, page.time]);
put('count', 24);
check('boxes', page.batch.length === 24 && said('count-value') === '24' && read('contacts') === 24, said('count-value'));
put('mu', 1.2);
check('friction', near(scenario.middle(text(), 'friction.mu_c'), 1.2, 1e-9) && said('mu-value') === '1.20', text());
check('friction is drawn', near(JSON.parse(page.batch.parameters(0))['friction.mu_c'], 1.2, 0.121), text());
put('mu', 0.8);
put('mass', 0.3);
check('mass', near(JSON.parse(page.batch.parameters(1))['body.mass'], 0.3, 0.0301) && said('mass-value') === '300 g', text());
put('mass', 0.2);
put('offset', 5);
const offset = JSON.parse(page.batch.parameters(2))['initial.pose.0'];
check('centre of mass', near(offset, 0.005, 0.00101) && said('offset-value') === '5.0 mm', offset);
put('offset', 2);
for (const law of ['lugre', 'dahl', 'viscoelasto-plastic', 'elasto-plastic']) {
  for (const model of ['reduced', 'distributed']) {
    put('law', law);
    put('model', model);
    const right = read('friction.law') === law && read('contact.model') === model;
    const cells = page.batch.cells(0).length;
    check(`${law}, ${model}`, right && cells > 0 === (model === 'distributed'), [text(), said('status')]);
    pass(3);
    check(`${law}, ${model} steps`, all().every(Number.isFinite), all());
  }
}

// The grip holds, lets slide and catches.
put('mu', 0.8);
put('grip', 2.6);
pass(24);
check('a firm grip holds', all().every((v, i) => i % 12 !== 1 || Math.abs(v) < 1e-3) && said('state') === 'holds', said('state'));
const share = parseInt(said('share'), 10);
check('the load is inside', share > 20 && share < 90, said('share'));
put('grip', 0.9);
check('the slider sets the force', said('grip-value') === '0.90 N', said('grip-value'));
pass(12);
check('it is the force of the pads', near(page.samples[9], 0.9, 1e-6), page.samples[9]);
check('a loose grip lets slide', page.samples[1] < -1e-3 && said('state') === 'slides', [page.samples[1], said('state')]);
const used = parseInt(said('share'), 10);
check('the load touches the limit', used >= 98, said('share'));
put('grip', 4);
pass(36);
check('a firm grip catches', Math.abs(page.samples[4]) < 1e-3 && page.samples[1] < -1e-3, page.samples.slice(0, 12));

// The download and the link are this run.
const kept = text();
const ends = all();
check('the record is in the text', scenario.forces(kept).length === 3, kept);
$('link').click();
for (let i = 0; !view.location.hash && i < 6000; i++) await new Promise((next) => setTimeout(next, 20));
const other = await open(`/files/index.html?pause${view.location.hash}`, 390);
check('a link holds the text', other.bristle.page.text === kept, other.bristle.page.text);
pass(72, other);
const differs = all(other).reduce((most, v, i) => Math.max(most, Math.abs(v - ends[i])), 0);
// Each read of a batch writes the bristles back, which rounds once more, and the page reads in every frame.
check('a link is the same run', differs < 1e-6, differs);
check('a phone shows all of it', other.document.documentElement.scrollWidth <= 390, other.document.documentElement.scrollWidth);
const wrong = await open('/files/index.html?pause#s=AAAA');
const message = wrong.document.getElementById('status').textContent;
check('a wrong link is said', message.startsWith('The address holds no run') && wrong.bristle.page.batch.length === 120, message);

// A painted map changes the limit surface.
const surface = () => Array.from(page.batch.surface(0, 8));
const apart = (a, b) => a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i])), 0);
const disc = surface();
view.document.querySelector('[data-shape=edge]').click();
view.bristle.refresh();
const edge = surface();
check('a shape changes the surface', apart(disc, edge) > 0.05 && read('patch.shape') === undefined, apart(disc, edge));
const box = $('map').getBoundingClientRect();
const at = (x, y) => ({ clientX: box.left + x * box.width, clientY: box.top + y * box.height, buttons: 1 });
$('map').dispatchEvent(new view.PointerEvent('pointerdown', at(0.9, 0.1)));
view.bristle.refresh();
const painted = surface();
const top = page.batch.pressed(0);
check('a finger changes the surface', apart(edge, painted) > 0.01 && top[1] > 1e-5, [apart(edge, painted), top, said('status'), box]);
$('map').dispatchEvent(new view.KeyboardEvent('keydown', { key: 'Enter' }));
view.bristle.refresh();
check('a key changes the surface', apart(painted, surface()) > 0.01, apart(painted, surface()));
const canvas = Object.assign(document.createElement('canvas'), { width: 30, height: 30 });
const context = canvas.getContext('2d');
context.fillStyle = '#fff';
context.fillRect(0, 0, 10, 30);
await view.bristle.image(await new Promise((made) => canvas.toBlob(made)));
view.bristle.refresh();
check('an image is the map', page.batch.pressed(0)[0] < -0.005, page.batch.pressed(0));
view.document.querySelector('[data-shape=clear]').click();
view.bristle.refresh();
check('nothing that presses is said', said('status').startsWith('Nothing presses'), said('status'));

// Keys.
const key = (name) => view.document.body.dispatchEvent(new view.KeyboardEvent('keydown', { key: name, bubbles: true }));
key(' ');
check('space goes on', !page.paused, page.paused);
key(' ');
$('boxes').dispatchEvent(new view.KeyboardEvent('keydown', { key: 'ArrowRight' }));
check('an arrow chooses a box', page.chosen === 1, page.chosen);
check('no errors', errors.length === 0, errors);
await post({ done, text: kept, samples: ends });
