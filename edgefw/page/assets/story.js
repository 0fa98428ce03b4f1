// The story of the run as this page knows it: curves of n columns, one array a column, and what happened.

const NETWORK = ["rounds", "seconds", "pace", "network_loss", "network_regret", "network_ratio", "network_cost"];
export const AGENTS = ["loss", "regret", "ratio", "cost", "total_delay", "queue", "delay", "requested", "observed"];

export const FEW = 10; // points that are nearly the same

export function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

export class Story {
  constructor(n) {
    this.n = n;
    this.events = [];
    this.forces = [];
    this.status = {};
    for (const name of NETWORK) this[name] = [];
    for (const name of AGENTS) this[name] = Array.from({ length: n }, () => []);
  }

  // Take a message: forget all points from its first on, and take those that it brings.
  take(message) {
    for (const name of NETWORK) replace(this[name], message.first, unpack(message[name]), 1, 0);
    for (const name of AGENTS) {
      const values = unpack(message[name]);
      for (let i = 0; i < this.n; i++) replace(this[name][i], message.first, values, this.n, i);
    }
    this.events.length = Math.min(this.events.length, message.events_from);
    const news = message.events.slice();
    this.events.push(...news);
    if (message.forces) this.forces = message.forces;
    this.status = message.status;
    return news;
  }

  get points() {
    return this.rounds.length;
  }

  // The last value that an agent's curve has at a point or a little before it; a cost that is old is none.
  known(name, agent, point) {
    const curve = this[name][agent];
    const first = Math.max(point - (name === "cost" ? FEW : 60), -1);
    for (let p = Math.min(point, curve.length - 1); p > first; p--) if (!Number.isNaN(curve[p])) return curve[p];
    return NaN;
  }

  // What was in force on the links in a round: faults in words, and who was cut off.
  force(round) {
    let found = this.forces[0];
    for (const force of this.forces) if (force.round <= round) found = force;
    return found ?? { faults: [], disabled: [] };
  }
}

function replace(curve, first, values, stride, offset) {
  curve.length = Math.min(curve.length, first);
  for (let at = offset; at < values.length; at += stride) curve.push(values[at]);
}
