// Colours and numbers, alike everywhere on the page.

const LINES = ["#3f7fc1", "#e8862a", "#4d9f4a", "#d9534f", "#9a6bc0", "#2aa8a0", "#c9a227", "#e377a8", "#8c6d5a", "#7b8794"];
const HEAT = [[59, 130, 196], [127, 182, 214], [242, 227, 148], [240, 146, 76], [199, 54, 47]];

export const MANY = LINES.length; // beyond so many agents, lines are told apart by pointing at them

export function lineColor(agent, n) {
  return n <= MANY ? LINES[agent] : "#7d8ea5";
}

export function heat(share) {
  const at = Math.min(Math.max(share, 0), 1) * (HEAT.length - 1);
  const low = Math.min(Math.floor(at), HEAT.length - 2);
  const mixed = HEAT[low].map((value, c) => Math.round(value + (HEAT[low + 1][c] - value) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

export function isDark(share) {
  return share < 0.12 || share > 0.88;
}

export const HEAT_SCALE = `linear-gradient(90deg, ${HEAT.map((color) => `rgb(${color.join(",")})`).join(", ")})`;

export function number(value, digits = 2) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return value.toFixed(size >= 100 ? Math.min(digits, 1) : digits).replace(/^-(0\.?0*)$/, "$1"); // no -0.00
}

export function seconds(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${number(value)} s`;
}

export function clock(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  const whole = Math.floor(value);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}
