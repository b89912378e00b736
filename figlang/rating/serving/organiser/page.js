"use strict";
const at = id => document.getElementById(id);
const EVERY = 5000;
let token = "", shown = "", drawn = 0;

const number = (value, digits = 2) => value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");
const share = one => `${(100 * one.value).toFixed(1)} % (${(100 * one.low).toFixed(1)} – ${(100 * one.high).toFixed(1)}), ${one.n} answers`;

function element(name, text, kind) {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function ago(at) {
  if (!at) return "–";
  const seconds = Math.max(0, (Date.now() - Date.parse(at)) / 1000);
  return seconds < 90 ? `${Math.round(seconds)} s ago` : seconds < 5400 ? `${Math.round(seconds / 60)} min ago` : new Date(at).toLocaleString();
}

function row(one) {
  const made = document.createElement("tr"), done = document.createElement("td"), bar = document.createElement("progress");
  const name = element("th", one.rater);
  name.scope = "row";
  bar.max = one.of;
  bar.value = one.done;
  bar.setAttribute("aria-label", `answered by ${one.rater}`);
  done.append(bar, `${one.done} of ${one.of}`);
  const cells = [one.checks ? `${one.passed} of ${one.checks}` : "–", number(one.seconds, 1), one.unsure].map(text => element("td", text, "number"));
  made.append(name, element("td", one.code, "code"), done, ...cells, element("td", ago(one.last)));
  return made;
}

function agreement(found) {
  const rows = [];
  const add = (name, value) => { if (value !== null && value !== undefined) rows.push(element("dt", name), element("dd", value)); };
  if ("pairs" in found) {
    add("two raters wrote the same", found.same_words === null ? null : `${(100 * found.same_words).toFixed(1)} % of ${found.pairs} pairs of answers`);
  } else if (found.rated_by_several) {
    add("of one mind", `${found.unanimous} of ${found.rated_by_several} with several answers`);
    add("Krippendorff's alpha, nominal", found.alpha_nominal === null ? null : number(found.alpha_nominal));
    if (found.icc_incomplete) add("Krippendorff's alpha, interval", number(found.alpha_interval));
    add("Gwet's AC1", found.gwet_ac1 === null ? null : number(found.gwet_ac1));
    if (found.icc_incomplete) add("ICC(2,1), ICC(2,k)", `${number(found.icc_incomplete.single)}, ${number(found.icc_incomplete.average)}`);
  }
  if (!rows.length) rows.push(element("dt", "not yet"), element("dd", "needs items with answers of two raters"));
  at("agreement").replaceChildren(...rows);
}

function right(found) {
  at("right-part").hidden = !found || !found.all;
  if (at("right-part").hidden) return;
  const rows = [element("dt", "all answers"), element("dd", share(found.all))];
  if (found.confident) rows.push(element("dt", "confident answers"), element("dd", share(found.confident)));
  const counts = ["all", "most", "half or fewer", "none"].filter(name => found.items[name]).map(name => `${name} ${found.items[name]}`);
  rows.push(element("dt", "items by raters who are right"), element("dd", counts.join(", ")));
  at("right").replaceChildren(...rows);
}

async function load() {
  let found;
  try {
    const reply = await fetch("/api/live", {credentials: "same-origin"});
    if (reply.status === 401 || reply.status === 403) return location.replace("/");
    found = await reply.json();
    if (!reply.ok) throw Object.assign(new Error(found.error), {said: found.error});
  } catch (error) {
    at("message").textContent = `${error.said || "The server does not answer."} This page tries again by itself.`;
    return void setTimeout(load, EVERY);
  }
  token = found.token;
  at("message").textContent = "";
  at("title").textContent = `${found.questions} questions${found.source ? ` of ${found.source}` : ""}`;
  at("count").textContent = `${found.raters.filter(one => one.done === one.of).length} of ${found.raters.length} raters are done`;
  const now = JSON.stringify(found);
  if (now !== shown || Date.now() - drawn > 30000) {  // what is unchanged stays, so that a code can be marked and copied
    at("raters").replaceChildren(...found.raters.map(row));
    agreement(found.agreement);
    right(found.right);
    [shown, drawn] = [now, Date.now()];
  }
  if (at("files").children.length !== found.files.length) {
    at("files").replaceChildren(...found.files.map(name => {
      const line = document.createElement("li"), link = element("a", name);
      link.href = `/api/export/${encodeURIComponent(name)}`;
      link.download = name;
      line.append(link);
      return line;
    }));
  }
  setTimeout(load, EVERY);
}

at("leave").addEventListener("click", async () => {
  await fetch("/api/leave", {method: "POST", credentials: "same-origin", headers: {"content-type": "application/json", "x-figlang-token": token}, body: "{}"}).catch(() => null);
  location.assign("/");
});
load();
