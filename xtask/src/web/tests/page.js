// Fields change what they say.
check('it begins with 120 boxes', page.batch.length === 120 && page.time === 0, [page.batch.length, page.time]);
const on = $('on');
check('without WebGPU it says so', on.value === 'cpu' && on.options[1].disabled && /gives no GPU/.test(said('engine')), said('engine'));
check('without a GPU there is none to measure', $('measure').disabled && /no GPU/.test(said('measured')), said('measured'));
await put('count', 24);
check('boxes', page.batch.length === 24 && said('count-value') === '24' && read('contacts') === 24, said('count-value'));
await put('mu', 1.2);
check('friction', near(scenario.middle(text(), 'friction.mu_c'), 1.2, 1e-9) && said('mu-value') === '1.20', text());
check('friction is drawn', near(JSON.parse(page.batch.parameters(0))['friction.mu_c'], 1.2, 0.121), text());
await put('mu', 0.8);
await put('mass', 0.3);
check('mass', near(JSON.parse(page.batch.parameters(1))['body.mass'], 0.3, 0.0301) && said('mass-value') === '300 g', text());
await put('mass', 0.2);
await put('offset', 5);
const offset = JSON.parse(page.batch.parameters(2))['initial.pose.0'];
check('centre of mass', near(offset, 0.005, 0.00101) && said('offset-value') === '5.0 mm', offset);
await put('offset', 2);
for (const law of ['lugre', 'dahl', 'viscoelasto-plastic', 'elasto-plastic']) {
  for (const model of ['reduced', 'distributed']) {
    await put('law', law);
    await put('model', model);
    const right = read('friction.law') === law && read('contact.model') === model;
    const cells = page.batch.cells(0).length;
    check(`${law}, ${model}`, right && cells > 0 === (model === 'distributed'), [text(), said('status')]);
    await pass(3);
    check(`${law}, ${model} steps`, all().every(Number.isFinite), all());
  }
}

// The grip holds, lets slide and catches.
await put('mu', 0.8);
await put('grip', 2.6);
await pass(24);
check('a firm grip holds', all().every((v, i) => i % 12 !== 1 || Math.abs(v) < 1e-3) && said('state') === 'holds', said('state'));
const share = parseInt(said('share'), 10);
check('the load is inside', share > 20 && share < 90, said('share'));
await put('grip', 0.9);
check('the slider sets the force', said('grip-value') === '0.90 N', said('grip-value'));
await pass(12);
check('it is the force of the pads', near(page.samples[9], 0.9, 1e-6), page.samples[9]);
check('a loose grip lets slide', page.samples[1] < -1e-3 && said('state') === 'slides', [page.samples[1], said('state')]);
const used = parseInt(said('share'), 10);
check('the load touches the limit', used >= 98, said('share'));
await put('grip', 4);
await pass(36);
check('a firm grip catches', Math.abs(page.samples[4]) < 1e-3 && page.samples[1] < -1e-3, page.samples.slice(0, 12));

// The download and the link are this run.
const kept = text();
const ends = all();
check('the record is in the text', scenario.forces(kept).length === 3, kept);
$('link').click();
for (let i = 0; !view.location.hash && i < 6000; i++) await new Promise((next) => setTimeout(next, 20));
const other = await open(`/files/index.html?pause${view.location.hash}`, 390);
check('a link holds the text', other.bristle.page.text === kept, other.bristle.page.text);
await pass(72, other);
const differs = all(other).reduce((most, v, i) => Math.max(most, Math.abs(v - ends[i])), 0);
// Each read of a batch writes the bristles back, which rounds once more, and the page reads in every frame.
check('a link is the same run', differs < 1e-6, differs);
check('a phone shows all of it', other.document.documentElement.scrollWidth <= 390, other.document.documentElement.scrollWidth);

// A run with more changes than a link holds.
const { record } = page;
page.record = Array.from({ length: 4001 }, (_, i) => [1e-4 * i, 4]);
const address = view.location.hash;
$('link').click();
check('a link that would be another run is refused', /4001 times.*4000/.test(said('status')) && view.location.hash === address, said('status'));
check('the scenario holds all changes', scenario.forces(text()).length === 4001, scenario.forces(text()).length);
page.record = record;

const wrong = await open('/files/index.html?pause#s=AAAA');
const message = wrong.document.getElementById('status').textContent;
check('a wrong link is said', message.startsWith('The address holds no run') && wrong.bristle.page.batch.length === 120, message);

// A painted map changes the limit surface.
const surface = () => Array.from(page.batch.surface(0, 8));
const apart = (a, b) => a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i])), 0);
const disc = surface();
view.document.querySelector('[data-shape=edge]').click();
await view.bristle.refresh();
const edge = surface();
check('a shape changes the surface', apart(disc, edge) > 0.05 && read('patch.shape') === undefined, apart(disc, edge));
const box = $('map').getBoundingClientRect();
const at = (x, y) => ({ clientX: box.left + x * box.width, clientY: box.top + y * box.height, buttons: 1 });
$('map').dispatchEvent(new view.PointerEvent('pointerdown', at(0.9, 0.1)));
await view.bristle.refresh();
const painted = surface();
const top = page.batch.pressed(0);
check('a finger changes the surface', apart(edge, painted) > 0.01 && top[1] > 1e-5, [apart(edge, painted), top, said('status'), box]);
$('map').dispatchEvent(new view.KeyboardEvent('keydown', { key: 'Enter' }));
await view.bristle.refresh();
check('a key changes the surface', apart(painted, surface()) > 0.01, apart(painted, surface()));
const canvas = Object.assign(document.createElement('canvas'), { width: 30, height: 30 });
const context = canvas.getContext('2d');
context.fillStyle = '#fff';
context.fillRect(0, 0, 10, 30);
await view.bristle.image(await new Promise((made) => canvas.toBlob(made)));
await view.bristle.refresh();
check('an image is the map', page.batch.pressed(0)[0] < -0.005, page.batch.pressed(0));
view.document.querySelector('[data-shape=clear]').click();
await view.bristle.refresh();
check('nothing that presses is said', said('status').startsWith('Nothing presses'), said('status'));

// What a finger does is not taken for scrolling.
check('fingers draw and turn', ['map', 'surface'].every((id) => view.getComputedStyle($(id)).touchAction === 'none'), 'touch-action');

// Keys.
const key = (name) => view.document.body.dispatchEvent(new view.KeyboardEvent('keydown', { key: name, bubbles: true }));
key(' ');
check('space goes on', !page.paused, page.paused);
key(' ');
$('boxes').dispatchEvent(new view.KeyboardEvent('keydown', { key: 'ArrowRight' }));
check('an arrow chooses a box', page.chosen === 1, page.chosen);
check('no errors', errors.length === 0, errors);

// The browser tells the console what it refuses.
last();
const refused = new Promise((told) => {
  view.document.addEventListener('securitypolicyviolation', (event) => told(event.effectiveDirective));
  setTimeout(() => told('nothing'), 20000);
});
const loaded = await view.fetch('http://127.0.0.1:9/').then(() => true, () => false);
check('nothing is loaded from elsewhere', !loaded && await refused === 'connect-src', [loaded, await refused]);
await post({ done, text: kept, samples: ends });
