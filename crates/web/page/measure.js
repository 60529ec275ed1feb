// "Measure this device": what `bristle bench --all` measures, part by part, and its file.

import { Measurement } from './bristle.js';

/** Cells along a side of the patches. */
const SIDES = [5, 21, 64];
/** Time for all parts [s]. */
const BUDGET = 60;

const $ = (id) => document.getElementById(id);
let file = '';
let measuring = false;

const element = (name, text, of = {}) => Object.assign(document.createElement(name), { textContent: text }, of);

/** A rate in three digits: 1.23 million. */
function words(rate) {
  const [factor, name] = rate >= 1e9 ? [1e9, ' G'] : rate >= 1e6 ? [1e6, ' M'] : rate >= 1e3 ? [1e3, ' k'] : [1, ''];
  return `${(rate / factor).toPrecision(3)}${name}`;
}

/** Correctness in one line, and what is wrong. */
function correctness(found) {
  if (!found) return [];
  const right = found.checks.filter((check) => check.passed).length;
  const lines = [element('p', `${right} of ${found.checks.length} comparisons with the CPU in double precision are within their limits.`)];
  for (const check of found.checks.filter((check) => !check.passed)) {
    lines.push(element('p', `${check.name}: ${check.fault}`, { className: 'wrong' }));
  }
  return lines;
}

/** Steps per second of the CPU and of the GPU, as bars on one scale. */
function throughput(rows) {
  if (rows.length === 0) return [];
  const best = (row) => row.gpu.reduce((a, b) => (b.contact_steps_per_second > a.contact_steps_per_second ? b : a), row.gpu[0]);
  const rates = rows.flatMap((row) => [row.cpu_f32.contact_steps_per_second, best(row)?.contact_steps_per_second ?? 0]);
  const most = Math.max(...rates);
  const table = element('table', '');
  const head = table.createTHead().insertRow();
  for (const name of ['Patch', 'Law', 'CPU, one thread, f32', 'GPU, f32', 'GPU over CPU']) head.append(element('th', name));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    const size = `${row.cells_per_side} x ${row.cells_per_side}`;
    line.append(element('td', row.model === 'grid' ? `${size} bristles` : `one bristle on ${size}`), element('td', row.law));
    for (const [kind, rate] of [['cpu', row.cpu_f32], ['gpu', best(row)]]) {
      const cell = element('td', '');
      if (rate) {
        const bar = element('span', '', { className: `bar-of ${kind}` });
        bar.style.width = `${Math.max(1, (100 * rate.contact_steps_per_second) / most)}%`;
        cell.append(bar, element('span', `${words(rate.contact_steps_per_second)} steps/s, ${rate.contacts} at once`));
      }
      line.append(cell);
    }
    line.append(element('td', row.gpu_over_cpu_f32 === null ? '' : `${row.gpu_over_cpu_f32.toPrecision(3)} x`));
  }
  return [table];
}

function show(found) {
  const { adapter } = found;
  const name = [adapter.name, adapter.driver].filter(Boolean).join(', ') || 'the name of which the browser keeps to itself';
  const kind = adapter.software ? 'a driver in software' : adapter.device_type;
  const faults = found.parts.filter((part) => part.fault).map((part) =>
    element('p', `${part.name}: ${part.fault}`, { className: 'wrong' }));
  $('results').replaceChildren(
    element('p', `Adapter: ${name} (${kind}).`), ...correctness(found.correctness), ...throughput(found.throughput), ...faults);
}

/** Measures patches of so many cells along a side, in about `budget` seconds; returns the file. */
export async function measure(sides = SIDES, budget = BUDGET) {
  measuring = true;
  $('measure').textContent = 'Stop';
  const tell = (text) => {
    $('measured').textContent = text;
  };
  try {
    const measurement = await Measurement.open(new Uint32Array(sides), navigator.userAgent);
    while (measuring && (await measurement.next(budget, tell))) {
      file = measurement.json;
      show(JSON.parse(file));
      await new Promise(requestAnimationFrame);
    }
    file = measurement.json;
    tell(measuring ? 'That is all.' : 'Stopped: the file has the parts that are finished.');
  } catch (error) {
    tell(error.message);
  }
  measuring = false;
  $('measure').textContent = 'Measure again';
  for (const id of ['copy-file', 'save-file']) $(id).disabled = file === '';
  return file;
}

/** Connects the buttons; `pause` stops the boxes. */
export function connect(pause, hasGpu) {
  $('measure').disabled = !hasGpu;
  if (!hasGpu) $('measured').textContent = 'This browser gives no GPU to measure.';
  $('measure').addEventListener('click', () => {
    if (measuring) {
      measuring = false;
      return;
    }
    pause();
    measure();
  });
  $('copy-file').addEventListener('click', () =>
    navigator.clipboard.writeText(file).then(
      () => ($('measured').textContent = 'The file is in the clipboard.'),
      () => ($('measured').textContent = 'The browser does not let this page write to the clipboard.')));
  $('save-file').addEventListener('click', () => {
    const link = element('a', '', { href: URL.createObjectURL(new Blob([file], { type: 'application/json' })), download: 'gpu.json' });
    link.click();
    URL.revokeObjectURL(link.href);
  });
}
