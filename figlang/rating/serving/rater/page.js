"use strict";
const at = id => document.getElementById(id);
const QUESTIONS = {
  codes: () => "How do you rate this answer?",
  choice: item => item.answer ? "What holds between the two?" : "Which one fits?",
  paraphrase: item => item.mark ? "What could stand in place of the marked word?" : "What is your answer?",
};
const UNSAVED = "This text is not saved yet. Press Enter to save it.";
let work = null, current = 0, looked = 0, since = null, busy = false, unsure = false;

async function ask(path, content) {
  const headers = {"content-type": "application/json", "x-figlang-token": work ? work.token : ""};
  const sent = content === undefined ? {} : {method: "POST", headers, body: JSON.stringify(content)};
  const reply = await fetch("/api/" + path, {...sent, credentials: "same-origin"});
  const found = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(found.error || reply.statusText), {status: reply.status});
  return found;
}

function only(name) {
  for (const one of ["sign-in", "joined", "work", "done"]) at(one).hidden = one !== name;
  at("bar").hidden = name === "sign-in" || name === "joined";
  if (name === "sign-in" || name === "joined") at("message").textContent = "";
}

// Signing in

async function start() {
  try {
    const found = await ask("work");
    if (found.role !== "nobody") return begin(found);
  } catch (error) {
    return wait(start, error);
  }
  const given = new URLSearchParams(location.search);
  if (given.has("join")) return join(given);
  only("sign-in");
  at("code").focus();
}

async function join(given) {
  only("sign-in");
  try {
    const name = given.get("PROLIFIC_PID") || given.get("name") || "";
    at("own-code").textContent = (await ask("join", {code: given.get("join"), name})).code;
    only("joined");
    at("begin").focus();
  } catch (error) {
    at("refused").textContent = error.status ? error.message : "The server does not answer. Load the page again.";
    at("code").focus();
  }
}

async function enter(event) {
  event.preventDefault();
  at("refused").textContent = "";
  try {
    await ask("enter", {code: at("code").value});
    at("code").value = "";
    begin(await ask("work"));
  } catch (error) {
    at("refused").textContent = error.status ? error.message : "The server does not answer. Try again in a moment.";
    at("code").select();
  }
}

function begin(found) {
  if (found.role === "organiser") return location.assign("/organiser");
  if (location.search) history.replaceState(null, "", "/");  // the code of the study is not left in the address
  work = found;
  busy = false;
  document.title = `Rating, ${work.name}`;
  at("who").textContent = work.name;
  at("instructions").textContent = work.instructions;
  at("finished").textContent = work.finished;
  at("unsure").hidden = work.ask !== "choice";
  at("writing").hidden = work.ask !== "paraphrase";
  at("options").hidden = work.ask === "paraphrase";
  at("options").className = work.ask;
  const count = work.ask === "codes" ? work.codes.length : Math.max(0, ...work.items.map(item => item.options.length));
  const keys = [
    ...(work.ask === "paraphrase" ? [["Enter", "save"]] : [[count > 1 ? `1 – ${Math.min(count, 9)}` : "1", "answer and go on"]]),
    ...(work.ask === "choice" ? [["n", "I am not sure"]] : []),
    ["← →", work.ask === "paraphrase" ? "back, next (outside the text field)" : "back, next"],
    ["u", "next unanswered item"], ["h", "this help"],
  ];
  at("keys").replaceChildren(...keys.map(([key, what]) => {
    const row = document.createElement("tr"), name = document.createElement("th"), text = document.createElement("td");
    name.scope = "row"; name.textContent = key; text.textContent = what;
    row.append(name, text);
    return row;
  }));
  at("single").checked = kept("keys") !== "off";
  resend();
  const first = work.items.findIndex(item => item.given === null);
  if (first < 0) return finish();
  show(first);
  if (first === 0 && work.items.every(item => item.given === null)) help();
}

async function leave() {
  try { await ask("leave", {}); } catch (error) { /* the session is gone already */ }
  work = null;
  document.title = "Rating";
  at("trouble").hidden = true;
  only("sign-in");
  at("code").focus();
}

// One item

function show(place) {
  current = place;
  const item = work.items[place], done = work.items.filter(one => one.given !== null).length;
  only("work");
  at("where").textContent = `Item ${place + 1} of ${work.items.length}`;
  at("count").textContent = `${done} of ${work.items.length} answered`;
  at("progress").max = work.items.length;
  at("progress").value = done;
  marked(at("text"), item.text, item.mark);
  at("answer").textContent = item.answer || (work.ask === "codes" ? "(empty)" : "");
  at("answer").hidden = work.ask !== "codes" && !item.answer;
  at("asked").textContent = QUESTIONS[work.ask](item);
  unsure = item.given !== null && !item.confident;
  at("back").disabled = place === 0;
  at("forward").disabled = place === work.items.length - 1;
  const draft = stored(drafts(work))[place];
  if (work.ask === "paraphrase") at("words").value = draft ?? item.given ?? "";
  if (draft !== undefined) at("message").textContent = UNSAVED;
  else if (at("message").textContent === UNSAVED) at("message").textContent = "";
  if (work.ask !== "paraphrase") at("options").replaceChildren(...choices(item));
  press();
  looked = 0;
  since = document.hidden ? null : performance.now();
  scrollTo(0, 0);
  if (work.ask === "paraphrase" && !at("about").open) at("words").focus(); else at("where").focus();
}

function marked(place, text, mark) {
  if (!mark) { place.textContent = text; return; }
  // Places are counted in characters, as Python does, and not in units of UTF-16.
  const letters = [...text], word = document.createElement("mark");
  word.textContent = letters.slice(...mark).join("");
  place.replaceChildren(letters.slice(0, mark[0]).join(""), word, letters.slice(mark[1]).join(""));
}

function choices(item) {
  const values = work.ask === "codes" ? work.codes.map(code => [code, code]) : item.options.map((text, n) => [String(n), text]);
  return values.map(([value, text], number) => {
    const button = document.createElement("button"), key = document.createElement("kbd"), label = document.createElement("span");
    button.type = "button";
    button.dataset.value = value;
    label.textContent = text;
    label.dir = "auto";  // options may be in a script that is written from right to left
    if (number < 9) {
      key.textContent = number + 1;
      key.setAttribute("aria-hidden", "true");
      button.setAttribute("aria-keyshortcuts", number + 1);
      button.append(key);
    }
    button.append(label);
    button.addEventListener("click", () => give(value));
    return button;
  });
}

function press() {
  const given = work.items[current].given;
  for (const button of at("options").children) button.setAttribute("aria-pressed", given === button.dataset.value);
  at("unsure").setAttribute("aria-pressed", unsure);
}

function pause() {
  if (document.hidden && since !== null) { looked += performance.now() - since; since = null; }
  if (!document.hidden && since === null) since = performance.now();
}

// Saving

function kept(name) { try { return localStorage.getItem(`figlang-${name}`); } catch (error) { return null; } }
// Of this study alone: another one may be asked at the same address later, with raters of the same names.
const unsent = of => `unsent-${of.study}-${of.name}`, drafts = of => `drafts-${of.study}-${of.name}`;
function keep(name, value) {
  try { if (value === null) localStorage.removeItem(`figlang-${name}`); else localStorage.setItem(`figlang-${name}`, value); } catch (error) { /* this browser keeps nothing */ }
}

// Objects that several windows of one rater share: each changes its own entry alone.
function stored(name) { return JSON.parse(kept(name) || "{}"); }
function store(name, entry, value) {
  const found = stored(name);
  if (value === null) delete found[entry]; else found[entry] = value;
  keep(name, Object.keys(found).length ? JSON.stringify(found) : null);
}

async function give(value, stay = false) {
  if (busy) return;
  for (const button of at("options").children) button.setAttribute("aria-pressed", value === button.dataset.value);
  const seconds = (looked + (since === null ? 0 : performance.now() - since)) / 1000;
  const sent = Array.from(crypto.getRandomValues(new Uint8Array(12)), one => one.toString(16).padStart(2, "0")).join("");
  await send({place: current, value, confident: !unsure, seconds, sent}, work, stay);
}

// Until the server has it, an answer is kept in this browser, and sent again by itself. After signing out it waits
// for its rater: nobody else who signs in here may send it.
async function send(answer, mine = work, stay = false) {
  if (work !== mine) return;
  busy = true;
  store(unsent(mine), answer.sent, answer);
  try {
    await ask("answer", answer);
  } catch (error) {
    if (work !== mine) return;
    busy = false;
    if (error.status === 401) {
      work = null;
      only("sign-in");
      at("refused").textContent = "Your session has ended. Sign in again: your last answer is kept and sent then.";
      return;
    }
    if (error.status && error.status < 500) {
      if (error.status !== 403) store(unsent(mine), answer.sent, null);  // 403: somebody else has signed in in this browser
      press();
      at("message").textContent = error.message;
      return;
    }
    busy = true;
    return wait(() => send(answer, mine, stay), error);
  }
  store(unsent(mine), answer.sent, null);
  if (stored(drafts(mine))[answer.place]?.trim() === answer.value) store(drafts(mine), answer.place, null);
  if (work !== mine) return;
  busy = false;
  at("trouble").hidden = true;
  const item = work.items[answer.place], before = item.given;
  item.given = answer.value;
  item.confident = answer.confident;
  goOn(answer, before, stay);
  resend();
}

function goOn(answer, before, stay) {
  if (at("work").hidden) return;
  if (answer.place !== current) { show(current); return; }
  const open = work.items.filter(one => one.given === null).length;
  at("message").textContent = before === null ? "Saved." : "Changed.";
  if (stay) {
    looked = 0;
    since = document.hidden ? null : performance.now();
  } else if (!open && before === null) finish();
  else if (current < work.items.length - 1) show(current + 1);
  else if (open) unanswered();
  else finish();
}

function wait(again, error) {
  if (error.status && error.status < 500) { at("trouble").textContent = error.message; at("trouble").hidden = false; return; }
  const what = error.status ? "The server could not keep this. Tell the organiser." : "The server does not answer.";
  at("trouble").textContent = `${what} This page tries again by itself; your last answer is kept until then.`;
  at("trouble").hidden = false;
  setTimeout(again, 1000);
}

function resend() {
  const answer = Object.values(stored(unsent(work))).find(one => one.place < work.items.length);
  if (answer) send(answer);
}

// Ways through the items

function move(step) {
  if (busy) return;
  const place = current + step;
  at("message").textContent = "";
  if (place >= 0 && place < work.items.length) show(place);
}

function unanswered() {
  if (busy) return;
  const order = work.items.map((_, n) => (current + 1 + n) % work.items.length);
  const found = order.find(place => work.items[place].given === null);
  if (found === undefined) finish(); else show(found);
}

function finish() {
  only("done");
  at("progress").max = at("progress").value = work.items.length;
  at("count").textContent = `${work.items.length} of ${work.items.length} answered`;
  at("message").textContent = "";
  at("done-title").focus();
}

function help() {
  at("about").showModal();
  at("about-close").focus();
}

function toggle() {
  if (busy) return;
  unsure = !unsure;
  press();
  const given = work.items[current].given;
  if (given !== null) give(given, true);  // of an answer that is saved already, it is saved too
}

// What is written and not saved stays in this browser, also when the rater looks at another item first.
function draft() {
  const text = at("words").value;
  store(drafts(work), current, ["", work.items[current].given].includes(text.trim()) ? null : text);
}

function write(event) {
  event.preventDefault();
  const text = at("words").value.trim();
  if (text) give(text); else at("message").textContent = "Write something first.";
}

function key(event) {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !work || at("work").hidden || at("about").open) return;
  if (event.target.tagName === "INPUT" || !at("single").checked) return;
  const button = /^[1-9]$/.test(event.key) ? at("options").children[Number(event.key) - 1] : null;
  const ways = {ArrowLeft: () => move(-1), ArrowRight: () => move(1), u: unanswered, h: help};
  if (work.ask === "choice") ways.n = toggle;
  if (button && work.ask !== "paraphrase") button.click(); else if (ways[event.key]) ways[event.key](); else return;
  event.preventDefault();
}

at("entering").addEventListener("submit", enter);
at("begin").addEventListener("click", start);
at("leave").addEventListener("click", leave);
at("writing").addEventListener("submit", write);
at("words").addEventListener("input", draft);
at("unsure").addEventListener("click", toggle);
at("back").addEventListener("click", () => move(-1));
at("forward").addEventListener("click", () => move(1));
at("open").addEventListener("click", unanswered);
at("review").addEventListener("click", () => show(0));
at("about-open").addEventListener("click", help);
at("about-close").addEventListener("click", () => at("about").close());
at("about").addEventListener("close", () => { if (work && !at("work").hidden) (work.ask === "paraphrase" ? at("words") : at("where")).focus(); });
at("single").addEventListener("change", () => keep("keys", at("single").checked ? null : "off"));
document.addEventListener("keydown", key);
document.addEventListener("visibilitychange", pause);
start();
