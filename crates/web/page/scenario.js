// The text of the scenario: what the page changes in it, and how a link holds it. The text is all that a run
// depends on; nothing else is kept.

import { change, value } from './bristle.js';

export const FORCE = 'inputs.normal_force';

export const FIRST = `# Boxes in a soft gripper: two pads press on each, and it slides under gravity when they press too little.
#
#   bristle rollout scenario.toml
#
contacts = 120
seed = 1
duration = 10.0       # [s]
record_every = 0.02   # [s]
step = { tolerance = 1e-5 }   # [m/s]: every box chooses its own steps

[contact]
model = "distributed"

[patch]
shape = "disc"
cells = 13
size = 0.02           # [m]

[friction]
law = "elasto-plastic"
mu_c = { uniform = [0.72, 0.88] }
mu_s_over_mu_c = 1.0
sigma0 = 1e5          # [1/m]: a soft pad
sigma1 = 2e2          # [s/m]
sigma2 = 0.0          # [s/m]: dry

[body]
kind = "gripper"      # the pads are fixed in the world, the box moves
mass = { uniform = [0.18, 0.22] }     # [kg]
inertia = { rectangle = [0.15, 0.08] }

[initial]
# The centre of mass from the pads [m, m, rad].
pose = [{ uniform = [0.001, 0.003] }, 0.0, 0.0]

[inputs]
gravity = [0.0, -9.81]
normal_force = 2.6    # of each pad [N]
`;

/** What the text says at a dotted key; undefined if nothing. */
export function read(text, key) {
  const json = value(text, key);
  return json === '' ? undefined : JSON.parse(json);
}

/** The middle of a number that may be drawn. */
export function middle(text, key, otherwise) {
  const found = read(text, key);
  if (typeof found === 'number') return found;
  return found?.uniform ? (found.uniform[0] + found.uniform[1]) / 2 : otherwise;
}

/** The text with `value` at a key, or without the key if that is null. */
export function write(text, key, value) {
  if (value === null) return read(text, key) === undefined ? text : change(text, `~${key}`);
  return change(text, `${key}=${value}`);
}

const digits = (number) => String(Number(number.toPrecision(6)));

/** A number that is drawn within `spread` of its middle. */
export const around = (middle, spread) => `{ uniform = [${digits(middle - spread)}, ${digits(middle + spread)}] }`;

/** Rows of pressure, top row first, in place of a shape. */
export function press(text, rows) {
  for (const key of ['patch.shape', 'patch.cells']) text = write(text, key, null);
  return write(text, 'patch.pressure', `[${rows.map((row) => `[${row.map(digits).join(', ')}]`).join(', ')}]`);
}

/** The grip forces of a run as `[time, force]`, each from its time on. */
export function forces(text) {
  const found = read(text, FORCE);
  if (typeof found === 'number') return [[0, found]];
  return found?.interpolate === 'constant' && Array.isArray(found.points) ? found.points : undefined;
}

/** The text with grip forces, which lasts until `end`. */
export function withForces(text, forces, end) {
  const points = forces.map(([t, force]) => `[${t}, ${force}]`).join(', ');
  const signal = forces.length === 1 ? forces[0][1] : `{ points = [${points}], interpolate = "constant" }`;
  // A float, which TOML tells from an integer.
  const duration = Number.isInteger(end) ? end.toFixed(1) : String(end);
  return write(write(text, FORCE, signal), 'duration', duration);
}

const bytesOf = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());

/** The text as the fragment of an address. */
export async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of await bytesOf(stream)) binary += String.fromCharCode(byte);
  return `#s=${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** The text in the fragment of an address; undefined if there is none. */
export async function unpacked(fragment) {
  if (!fragment.startsWith('#s=')) return undefined;
  const binary = atob(fragment.slice(3).replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new TextDecoder().decode(await bytesOf(stream));
}
