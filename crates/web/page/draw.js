// The pictures. Colours come from the style sheet, so that they follow light and dark.

/** Numbers of a sample: x y theta vx vy w fx fy tau force slip near. */
export const NUMBERS = 12;

/** The sides of a box [m], as the scenario has them for the inertia. */
const BOX = [0.15, 0.08];
/** How far a box has to fall to be gone [m]. */
export const GONE = 0.12;

let colours = {};

/** Reads the colours of the present scheme. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['paper', 'card', 'ink', 'quiet', 'line', 'hold', 'slip', 'pad', 'surface']) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
}

/** A context in units of the page, cleared. */
function clear(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return [context, width, height];
}

const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** The colour of a share of slip. */
function slipping(share) {
  const [from, to] = [parts(colours.hold), parts(colours.slip)];
  const part = Math.min(1, Math.max(0, share));
  return `rgb(${from.map((v, i) => Math.round(v + part * (to[i] - v))).join(',')})`;
}

/** Columns and rows of the tiles of so many boxes. */
export function tiling(canvas, count) {
  const aspect = canvas.clientWidth / Math.max(1, canvas.clientHeight);
  const columns = Math.max(1, Math.min(count, Math.round(Math.sqrt((count * aspect) / 1.35))));
  return [columns, Math.ceil(count / columns)];
}

/** All boxes, each in a tile with its pads in the middle. */
export function drawBoxes(canvas, samples, chosen, pad) {
  const [context, width, height] = clear(canvas);
  const count = samples.length / NUMBERS;
  const [columns, rows] = tiling(canvas, count);
  const [w, h] = [width / columns, height / rows];
  const scale = Math.min(w / 0.21, h / 0.155);
  for (let k = 0; k < count; k++) {
    const [x, y, theta] = samples.subarray(k * NUMBERS, k * NUMBERS + 3);
    const [left, top] = [(k % columns) * w, Math.floor(k / columns) * h];
    context.save();
    context.beginPath();
    context.rect(left, top, w, h);
    context.clip();
    if (k === chosen) {
      context.fillStyle = colours.pad;
      context.beginPath();
      context.roundRect(left + 1, top + 1, w - 2, h - 2, 5);
      context.fill();
    }
    context.translate(left + w / 2, top + h / 2);
    context.scale(scale, -scale);
    const gone = Number.isNaN(x) || y < -GONE;
    context.lineWidth = 1.2 / scale;
    if (!gone) {
      context.save();
      context.translate(x, y);
      context.rotate(theta);
      const colour = slipping(samples[k * NUMBERS + 10]);
      context.beginPath();
      context.roundRect(-BOX[0] / 2, -BOX[1] / 2, BOX[0], BOX[1], 0.008);
      context.globalAlpha = 0.22;
      context.fillStyle = colour;
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = colour;
      context.stroke();
      context.beginPath();
      context.arc(0, 0, 1.6 / scale, 0, 7);
      context.fillStyle = colour;
      context.fill();
      context.restore();
    }
    context.beginPath();
    context.arc(0, 0, pad / 2, 0, 7);
    context.strokeStyle = gone ? colours.line : colours.ink;
    context.stroke();
    context.restore();
  }
}

/** The grip force of the last five seconds. */
export function drawHistory(canvas, record, now, most) {
  const [context, width, height] = clear(canvas);
  const span = 5;
  const start = Math.max(0, now - span);
  const x = (t) => ((t - start) / span) * width;
  const y = (force) => height - 4 - (force / most) * (height - 8);
  context.beginPath();
  let force = record[0][1];
  for (const [t, next] of record) if (t <= start) force = next;
  context.moveTo(0, y(force));
  for (const [t, next] of record) {
    if (t <= start || t > now) continue;
    context.lineTo(x(t), y(force));
    context.lineTo(x(t), y(next));
    force = next;
  }
  context.lineTo(x(now), y(force));
  context.strokeStyle = colours.hold;
  context.lineWidth = 1.5;
  context.stroke();
}

function arrow(context, x, y, dx, dy, head) {
  const length = Math.hypot(dx, dy);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx, y + dy);
  if (length > head) {
    const [ux, uy] = [(dx / length) * head, (dy / length) * head];
    context.moveTo(x + dx - ux - 0.6 * uy, y + dy - uy + 0.6 * ux);
    context.lineTo(x + dx, y + dy);
    context.lineTo(x + dx - ux + 0.6 * uy, y + dy - uy - 0.6 * ux);
  }
  context.stroke();
}

/** The bristles of one patch: a dot for the pressure, an arrow for the bend. */
export function drawBristles(canvas, { grid, weights, cells, states, mu }) {
  const [context, width, height] = clear(canvas);
  context.fillStyle = colours.pad;
  context.beginPath();
  context.roundRect(0, 0, width, height, 8);
  context.fill();
  const [nx, ny, w, h] = grid;
  const scale = (0.84 * Math.min(width, height)) / Math.max(w, h);
  const [dx, dy] = [w / nx, h / ny];
  const most = Math.max(...weights);
  const at = (cell) => [
    width / 2 + ((cell % nx) + 0.5 - nx / 2) * dx * scale,
    height / 2 - (Math.floor(cell / nx) + 0.5 - ny / 2) * dy * scale,
  ];
  context.fillStyle = colours.line;
  weights.forEach((weight, cell) => {
    if (weight === 0) return;
    context.beginPath();
    context.arc(...at(cell), Math.max(0.6, 0.42 * dx * scale * Math.sqrt(weight / most)), 0, 7);
    context.fill();
  });
  context.lineWidth = 1.2;
  const long = 0.9 * dx * scale;
  const one = (x, y, zeta, length) => {
    const share = Math.hypot(...zeta) / mu;
    context.strokeStyle = slipping((share - 0.85) / 0.15);
    arrow(context, x, y, (zeta[0] / mu) * length, (-zeta[1] / mu) * length, 3.2);
  };
  if (cells.length === 0 && states.length >= 2) {
    context.lineWidth = 2;
    one(width / 2, height / 2, [states[0], states[1]], 0.3 * width);
  }
  cells.forEach((cell, i) => one(...at(cell), [states[2 * i], states[2 * i + 1]], long));
}

/** A view on the surface: angles of the camera. */
export const view = { yaw: 0.6, pitch: 0.42 };

/** The limit surface with the present load on it; `points` are n + 1 rings of 2 n wrenches. */
export function drawSurface(canvas, points, n, load, slips) {
  const [context, width, height] = clear(canvas);
  const size = 0.36 * Math.min(width, height);
  const [cy, sy, cp, sp] = [Math.cos(view.yaw), Math.sin(view.yaw), Math.cos(view.pitch), Math.sin(view.pitch)];
  const project = (x, y, z) => {
    const [a, b] = [cy * x - sy * y, sy * x + cy * y];
    return [width / 2 + size * a, height / 2 - size * (cp * z + sp * b), cp * b - sp * z];
  };
  const ring = 2 * n;
  const seen = [];
  for (let i = 0; i < points.length; i += 3) seen.push(project(points[i], points[i + 1], points[i + 2]));
  const quads = [];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < ring; j++) {
      const corners = [i * ring + j, i * ring + ((j + 1) % ring), (i + 1) * ring + ((j + 1) % ring), (i + 1) * ring + j];
      quads.push([corners, corners.reduce((sum, c) => sum + seen[c][2], 0) / 4]);
    }
  }
  quads.sort((a, b) => b[1] - a[1]);
  const draw = ([corners, depth]) => {
    context.beginPath();
    corners.forEach((c, i) => (i ? context.lineTo(seen[c][0], seen[c][1]) : context.moveTo(seen[c][0], seen[c][1])));
    context.closePath();
    const near = 0.5 - 0.5 * Math.max(-1, Math.min(1, depth));
    context.fillStyle = `rgba(${colours.surface}, ${0.03 + 0.07 * near})`;
    context.strokeStyle = `rgba(${colours.surface}, ${0.08 + 0.3 * near})`;
    context.lineWidth = 0.7;
    context.fill();
    context.stroke();
  };
  const axis = (end, name) => {
    const [x, y] = project(...end);
    const [x0, y0] = project(0, 0, 0);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x, y);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.stroke();
    context.fillStyle = colours.quiet;
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'center';
    context.fillText(name, x, y - 3);
  };
  const [dot, origin] = [project(...load), project(0, 0, 0)];
  quads.filter((quad) => quad[1] >= 0).forEach(draw);
  axis([1.25, 0, 0], 'side');
  axis([0, 1.25, 0], 'up');
  axis([0, 0, 1.25], 'turn');
  context.beginPath();
  context.moveTo(origin[0], origin[1]);
  context.lineTo(dot[0], dot[1]);
  context.strokeStyle = slips ? colours.slip : colours.hold;
  context.lineWidth = 2;
  context.stroke();
  quads.filter((quad) => quad[1] < 0).forEach(draw);
  context.beginPath();
  context.arc(dot[0], dot[1], slips ? 6 : 4.5, 0, 7);
  context.fillStyle = slips ? colours.slip : colours.hold;
  context.fill();
}

/** The pressure map, with the cell of the keyboard. */
export function drawMap(canvas, rows, cursor) {
  const [context, width, height] = clear(canvas);
  const most = Math.max(1e-9, ...rows.flat());
  const [w, h] = [width / rows[0].length, height / rows.length];
  context.fillStyle = colours.pad;
  context.fillRect(0, 0, width, height);
  rows.forEach((row, i) => row.forEach((pressure, j) => {
    if (pressure <= 0) return;
    context.globalAlpha = 0.15 + (0.85 * pressure) / most;
    context.fillStyle = colours.hold;
    context.fillRect(j * w + 0.5, i * h + 0.5, w - 1, h - 1);
  }));
  context.globalAlpha = 1;
  if (cursor) {
    context.strokeStyle = colours.slip;
    context.lineWidth = 2;
    context.strokeRect(cursor[1] * w, cursor[0] * h, w, h);
  }
}
