// The network: real elements, so that it can be reached by keyboard and read aloud.

import { HEAT_SCALE, element, heat, isDark, number } from "./looks.js";

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 1000;
const DOTS = 10; // feedbacks that are drawn one by one

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export class Graph {
  // `choose(node, opener)` is called when a node is chosen.
  constructor(place, network, choose) {
    this.groups = network.groups;
    this.n = network.nodes.length;
    this.radius = Math.min(54, 300 / Math.sqrt(this.n));
    this.nodes = [];
    this.choose = choose;
    const margin = this.radius * 2.1;
    const ys = network.nodes.map((node) => node.y);
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    const scale = SIZE - 2 * margin;
    this.place = network.nodes.map((node) => [margin + node.x * scale, margin + (node.y - top) * scale]);
    const height = (bottom - top) * scale + 2 * margin + (this.n <= 40 ? 36 : 0);
    const what = this.groups ? "groups of agents" : "agents";
    const root = svg("svg", { viewBox: `0 0 ${SIZE} ${Math.round(height)}`, role: "group", "aria-label": `${this.n} ${what} and who talks to whom` });
    for (const [i, j] of network.edges) {
      const [[x1, y1], [x2, y2]] = [this.place[i], this.place[j]];
      root.append(svg("line", { x1, y1, x2, y2, class: "edge", "stroke-width": this.n > 60 ? 1 : 2 }));
    }
    for (let i = 0; i < this.n; i++) root.append(this.#node(i));
    place.replaceChildren(root);
    root.addEventListener("keydown", (event) => this.#move(event));
  }

  name(i) {
    return this.groups ? `group ${i} (${this.groups[i].length} agents)` : `agent ${i}`;
  }

  #node(i) {
    const [x, y] = this.place[i];
    const r = this.radius;
    const parts = {
      late: svg("circle", { class: "late", r: Math.max(5, r * 0.2), visibility: "hidden" }),
      cut: svg("circle", { class: "cut", r: r * 1.35 }),
      ring: svg("circle", { class: "ring", r: r * 1.2 }),
      body: svg("circle", { class: "body", r, fill: "#888888" }),
      held: svg("g", { class: "held" }),
      number: svg("text", { class: "number", "font-size": Math.max(9, r * 0.72) }),
      count: svg("text", { class: "count", y: r * 1.3 + 34 }),
    };
    parts.number.textContent = String(i);
    const group = svg("g", { class: "node", transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, role: "button", tabindex: i ? -1 : 0 });
    group.append(...Object.values(parts));
    group.addEventListener("click", () => this.choose(i, group));
    this.nodes.push({ group, ...parts, shown: -1 });
    return group;
  }

  // Arrow keys go from node to node, Enter and space choose one.
  #move(event) {
    const at = this.nodes.findIndex((node) => node.group === document.activeElement);
    if (at < 0) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) this.focus((at + step + this.n) % this.n);
    else if (event.key === "Home") this.focus(0);
    else if (event.key === "End") this.focus(this.n - 1);
    else if (event.key === "Enter" || event.key === " ") this.choose(at, this.nodes[at].group);
    else return;
    event.preventDefault();
  }

  focus(i) {
    for (const node of this.nodes) node.group.setAttribute("tabindex", "-1");
    this.nodes[i].group.setAttribute("tabindex", "0");
    this.nodes[i].group.focus();
  }

  // Show the network as it was at a point of the story.
  show(story, point, round, chosen) {
    const regrets = this.nodes.map((_, i) => story.known("regret", i, point));
    const known = regrets.filter((value) => !Number.isNaN(value));
    const low = Math.min(...known);
    const range = Math.max(Math.max(...known) - low, Math.abs(Math.max(...known)) * 0.02, 1e-9);
    const force = story.force(round);
    this.nodes.forEach((node, i) => {
      const share = Number.isNaN(regrets[i]) ? NaN : (regrets[i] - low) / range;
      const queue = story.known("queue", i, point);
      const faults = this.#faults(force, i);
      const off = this.#members(i).filter((agent) => force.disabled.includes(agent)).length;
      this.#draw(node, share, Number.isNaN(queue) ? 0 : queue);
      node.group.classList.toggle("off", off > 0);
      node.group.classList.toggle("chosen", i === chosen);
      node.group.setAttribute("aria-pressed", String(i === chosen));
      node.late.setAttribute("visibility", faults.length ? "visible" : "hidden");
      const said = [this.name(i), `regret at least ${number(regrets[i])}`, `${number(queue, 0)} feedbacks on their way`];
      if (off) said.push(this.groups ? `${off} cut off` : "cut off");
      node.group.setAttribute("aria-label", [...said, ...faults].join(", "));
    });
  }

  #members(i) {
    return this.groups ? this.groups[i] : [i];
  }

  #faults(force, i) {
    const members = this.#members(i);
    return force.faults.filter(([agent]) => agent === null || members.includes(agent)).map(([, text]) => text).slice(0, 3);
  }

  #draw(node, share, queue) {
    const r = this.radius * (0.78 + 0.42 * Math.min(Math.log2(1 + queue) / 6, 1));
    node.body.setAttribute("r", r.toFixed(1));
    node.body.setAttribute("fill", Number.isNaN(share) ? "#9aa5b4" : heat(share));
    node.number.classList.toggle("pale", isDark(share));
    node.ring.setAttribute("r", (r + 5).toFixed(1));
    node.cut.setAttribute("r", (r + 9).toFixed(1));
    node.late.setAttribute("cx", (r * 0.75).toFixed(1));
    node.late.setAttribute("cy", (-r * 0.95).toFixed(1));
    if (node.shown !== queue) this.#hold(node, queue, r);
  }

  // One dot a feedback that is held, below the node; of many, their number too.
  #hold(node, queue, r) {
    node.shown = queue;
    const dots = Math.min(queue, DOTS);
    const size = Math.max(2.6, this.radius * 0.13);
    node.held.replaceChildren(
      ...Array.from({ length: dots }, (_, d) => {
        const angle = Math.PI / 2 + (d - (dots - 1) / 2) * ((size * 2.5) / (r + size * 2.2));
        return svg("circle", { r: size.toFixed(1), cx: (Math.cos(angle) * (r + size * 2.2)).toFixed(1), cy: (Math.sin(angle) * (r + size * 2.2)).toFixed(1) });
      }),
    );
    node.count.textContent = queue > DOTS && this.n <= 40 ? `${Math.round(queue)} held` : "";
    node.count.setAttribute("y", (r + size * 4.4 + 24).toFixed(1));
  }
}

export function legend(place, groups) {
  const scale = element("i", { class: "scale", "aria-hidden": "true" });
  scale.style.background = HEAT_SCALE;
  const dot = (attributes) => {
    const drawn = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("circle", { cx: 8, cy: 8, r: 5, ...attributes }));
    return drawn;
  };
  place.replaceChildren(
    element("span", {}, "least regret", scale, "most"),
    element("span", {}, dot({ fill: "var(--soft)", r: 3 }), groups ? "feedback on its way, of the worst member" : "a feedback on its way"),
    element("span", {}, dot({ fill: "var(--plan)", r: 4 }), "a fault is set"),
    element("span", {}, dot({ fill: "none", stroke: "var(--bad)", "stroke-width": 2, "stroke-dasharray": "4 2" }), "cut off"),
  );
}
