// The panel of an agent: its numbers, what is set on its link, and forms for every fault type.

import { element } from "./looks.js";

async function call(verb, path, body) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(`admin${path}`, { method: verb, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  const found = text ? JSON.parse(text) : null;
  if (answer.ok) return found;
  const error = new Error(found?.error ?? `the broker answered ${answer.status}`);
  error.status = answer.status;
  throw error;
}

export class Panel {
  constructor(about, closed) {
    this.about = about;
    this.place = document.getElementById("panel");
    this.title = document.getElementById("panel-title");
    this.body = document.getElementById("panel-body");
    this.agent = null;
    this.closed = closed;
    document.getElementById("panel-close").addEventListener("click", () => this.close());
    // Wherever the focus is: a button that was pressed may be gone.
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.agent !== null && this.close());
  }

  open(node, members, opener) {
    this.opener = opener;
    this.members = members;
    this.node = node;
    this.agent = members[0];
    this.place.hidden = false;
    document.body.classList.add("panel-open");
    this.#build();
    this.title.focus();
    this.refresh();
  }

  close() {
    this.place.hidden = true;
    document.body.classList.remove("panel-open");
    this.agent = null;
    this.closed();
    this.opener?.focus();
  }

  numbers(rows) {
    this.figures?.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  }

  #build() {
    const one = this.members.length === 1;
    this.title.textContent = one ? `Agent ${this.agent}` : `Group ${this.node}`;
    this.figures = element("dl");
    this.said = element("p", { role: "status", "aria-live": "polite" });
    this.faults = element("ul");
    const parts = [this.figures];
    if (!one) parts.push(this.#chooser());
    if (this.about.live) parts.push(element("h3", {}, "Set on this link"), this.faults, this.#buttons(), element("h3", {}, "Set another fault"), this.#form(), this.said, this.#tokenForm());
    else parts.push(element("p", { class: "hint" }, "This run is over: its delays can be looked at, not changed."));
    this.body.replaceChildren(...parts);
  }

  #chooser() {
    const select = element("select", { on: { change: () => { this.agent = Number(select.value); this.refresh(); } } },
      ...this.members.map((agent) => element("option", { value: agent }, `agent ${agent}`)));
    return element("label", {}, "Agent of this group", select);
  }

  #buttons() {
    this.cut = element("button", { type: "button", class: "quiet", id: "cut", on: { click: () => this.#do(() => call("PATCH", `/links/${this.agent}`, { enabled: this.off })) } }, "Black out");
    this.clear = element("button", { type: "button", class: "quiet", id: "clear", on: { click: () => this.#do(() => this.#clear()) } }, "Clear all");
    return element("div", { class: "row" }, this.cut, this.clear);
  }

  async #clear() {
    const link = await call("GET", `/links/${this.agent}`);
    for (const fault of link.faults) await this.#remove(fault);
    if (!link.enabled) await call("PATCH", `/links/${this.agent}`, { enabled: true });
  }

  #remove(fault) {
    const whose = fault.agents === "all" ? "" : `/links/${this.agent}`;
    return call("DELETE", `${whose}/faults/${encodeURIComponent(fault.name)}`);
  }

  #form() {
    const fields = element("div", { class: "fields" });
    fields.style.display = "contents";
    const choose = element("select", { id: "fault-type", on: { change: () => show() } }, ...this.about.faults.map((form) => element("option", { value: form.type }, form.type)));
    const help = element("small");
    const show = () => {
      const form = this.about.faults.find((each) => each.type === choose.value);
      help.textContent = form.about;
      const rare = form.fields.filter((field) => field.seldom);
      fields.replaceChildren(
        ...form.fields.filter((field) => !field.seldom).map((field) => this.#input(form, field)),
        rare.length ? element("details", {}, element("summary", {}, "More"), ...rare.map((field) => this.#input(form, field))) : "",
      );
    };
    show();
    const form = element("form", { id: "fault-form", novalidate: true }, element("label", {}, "Type", choose, help), fields, element("button", { class: "button" }, "Set it"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#do(() => call("POST", `/links/${this.agent}/faults`, read(choose.value, fields)));
    });
    return form;
  }

  #input(form, field) {
    const id = `field-${field.name}`;
    const example = form.example[field.name];
    const { choices, kinds, examples, minimum } = field.schema;
    const hint = field.about + (field.needed ? " (needed)" : "");
    const shared = { id, name: field.name, "data-own": String(field.own), "data-kinds": kinds.join(" "), "aria-describedby": `${id}-about` };
    const shown = example ?? examples[0] ?? minimum ?? "";
    const input = choices
      ? element("select", shared, element("option", { value: "" }, "as usual"), ...choices.map((choice) => element("option", { value: choice, selected: choice === example && field.needed }, choice)))
      : element("input", { ...shared, autocomplete: "off", placeholder: Array.isArray(shown) ? shown.join(", ") : shown, value: field.needed || field.name === form.type ? example ?? "" : "" });
    return element("label", {}, field.name, input, element("small", { id: `${id}-about` }, hint));
  }

  #tokenForm() {
    this.tokens = element("form", { hidden: true }, element("label", {}, "The broker asks for its token", element("input", { type: "password", name: "token", autocomplete: "off" })), element("button", { class: "button" }, "Use it"));
    this.tokens.addEventListener("submit", async (event) => {
      event.preventDefault();
      const token = this.tokens.elements.token;
      // The answer sets a cookie that no script can read; the token is kept nowhere.
      const answer = await fetch("admin/login", { method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams({ token: token.value }) });
      token.value = "";
      if (answer.ok) this.#say("", "");
      else this.#say("error", "this is not the token");
      await this.refresh();
    });
    return this.tokens;
  }

  async #do(change) {
    this.#say("", "");
    try {
      await change();
      this.#say("done", "Done: the curves show it from here on.");
    } catch (error) {
      this.#fail(error);
    }
    await this.refresh();
  }

  async refresh() {
    if (this.agent === null || !this.about.live) return;
    try {
      const link = await call("GET", `/links/${this.agent}`);
      this.off = !link.enabled;
      this.cut.textContent = link.enabled ? "Black out: hold everything" : "End the blackout";
      this.clear.disabled = link.enabled && !link.faults.length;
      this.faults.replaceChildren(...(link.faults.length ? link.faults.map((fault) => this.#fault(fault)) : [element("li", { class: "hint" }, link.enabled ? "nothing" : "cut off")]));
    } catch (error) {
      this.#fail(error);
    }
  }

  #fault(fault) {
    const own = Object.entries(fault.attributes).map(([name, value]) => (name === fault.type ? value : `${name} ${Array.isArray(value) ? `${value.length} values` : value}`));
    const more = ["at", "duration"].filter((name) => name in fault).map((name) => `${name} ${fault[name]}`);
    const text = [fault.type, ...own, ...more, fault.agents === "all" ? "(on all agents)" : ""].join(" ");
    return element("li", {}, element("span", {}, text), element("button", { type: "button", class: "quiet", "aria-label": `Remove ${text}`, on: { click: () => this.#do(() => this.#remove(fault)) } }, "Remove"));
  }

  #fail(error) {
    this.tokens.hidden = error.status !== 401;
    this.#say("error", error.message);
  }

  #say(kind, text) {
    this.said.className = kind;
    this.said.textContent = text;
  }
}

// What the fields of a form say: numbers as numbers, lists as lists, all else as it is written.
function read(type, fields) {
  const body = { type, attributes: {} };
  for (const input of fields.querySelectorAll("[name]")) {
    if (input.value.trim() === "") continue;
    const place = input.dataset.own === "true" ? body.attributes : body;
    place[input.name] = value(input.value.trim(), input.dataset.kinds.split(" "));
  }
  return body;
}

function value(text, kinds) {
  if (kinds.includes("array") && text.includes(",")) return text.split(",").map((part) => value(part.trim(), kinds.filter((kind) => kind !== "array")));
  if ((kinds.includes("number") || kinds.includes("integer")) && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (kinds.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return text;
}
