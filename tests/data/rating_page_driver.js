// As much of a browser as the rating page uses; presses keys, saves, and writes the saved file to the standard output.
const {data, script} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const listeners = {};
let elements = {};
const element = () => ({
  children: [], dataset: {}, value: "", textContent: "", style: {}, attributes: {},
  append(child) { this.children.push(child); },
  setAttribute(name, value) { this.attributes[name] = value; },
  addEventListener(kind, run) { this[kind] = run; },
  focus() {}, click() {},
});
let saved = null;
global.Blob = class { constructor(parts) { saved = parts.join(""); } };
global.URL = {createObjectURL: () => "blob:", revokeObjectURL: () => {}};
global.localStorage = {kept: {}, getItem(key) { return this.kept[key] ?? null; }, setItem(key, value) { this.kept[key] = value; }};
global.document = {
  getElementById: id => (elements[id] ??= Object.assign(element(), id === "data" ? {textContent: data} : {})),
  createElement: element,
  addEventListener: (kind, run) => { listeners[kind] = run; },
};
const press = key => listeners.keydown({key, target: {tagName: "BODY"}, preventDefault() {}});
eval(script);
press("s");
if (saved !== null) throw new Error("saved without a name");
elements.rater.value = "ann";
["1", "2", "ArrowLeft", "3", "3", "ArrowLeft", "3", "s"].forEach(press);
const first = saved;

// A second window rates another answer. What the first one rates after that does not undo it.
const [mine, keys] = [elements, listeners.keydown];
elements = {};
eval(script);
["u", "2"].forEach(press);
[elements, listeners.keydown] = [mine, keys];
["1", "s"].forEach(press);
const wrong = text => text.split(",wrong").length - 1;
if (wrong(first) !== 0 || wrong(saved) !== 1) throw new Error("the other window's rating is lost");
process.stdout.write(first);
