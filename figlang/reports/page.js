"use strict";
// The item browser. Only the rows in view are in the document, so that 100,000 items scroll as lightly as 100.
class Browser {
  constructor(root) {
    this.root = root;
    this.data = JSON.parse(root.querySelector(".data").textContent);
    this.list = root.querySelector(".list");
    this.spacer = root.querySelector(".spacer");
    this.find = (name) => root.querySelector("." + name);
    const d = this.data;
    this.fill(this.find("system"), d.systems.map((name, place) => [place, name]));
    this.fill(this.find("attribute"), [[-1, "any"], ...d.attributes.map((one, place) => [place, one.name])]);
    this.choices = d.choices.map((letters) => Int16Array.from(letters, (letter) => letter.charCodeAt(0) - 49));
    let start = 0;
    this.starts = d.sizes.map((size) => (start += size) - size);
    this.unpacked = [];
    this.members = [];
    d.groups.forEach((group, row) => (this.members[group] ??= []).push(row));
    this.largest = this.members.reduce((most, rows) => Math.max(most, rows.length), 1);
    this.options = d.sizes.reduce((most, size) => Math.max(most, size), 1);
    this.many = d.systems.length > 12;
    this.unit = this.largest > 2 ? "clusters" : "pairs";
    this.find("unit").textContent = this.unit;
    if (this.largest === 1) this.find("pairs").closest("label").hidden = true;
    this.numbered = d.systems.length > 3 && !this.many;
    if (this.numbered) this.find("legend").textContent = d.systems.map((name, place) => `${place + 1}: ${name}`).join(", ");
    if (d.systems.length === 1) for (const name of ["differ", "all-wrong", "only-wrong", "only-right"]) this.find("outcome").querySelector(`[value=${name}]`).remove();
    for (const name of ["system", "outcome", "value", "order", "pairs"]) this.find(name).addEventListener("change", () => this.update());
    this.find("attribute").addEventListener("change", () => { this.values(); this.update(); });
    let waiting;
    this.find("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.update(), 120); });
    this.at = 0; // the place of the row that the keyboard is at
    this.list.addEventListener("scroll", () => this.paint(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("focusin", (event) => { if (event.target.place !== undefined) this.at = event.target.place; });
    this.wide = matchMedia("(min-width: 48rem)");
    addEventListener("resize", () => this.measure());
    addEventListener("hashchange", () => this.linked());
    this.prefix = root.id + "=";
    this.values();
    this.update();
    this.linked();
  }

  fill(select, pairs) {
    select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value)));
  }

  values() {
    const attribute = this.data.attributes[this.find("attribute").value], select = this.find("value");
    select.disabled = !attribute;
    this.fill(select, [[-1, attribute ? "any value" : "–"], ...(attribute ? attribute.values.map((name, place) => [place, name]) : [])]);
  }

  text(number) { return this.data.texts[number]; }
  context(row) { return this.data.contexts.length ? this.text(this.data.contexts[row]) : ""; }
  // Scores of a system: two bytes each, steps from its lowest; the last code is none. They are unpacked when they are first needed.
  score(system, row, option) {
    const { low, step, codes } = this.data.scores[system];
    this.unpacked[system] ??= new Uint16Array(Uint8Array.from(atob(codes), (letter) => letter.charCodeAt(0)).buffer);
    const code = this.unpacked[system][this.starts[row] + option];
    const digits = Math.min(4, Math.max(0, Math.floor(-Math.log10(step))));
    return code === 65535 ? null : +(low + step * code).toFixed(digits);
  }
  places(row) { return Array.from({ length: this.data.sizes[row] }, (_, place) => place); }
  option(row, place) { return this.data.options.length ? this.text(this.data.options[row][place]) : "option " + (place + 1); }

  // "right", "wrong", "tie" or, where the label is hidden, "hidden".
  outcome(system, row) {
    const choice = this.choices[system][row], gold = this.data.gold[row];
    return gold < 0 ? "hidden" : choice < 0 ? "tie" : choice === gold ? "right" : "wrong";
  }

  margin(system, row) {
    const sorted = this.places(row).map((place) => this.score(system, row, place) ?? -Infinity).sort((a, b) => b - a);
    const margin = sorted[0] - (sorted[1] ?? sorted[0]);
    return Number.isNaN(margin) ? 0 : margin;
  }

  searched() {
    this.lower ??= this.data.ids.map((id, row) => {
      const options = this.data.options.length ? this.data.options[row].map((place) => this.text(place)) : [];
      return [id, this.context(row), ...options].join("\n").toLowerCase();
    });
    return this.lower;
  }

  update() {
    const d = this.data, system = +this.find("system").value, wanted = this.find("outcome").value, order = this.find("order").value;
    const words = this.find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const attribute = d.attributes[this.find("attribute").value], value = +this.find("value").value;
    const lower = words.length ? this.searched() : null;
    const keeps = (row) => {
      if (wanted === "differ") {
        if (this.choices.every((choices) => choices[row] === this.choices[0][row])) return false;
      } else if (wanted === "all-wrong" || wanted.startsWith("only")) {
        if (d.gold[row] < 0) return false;
        const right = (one) => this.choices[one][row] === d.gold[row], sign = wanted === "only-right";
        if (wanted === "all-wrong" ? d.systems.some((_, one) => right(one)) : d.systems.some((_, one) => right(one) !== (one === system ? sign : !sign))) return false;
      } else if (wanted !== "all") {
        const found = this.outcome(system, row);
        if (found !== wanted && !(wanted === "wrong" && found === "tie")) return false;
      }
      if (attribute) {
        const values = attribute.rows[row];
        if (value < 0 ? !values.length : !values.includes(value)) return false;
      }
      return !lower || words.every((word) => lower[row].includes(word));
    };
    const rows = [];
    for (let row = 0; row < d.ids.length; row++) if (keeps(row)) rows.push(row);
    const items = rows.length;
    if (order !== "file") {
      const margins = new Map(rows.map((row) => [row, this.margin(system, row)])), sign = order === "sure" ? -1 : 1;
      rows.sort((a, b) => sign * (margins.get(a) - margins.get(b)) || a - b);
    }
    this.paired = this.find("pairs").checked;
    this.shown = this.paired ? [...new Set(rows.map((row) => d.groups[row]))].map((group) => this.members[group]) : rows.map((row) => [row]);
    const n = (count) => count.toLocaleString("en");
    this.find("count").textContent = `${n(items)} of ${n(d.ids.length)} items` + (this.paired ? `, in ${n(this.shown.length)} whole ${this.unit}` : "");
    this.list.scrollTop = this.at = 0;
    this.measure();
  }

  // The members of a pair stand side by side where there is room.
  measure() {
    this.beside = this.paired && this.wide.matches ? Math.min(this.largest, 2) : 1;
    const lines = Math.ceil((this.paired ? this.largest : 1) / this.beside);
    this.height = 18 + lines * (22 * (2 + this.options));
    this.spacer.style.height = this.shown.length * this.height + "px";
    this.list.style.setProperty("--beside", this.beside);
    this.paint(true);
  }

  // An address that ends with #c1-items=ID shows that item.
  linked() {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (!hash.startsWith(this.prefix)) return;
    const row = this.data.ids.indexOf(hash.slice(this.prefix.length));
    if (row < 0 || this.find("detail").open) return;
    this.root.scrollIntoView();
    this.open(this.members[this.data.groups[row]].length > 2 ? [row] : this.members[this.data.groups[row]], row);
  }

  paint(fresh) {
    const first = Math.max(0, Math.floor(this.list.scrollTop / this.height) - 2);
    const last = Math.min(this.shown.length, first + Math.ceil(this.list.clientHeight / this.height) + 5);
    if (fresh || first !== this.first || last !== this.last) {
      const rows = [], held = this.list.contains(document.activeElement);
      for (let place = first; place < last; place++) rows.push(this.row(place));
      this.list.replaceChildren(this.spacer, ...rows);
      [this.first, this.last] = [first, last];
      // One row is a stop of the Tab key: the one that was left, or the first in view.
      const seen = Math.min(last - 1, Math.ceil(this.list.scrollTop / this.height));
      const stop = rows[(this.at >= first && this.at < last ? this.at : seen) - first];
      if (stop) stop.tabIndex = 0;
      this.list.tabIndex = stop ? -1 : 0;
      if (held) (this.at >= first && this.at < last ? stop : this.list).focus({ preventScroll: true }); // the new rows replaced the one in focus
    }
  }

  // The keyboard goes to a row, which may not be painted yet.
  go(place) {
    this.at = Math.max(0, Math.min(this.shown.length - 1, place));
    const top = this.at * this.height, below = top + this.height - this.list.clientHeight;
    this.list.scrollTop = Math.min(top, Math.max(this.list.scrollTop, below));
    this.paint(true);
    const row = [...this.list.children].find((one) => one.place === this.at);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }

  element(name, kind, text) {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    if (text !== undefined) {
      made.textContent = text;
      made.dir = "auto"; // texts of some languages run from right to left
    }
    return made;
  }

  row(place) {
    const made = this.element("div", this.beside > 1 ? "row pair" : "row");
    made.setAttribute("role", "listitem");
    made.setAttribute("aria-posinset", place + 1);
    made.setAttribute("aria-setsize", this.shown.length);
    made.tabIndex = -1;
    made.place = place;
    made.style.top = place * this.height + "px";
    made.style.height = this.height + "px";
    for (const row of this.shown[place]) {
      const item = this.element("div", "item");
      item.append(...this.lines(row));
      made.append(item);
    }
    made.addEventListener("click", () => this.detail(place));
    return made;
  }

  // What the data say of an item; what analyses found is in its detail.
  about(row) {
    const values = this.data.attributes.filter((one) => one.own).flatMap((one) => one.rows[row].map((place) => one.values[place]));
    return [this.data.ids[row], ...values].join(" · ");
  }

  all(row) {
    const list = this.element("dl");
    for (const one of this.data.attributes) {
      if (!one.rows[row].length) continue;
      const values = one.rows[row].map((place) => one.values[place]).join(", ");
      list.append(this.element("dt", "", one.name), this.element("dd", "", values));
    }
    return list;
  }

  lines(row) {
    const d = this.data, lines = [this.element("div", "about", this.about(row)), this.element("div", "context", this.context(row) || d.ids[row])];
    this.places(row).forEach((option) => {
      const gold = d.gold[row] === option, line = this.element("div", gold ? "option gold" : "option");
      line.append(this.element("span", "text", (gold ? "● " : "○ ") + this.option(row, option)));
      const chosen = d.systems.map((_, system) => system).filter((system) => this.choices[system][row] === option);
      if (chosen.length) {
        const marks = this.element("span", "marks");
        if (this.many) marks.append(this.element("span", "", `${chosen.length} of ${d.systems.length} `));
        for (const system of this.many ? chosen.filter((one) => one === +this.find("system").value) : chosen) marks.append(this.mark(system, row), " ");
        line.append(marks);
      }
      lines.push(line);
    });
    return lines;
  }

  mark(system, row) {
    const found = this.outcome(system, row), sign = { right: "✓", wrong: "✗", tie: "=", hidden: "·" }[found];
    const name = this.data.systems.length > 1 && !this.many ? ` ${this.numbered ? system + 1 : this.data.systems[system]}` : "";
    const made = this.element("span", found === "right" ? "ok" : "bad", sign + name);
    made.title = this.data.systems[system] + ": " + this.places(row).map((place) => `${this.option(row, place)} ${this.score(system, row, place) ?? "–"}`).join(" · ");
    return made;
  }

  // Arrows, Page Up and Down, Home and End go from row to row; Enter and Space show the items of one.
  key(event) {
    if (!this.shown.length || event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.list.clientHeight / this.height));
    const places = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: this.shown.length - 1 };
    if (event.key in places) this.go(places[event.key]);
    else if (event.target.place !== undefined && (event.key === "Enter" || event.key === " ")) this.detail(event.target.place);
    else return;
    event.preventDefault();
  }

  // A row an option and a column a system; of many systems the other way round.
  scores(row) {
    const d = this.data, table = this.element("table", "stacked"), head = this.element("tr"), body = this.element("tbody");
    const options = this.places(row).map((option) => [option, d.gold[row] === option, (d.gold[row] === option ? "● " : "○ ") + this.option(row, option)]);
    const cell = (system, option, label) => {
      const made = this.element("td", "number", this.score(system, row, option) ?? "–"), right = this.outcome(system, row) === "right";
      made.dataset.label = label;
      if (this.choices[system][row] === option) made.append(" ", this.element("span", right ? "ok" : "bad", right ? "✓" : "✗"));
      return made;
    };
    const add = (name, gold, cells) => {
      const line = this.element("tr");
      line.append(this.element("th", gold ? "gold" : "", name), ...cells);
      body.append(line);
    };
    const headings = this.many ? options.map(([, , text]) => text) : d.systems;
    head.append(...["", ...headings].map((name) => this.element("th", name ? "number" : "", name)));
    if (this.many) d.systems.forEach((name, system) => add(name, false, options.map(([option, , text]) => cell(system, option, text))));
    else for (const [option, gold, text] of options) add(text, gold, d.systems.map((name, system) => cell(system, option, name)));
    table.setAttribute("aria-label", "Scores of " + d.ids[row]);
    table.append(this.element("thead"), body);
    table.firstChild.append(head);
    return table;
  }

  // The two members of a pair are shown together.
  detail(place) {
    const rows = this.shown[place], members = this.members[this.data.groups[rows[0]]];
    this.open(members.length === 2 ? members : rows, rows[0]);
  }

  // Shows items; the address of the page becomes a link to one of them.
  open(rows, first) {
    const d = this.data, content = this.find("content"), blocks = [];
    for (const row of rows) {
      const block = this.element("div", "item"), about = this.element("p", "note", d.ids[row] + " · "), link = this.element("a", "", "link to this item");
      link.href = "#" + this.prefix + encodeURIComponent(d.ids[row]);
      about.append(link);
      const scroll = this.element("div", "scroll");
      scroll.append(this.scores(row));
      block.append(this.element("h4", "", this.context(row) || d.ids[row]), about, scroll, this.all(row));
      blocks.push(block);
    }
    content.classList.toggle("pair", rows.length > 1);
    content.replaceChildren(...blocks);
    history.replaceState(null, "", "#" + this.prefix + encodeURIComponent(d.ids[first]));
    this.find("detail").setAttribute("aria-label", rows.map((row) => d.ids[row]).join(", "));
    this.find("detail").showModal();
  }
}
for (const root of document.querySelectorAll(".browser")) new Browser(root);

// A link to a folded section opens it.
const unfold = (hash) => {
  const one = document.getElementById(decodeURIComponent(hash.slice(1)));
  if (one?.tagName === "DETAILS") one.open = true;
};
for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", () => unfold(link.hash));
addEventListener("hashchange", () => unfold(location.hash));
unfold(location.hash);

// The Tab key stops only at tables that scroll.
const tables = new ResizeObserver((found) => {
  for (const { target: one } of found) one.tabIndex = one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight ? 0 : -1;
});
for (const one of document.querySelectorAll(".scroll")) tables.observe(one);
