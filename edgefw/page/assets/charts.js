// The figures: Bokeh draws them; this puts the numbers in.

import { MANY, element, lineColor } from "./looks.js";

const GAP = 3; // points without a number that a line passes over

export class Charts {
  // `choose(line)` is called when a line is clicked.
  constructor(place, prepared, n, names, choose) {
    this.prepared = prepared;
    this.n = n;
    this.names = names;
    this.choose = choose;
    place.replaceChildren(
      ...prepared.charts.map((chart) =>
        element("figure", { class: "chart", id: `chart-${chart.name}`, "aria-label": chart.title },
          element("figcaption", {}, chart.title, element("span", { class: "note" })),
          element("div", { id: `plot-${chart.name}`, role: "img", "aria-label": `${chart.title}: the numbers are in the table below` }))),
    );
  }

  async draw() {
    window.Bokeh.set_log_level("error"); // it warns of every figure that has no numbers yet
    const roots = {};
    for (const [name, id] of Object.entries(this.prepared.roots)) roots[id] = document.getElementById(`plot-${name}`);
    const items = [{ docid: "run", roots, root_ids: Object.keys(roots) }];
    const views = await window.Bokeh.embed.embed_items({ run: this.prepared.document }, items);
    this.document = [...views][0]?.model?.document ?? window.Bokeh.documents.at(-1);
    this.lines = ["regret", "ratio", "loss", "cost", "queue", "delay", "observed", "requested"]
      .map((name) => [name, this.#model(name)]).filter(([, source]) => source);
    for (const [, source] of this.lines) {
      source.selected.properties.indices.change.connect(() => {
        const [line] = source.selected.indices;
        if (line === undefined) return;
        source.selected.indices = [];
        this.choose(line);
      });
    }
  }

  #model(name) {
    return [...this.document._all_models.values()].find((model) => model.name === name && model.type === "ColumnDataSource") ?? null;
  }

  theme(name) {
    if (!this.document) return;
    for (const model of this.document._all_models.values()) {
      const look = this.prepared.themes[name][model.type];
      if (look) model.setv(look);
    }
    const strong = name === "dark" ? "#e6ebf2" : "#1b2330";
    for (const model of this.document._all_models.values()) {
      if (model.type === "GlyphRenderer" && model.name?.startsWith("network-")) model.glyph.line_color = strong;
    }
    this.plan = name === "dark" ? "#cf9cf5" : "#7a3ea8";
    this.bad = name === "dark" ? "#ff8f86" : "#b3261e";
  }

  // Put the whole story in; lines of agents that are not chosen step back, of many those that are not late.
  show(story, chosen, pace, late) {
    if (!this.document) return;
    const many = this.n > MANY;
    const color = this.names.map((_, i) => (many && i === chosen ? "#e8862a" : many && late[i] ? this.plan : lineColor(i, this.n)));
    const width = this.names.map((_, i) => (i === chosen ? 3 : many && !late[i] ? 1 : 1.6));
    const alpha = this.names.map((_, i) => (i === chosen ? 1 : many && late[i] ? 0.9 : chosen !== null ? (many ? 0.22 : 0.35) : many ? 0.4 : 0.9));
    for (const [name, source] of this.lines) {
      const [xs, ys] = [[], []];
      for (const curve of story[name]) {
        const [x, y] = [[], []];
        for (let p = 0, last = -1; p < curve.length; p++) {
          if (Number.isNaN(curve[p])) continue;
          if (last >= 0 && p - last > GAP) { // nothing came meanwhile: what was known stays until something does
            x.push(story.rounds[p]);
            y.push(curve[last]);
          }
          last = p;
          x.push(story.rounds[p]);
          y.push(curve[p]);
        }
        xs.push(x);
        ys.push(y);
      }
      source.data = { xs, ys, agent: this.names, color, width, alpha };
    }
    this.#model("network").data = {
      round: story.rounds.slice(), loss: story.network_loss.slice(), regret: story.network_regret.slice(), ratio: story.network_ratio.slice(), cost: story.network_cost.slice(),
      pace: story.pace.slice(), asked: story.rounds.map(() => pace ?? NaN),
    };
    this.#model("events").data = {
      x: story.events.map((event) => event.round), text: story.events.map((event) => event.text),
      color: story.events.map((event) => (event.kind === "network" ? this.bad : this.plan)),
    };
  }

  cursor(round) {
    if (this.document) this.#model("cursor").data = { x: round === null ? [] : [round] };
  }

  note(name, text) {
    const place = document.querySelector(`#chart-${name} .note`);
    if (place && place.textContent !== text) place.textContent = text;
  }
}
