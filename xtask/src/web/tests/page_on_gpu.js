// The page on WebGPU: what differs from the page on the CPU.
check('a GPU in software waits to be asked', page.on === 'cpu' && !$('on').options[1].disabled, said('engine'));
const { backgroundColor, color } = view.getComputedStyle(view.document.body);
const [paper, ink] = [backgroundColor, color].map((rgb) => rgb.match(/\d+/g).map(Number));
check('who prefers dark pages sees one', Math.max(...paper) < 60 && Math.min(...ink) > 200, [paper, ink]);
await put('count', 24);
await pass(12);
const cpu = all();
await put('on', 'gpu');
check('it runs on the GPU', page.on === 'gpu' && read('engine') === 'gpu' && /GPU of this device/.test(said('engine')), said('engine'));
check('there are more boxes', Number($('count').max) >= 3000, $('count').max);
await pass(12);
const far = all().reduce((most, v, i) => (i % 12 < 3 ? Math.max(most, Math.abs(v - cpu[i])) : most), 0);
check('poses are those of the CPU', far < 1e-5 && page.samples.length === 24 * 12, far);
for (const law of ['lugre', 'dahl', 'viscoelasto-plastic', 'elasto-plastic']) {
  for (const model of ['reduced', 'distributed']) {
    await put('law', law);
    await put('model', model);
    await pass(2);
    const right = page.on === 'gpu' && read('friction.law') === law && read('contact.model') === model;
    check(`${law}, ${model}, on the GPU`, right && all().every(Number.isFinite), [text(), said('status')]);
  }
}
// The device is measured in the least time, by the clock of a browser that hides much of the time.
const { performance } = view;
const now = performance.now.bind(performance);
performance.now = () => 16 * Math.floor(now() / 16);
const file = JSON.parse(await view.bristle.measure([5], 0));
delete performance.now;
const { checks } = file.correctness;
check('all parts are measured', file.parts.length === 5 && file.unfinished.length === 0 && file.parts.every(({ fault }) => fault === null), file);
check('the GPU is right', checks.length >= 3 && checks.every(({ passed }) => passed), checks);
check('steps are counted', file.throughput.length === 4 && file.throughput.every(({ gpu }) => gpu[0].contact_steps_per_second > 0), file);
const rates = file.throughput.flatMap(({ gpu, cpu_f64, cpu_f32 }) => [...gpu, cpu_f64, cpu_f32]);
check('rates are numbers', rates.every((rate) => rate.contact_steps_per_second > 0 && rate.seconds > 0), rates);
check('results are shown', $('results').querySelectorAll('tr').length === 5 && said('measured') === 'That is all.', said('measured'));
check('the file can be kept', !$('copy-file').disabled && !$('save-file').disabled, said('measured'));

await put('grip', 0.9);
await pass(12);
check('a loose grip lets slide', page.samples[1] < -1e-3 && said('state') === 'slides', [page.samples[1], said('state')]);
const slid = all();
page.gpu.lose();
for (let i = 0; page.on === 'gpu' && i < 3000; i++) await new Promise((next) => setTimeout(next, 20));
check('a GPU that is lost is said', page.on === 'cpu' && said('status').startsWith('The GPU has stopped'), said('status'));
check('it gives no GPU any more', $('on').options[1].disabled && page.gpu === null, said('engine'));
await pass(14);
const apart = all().reduce((most, v, i) => (i % 12 < 3 ? Math.max(most, Math.abs(v - slid[i])) : most), 0);
check('the CPU repeats the run', page.samples[1] < -1e-3 && apart < 1e-3, apart);
check('no errors', errors.length === 0, errors);
await post({ done, file });
