// The page of a run: it takes messages, and shows the point of the story that is looked at.

import { Charts } from "./charts.js";
import { Panel } from "./controls.js";
import { Graph, legend } from "./graph.js";
import { MANY, clock, element, lineColor, number, seconds } from "./looks.js";
import { FEW, Story } from "./story.js";

const $ = (id) => document.getElementById(id);
const BEHIND = 1.1; // times the pace asked for: a longer round is worth a word
const NARROW = new Set([0, 1, 2, 4, 6, 7]); // columns of the table that there is room for on a telephone

class Page {
  constructor(about, prepared) {
    this.about = about;
    this.groups = prepared.network.groups;
    this.n = prepared.network.nodes.length;
    this.names = Array.from({ length: this.n }, (_, i) => (this.groups ? `group ${i}` : `${i}`));
    this.story = new Story(this.n);
    this.point = 0;
    this.following = true;
    this.chosen = null;
    this.playing = null;
    this.panel = new Panel(about, () => this.#chose(null));
    this.graph = new Graph($("graph"), prepared.network, (i, opener) => this.choose(i, opener));
    this.charts = new Charts($("charts"), prepared, this.n, this.names, (i) => this.choose(i, null));
    legend($("legend"), this.groups);
    this.#introduce();
    this.#listen();
  }

  #introduce() {
    const { name, agents, topology, algorithm, clock: kind, pace, seed, simulated } = this.about;
    $("name").textContent = name;
    document.title = `${name} · edgefw`;
    const timing = simulated ? "simulated" : kind === "wall" ? `wall clock${pace ? `, ${seconds(pace)} a round` : ", as fast as it goes"}` : "rounds clock";
    const facts = [`${agents} agents`, topology, algorithm, timing, `seed ${seed}`];
    $("facts").replaceChildren(...facts.map((fact) => element("li", {}, fact)));
    $("graph-hint").textContent = this.groups
      ? "Each circle is a group of neighbouring agents. Choose one (click, or arrow keys and Enter) to see its members."
      : this.about.live ? "Choose an agent (click, or arrow keys and Enter) to change its delays." : "Choose an agent (click, or arrow keys and Enter) to follow it.";
    $("badge").hidden = false;
    this.#badge();
  }

  #badge() {
    const over = !this.about.live || this.story.status.phase === "over";
    $("badge").textContent = over ? "over" : "live";
    $("badge").classList.toggle("live", !over);
  }

  #listen() {
    $("slider").addEventListener("input", () => this.look(Number($("slider").value)));
    $("follow").addEventListener("click", () => this.look(this.story.points - 1));
    $("play").addEventListener("click", () => this.#play());
    $("theme").addEventListener("click", () => this.theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark", true));
  }

  theme(name, remember = false) {
    document.documentElement.dataset.theme = name;
    if (remember) localStorage.setItem("edgefw-theme", name);
    this.charts.theme(name);
    this.draw();
  }

  // Take a message; draw at once, or when somebody looks again.
  take(message) {
    const first = this.story.points === 0;
    const news = this.story.take(message);
    if (!first && news.length) $("said").textContent = news.map((event) => `round ${event.round}: ${event.text}`).join("; ");
    if (first || news.length) this.#events();
    if (news.length) this.panel.refresh();
    if (this.following) this.point = Math.max(this.story.points - 1, 0);
    if (!document.hidden) this.draw();
  }

  look(point) {
    this.point = Math.min(Math.max(point, 0), Math.max(this.story.points - 1, 0));
    this.following = this.point >= this.story.points - 1;
    this.#look();
  }

  choose(i, opener) {
    this.#chose(i);
    this.panel.open(i, this.groups ? this.groups[i] : [i], opener ?? this.graph.nodes[i].group);
    this.#look();
  }

  #chose(i) {
    this.chosen = i;
    this.draw();
  }

  #play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = null;
    } else {
      if (this.point >= this.story.points - 1) this.point = 0;
      const step = Math.max(1, Math.round(this.story.points / 150));
      this.playing = setInterval(() => {
        this.look(this.point + step);
        if (this.following) this.#play();
      }, 100);
    }
    $("play").textContent = this.playing ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", this.playing ? "Pause" : "Play from here");
  }

  draw() {
    this.charts.show(this.story, this.chosen, this.about.pace, this.#late());
    this.#notes();
    this.#look();
  }

  // Those of the shown that a fault of their own is set on now.
  #late() {
    const force = this.story.force(this.story.rounds.at(-1) ?? 0);
    const agents = new Set([...force.faults.map(([agent]) => agent), ...force.disabled]);
    return this.names.map((_, i) => (this.groups ? this.groups[i].some((agent) => agents.has(agent)) : agents.has(i)));
  }

  // Show the point that is looked at: all but the curves.
  #look() {
    const { story, point } = this;
    const round = story.rounds[point] ?? 0;
    const slider = $("slider");
    slider.max = Math.max(story.points - 1, 0);
    slider.value = point;
    slider.setAttribute("aria-valuetext", `round ${round}`);
    $("when").textContent = `round ${round}${Number.isNaN(story.seconds[point] ?? NaN) ? "" : ` · ${clock(story.seconds[point])}`}`;
    $("follow").hidden = this.following;
    this.charts.cursor(this.following ? null : round);
    this.graph.show(story, point, round, this.chosen);
    this.#ticks();
    this.#tiles(round);
    this.#table(round);
    if (this.chosen !== null) this.panel.numbers(this.#row(this.chosen, round).slice(1));
    this.#badge();
    this.#banner();
  }

  #ticks() {
    const last = this.story.rounds.at(-1) ?? 1;
    const made = this.story.events.map((event) => {
      const tick = element("i", { class: event.kind });
      tick.style.left = `${(100 * Math.min(event.round, last)) / last}%`;
      return tick;
    });
    $("ticks").replaceChildren(...made);
  }

  #tiles(round) {
    const { story, point, about } = this;
    $("tile-round").textContent = round.toLocaleString("en");
    $("tile-rounds").textContent = `of ${about.rounds.toLocaleString("en")}`;
    $("progress").value = round / about.rounds;
    $("tile-regret").textContent = number(story.network_regret[point]);
    const gap = story.status.gap;
    const known = this.following && gap !== null && gap !== undefined;
    $("tile-regret-note").textContent = known ? `at most ${number(story.network_regret[point] + gap)}` : Number.isNaN(story.network_regret[point] ?? NaN) ? story.status.regret ?? "" : "of the worst agent";
    $("tile-loss").textContent = number(story.network_loss[point], 3);
    const queues = story.queue.map((_, i) => story.known("queue", i, point) || 0); // not known yet: none
    const held = queues.reduce((sum, value) => sum + value, 0);
    $("tile-queue").textContent = number(held, 0);
    const most = queues.indexOf(Math.max(...queues));
    $("tile-queue-note").textContent = queues[most] > 1 ? `most of ${this.groups ? "group" : "agent"} ${most}: ${queues[most]}` : "";
    const pace = this.#pace(point);
    $("tile-pace").textContent = seconds(pace);
    const late = about.pace && pace > about.pace * BEHIND;
    $("tile-pace").closest(".tile").classList.toggle("off", Boolean(late));
    $("tile-pace-note").textContent = about.simulated ? "a simulated run has no clock" : about.pace ? `asked for: ${seconds(about.pace)}` : "as fast as it goes";
  }

  // The length of a round, as the last few were.
  #pace(point) {
    const known = this.story.pace.slice(Math.max(point - FEW, 0), point + 1).filter((value) => !Number.isNaN(value));
    return known.reduce((sum, value) => sum + value, 0) / known.length;
  }

  #notes() {
    for (const name of ["regret", "ratio", "loss"]) this.charts.note(name, "bold: network");
    for (const name of ["queue", "delay"]) this.charts.note(name, this.n > MANY ? "coloured: a fault is set" : "");
    const none = (name) => this.story.points > 3 && this.story[name].every((curve) => curve.every(Number.isNaN));
    if (none("regret")) for (const name of ["regret", "ratio"]) this.charts.note(name, this.story.status.regret ?? "");
    this.charts.note("cost", none("cost") ? this.story.status.cost ?? "" : this.#simulated() ?? "against the run without");
    if (none("observed")) this.charts.note("observed", this.about.live ? "nothing has come yet" : "nothing has come");
    $("chart-pace").hidden = this.about.simulated;
  }

  // How far the run without delays is, where that is well behind.
  #simulated() {
    const { network_cost: cost, rounds, points } = this.story;
    const last = cost.findLastIndex((value) => !Number.isNaN(value));
    return points - 1 - last > FEW ? `simulated up to round ${rounds[last]}` : null;
  }

  #banner() {
    const { waiting, lost } = this.story.status;
    const text = this.lost ? this.lost : waiting ? `The network waits for ${waiting}.` : lost ?? "";
    $("banner").hidden = !text;
    if ($("banner").textContent !== text) $("banner").textContent = text;
  }

  connection(text) {
    this.lost = text;
    this.#banner();
  }

  #events() {
    const made = this.story.events.slice(-200).reverse().map((event) =>
      element("li", { class: event.kind }, element("time", {}, `round ${event.round}${event.seconds === null ? "" : `\n${clock(event.seconds)}`}`), element("span", {}, event.text)));
    $("events").replaceChildren(...(made.length ? made : [element("li", { class: "none" }, `Nothing${this.about.live ? " yet" : ""}: no change of the delays, no fault of the network.`)]));
  }

  #row(i, round) {
    const { story, point } = this;
    const of = (name, digits) => number(story.known(name, i, point), digits);
    const unit = this.about.clock === "wall" ? " s" : " rounds";
    const force = story.force(round);
    const members = this.groups ? this.groups[i] : [i];
    const faults = force.faults.filter(([agent]) => agent === null || members.includes(agent)).map(([, text]) => text);
    if (members.some((agent) => force.disabled.includes(agent))) faults.unshift("cut off");
    return [
      [this.groups ? "group" : "agent", this.names[i]], ["loss", of("loss", 3)], ["regret ≥", of("regret")], ["regret / √B", of("ratio")], ["cost of delays", of("cost")], ["total delay B", of("total_delay", 0)],
      ["on its way", of("queue", 0)], ["delay, rounds", of("delay", 0)], [`asked for,${unit}`, of("requested")], [`seen,${unit}`, of("observed")], ["set on the link", [...new Set(faults)].slice(0, 3).join("; ") || "–"],
    ];
  }

  #table(round) {
    const table = $("table");
    const rows = this.names.map((_, i) => this.#row(i, round));
    if (table.rows.length !== rows.length + 1) {
      const head = element("thead", {}, element("tr", {}, ...rows[0].map(([name], c) => element("th", { scope: "col", class: room(c) }, name))));
      const body = element("tbody", {}, ...rows.map((row, i) => element("tr", {}, element("th", { scope: "row" }, this.#swatch(i), element("button", { type: "button", on: { click: (event) => this.choose(i, event.target) } }, this.names[i])), ...row.slice(1).map((_, c) => element("td", { class: room(c + 1) })))));
      table.replaceChildren(element("caption", { class: "unseen" }, "Every agent in the round that is looked at"), head, body);
    }
    const body = table.tBodies[0];
    rows.forEach((row, i) => {
      body.rows[i].classList.toggle("chosen", i === this.chosen);
      row.slice(1).forEach(([, value], c) => {
        const cell = body.rows[i].cells[c + 1];
        if (cell.textContent !== value) cell.textContent = value;
      });
    });
  }

  #swatch(i) {
    if (this.n > MANY) return "";
    const made = element("span", { class: "swatch", "aria-hidden": "true" });
    made.style.background = lineColor(i, this.n);
    return made;
  }
}

function room(column) {
  return NARROW.has(column) ? "" : "few";
}

async function get(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 300));
  return answer.json();
}

function follow(page) {
  const stream = new EventSource("page/stream");
  stream.onmessage = (event) => {
    page.connection(null);
    page.take(JSON.parse(event.data));
  };
  stream.onerror = () => page.connection(page.story.status.phase === "over" ? "The run is over, and its services have ended. `edgefw view` shows its folder." : "No connection to the run: trying again.");
  return stream;
}

// Say what is waited for, should it take long.
async function patiently(text, work) {
  const banner = $("banner");
  const timer = setTimeout(() => { banner.textContent = text; banner.hidden = false; }, 1000);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    banner.hidden = true;
  }
}

async function main() {
  const [about, prepared] = await patiently("The figures are being drawn: a moment.", Promise.all([get("page/about"), get("page/prepared")]));
  const page = new Page(about, prepared);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const wanted = () => localStorage.getItem("edgefw-theme") ?? (dark.matches ? "dark" : "light");
  page.theme(wanted());
  dark.addEventListener("change", () => page.theme(wanted()));
  document.addEventListener("visibilitychange", () => !document.hidden && page.draw());
  await page.charts.draw();
  page.theme(wanted());
  window.edgefw = page;
  if (about.live) follow(page);
  else page.take(await get("page/story"));
  document.documentElement.dataset.ready = "yes";
}

main().catch((error) => {
  const banner = $("banner");
  banner.hidden = false;
  banner.textContent = `This page cannot be shown: ${error.message}`;
});
