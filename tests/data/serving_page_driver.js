// As much of a browser as the page of `figlang rate serve` uses, in several windows with one storage, and a server that can be down.
const {script, work, scenario} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const storage = {}, answers = [];
let down = false;
const settle = async () => { for (let turn = 0; turn < 50; turn++) await Promise.resolve(); };

function opened() {
  const elements = {}, listeners = {};
  const element = () => ({
    children: [], dataset: {}, attributes: {}, value: "", textContent: "", hidden: false, checked: true, open: false,
    append(...some) { this.children.push(...some); }, replaceChildren(...some) { this.children = some; },
    setAttribute(name, value) { this.attributes[name] = value; },
    addEventListener(kind, run) { this[`on${kind}`] = run; },
    focus() {}, select() {}, showModal() {}, close() {}, click() { this.onclick({preventDefault() {}}); },
  });
  const at = id => elements[id] ??= element();
  const given = {
    document: {getElementById: at, createElement: element, hidden: false, addEventListener: (kind, run) => { listeners[kind] = run; }},
    localStorage: {getItem: key => storage[key] ?? null, setItem: (key, value) => { storage[key] = value; }, removeItem: key => { delete storage[key]; }},
    location: {search: "", assign() {}}, history: {replaceState() {}}, scrollTo() {},
    setTimeout() {},
    fetch: async (path, sent) => {
      if (down) throw new TypeError("down");
      if (path === "/api/answer") {
        const answer = JSON.parse(sent.body);
        if (!answers.some(one => one.sent === answer.sent)) answers.push(answer);
        return {ok: true, json: async () => ({})};
      }
      const items = work.items.map((item, place) => {
        const last = answers.filter(one => one.place === place).at(-1);
        return {...item, given: last ? last.value : null, confident: last ? last.confident : true};
      });
      return {ok: true, json: async () => ({...work, items})};
    },
  };
  new Function(...Object.keys(given), script)(...Object.values(given));
  const then = run => async (...words) => { run(...words); await settle(); };
  return {
    at,
    press: then(key => listeners.keydown({key, target: {tagName: "BODY"}, preventDefault() {}})),
    type: then(text => { at("words").value = text; at("words").oninput({}); }),
    enter: then(() => at("writing").onsubmit({preventDefault() {}})),
  };
}

const tools = {opened, settle, answers, storage, setDown: value => { down = value; }};
new Function("tools", `return (async () => { ${scenario} })()`)(tools).then(
  found => process.stdout.write(JSON.stringify(found)),
  error => { console.error(error); process.exit(1); },
);
