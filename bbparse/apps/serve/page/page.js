"use strict";
// One sentence is shown at a time. Its constraints are in `fixed` and `forbidden`; after every change
// the service finds the best trees that satisfy them. The worth of an arc is the drop in score of the
// best tree without it, which is requested when the mouse points at the arc.
const $ = (id) => document.getElementById(id);
let sentences = [], at = 0, shown = 0, chosen = 0, question = 0;
const now = () => sentences[at];

async function ask(body) {
  const answer = await fetch("v1/parse", {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: $("model").value, valid: $("valid").checked ? null : "none",
      drawings: true, deadline: 20, ...body }),
  });
  const text = await answer.text();
  const lines = text.trim().split("\n").map((line) => JSON.parse(line));
  const error = lines.find((line) => line.error);
  if (error) throw new Error(error.error);
  return lines;
}
function say(text, bad) { $("status").textContent = text; $("status").classList.toggle("bad", !!bad); }
function constraints(s, without) {
  const forbid = [...s.forbidden].map((key) => key.split(" ").map(Number));
  if (without) forbid.push(without);
  return [{ heads: Object.fromEntries(s.fixed), forbid }];
}
const again = (s, more, without) => ask({ conllu: s.conllu, constraints: constraints(s, without), ...more });

async function parse(event) {
  if (event) event.preventDefault();
  const mine = ++question;
  say("…");
  try {
    const found = await ask({ text: $("text").value, k_best: +$("count").value });
    if (mine !== question) return;
    sentences = found.map((record) => ({ record, conllu: record.trees[0].conllu, fixed: new Map(),
      forbidden: new Set(), worth: new Map() }));
    at = shown = chosen = 0;
    say("");
    listSentences();
    draw();
  } catch (error) { if (mine === question) say(error.message, true); }
}
async function change(s, undo) {
  const mine = ++question;
  $("result").classList.add("busy");
  try {
    const [record] = await again(s, { k_best: +$("count").value });
    if (mine !== question) return;
    if (!record.trees.length) throw new Error("no tree satisfies these constraints");
    s.record = record; s.worth = new Map(); shown = 0;
    say("");
  } catch (error) { undo(); if (mine === question) say(error.message, true); }
  if (mine === question) { $("result").classList.remove("busy"); draw(); }
}
function fix(word, head) {
  const s = now(), before = s.fixed.get(word), key = `${head} ${word}`, was = s.forbidden.delete(key);
  if (head === word) return;
  s.fixed.set(word, head);
  change(s, () => { before === undefined ? s.fixed.delete(word) : s.fixed.set(word, before);
    if (was) s.forbidden.add(key); });
}
function free(word) { const s = now(), head = s.fixed.get(word); s.fixed.delete(word);
  change(s, () => s.fixed.set(word, head)); }
function forbid(word) {
  const s = now(), head = tree().heads[word - 1], key = `${head} ${word}`, before = s.fixed.get(word);
  s.fixed.delete(word);
  s.forbidden.add(key);
  change(s, () => { s.forbidden.delete(key); if (before !== undefined) s.fixed.set(word, before); });
}
const tree = () => now().record.trees[shown];
const marked = (word) => (/[\u0590-\u08ff\ufb1d-\ufefc]/.test(word) ? `${word}\u200e` : word); // keeps the order of the text after it
const form = (i) => (i ? marked(now().record.words[i - 1]) : "the root");
function button(text, pressed, act, label) {
  const made = document.createElement("button");
  made.type = "button"; made.textContent = text;
  if (pressed !== null) made.setAttribute("aria-pressed", pressed);
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}
function listSentences() {
  $("sentences").hidden = sentences.length < 2;
  $("sentences").replaceChildren(...sentences.map((s, i) => button(
    s.record.words.join(" ").slice(0, 40), i === at,
    () => { at = i; shown = chosen = 0; question++; say(""); listSentences(); draw(); })));
}
function draw() {
  const s = now(), trees = s.record.trees, best = trees[0], focus = document.activeElement?.dataset?.mod;
  $("result").hidden = false;
  $("trees").replaceChildren(...trees.map((t, k) => button(
    k ? `${k + 1}. ${(best.score - t.score).toFixed(2)} less` : `Best: ${t.score.toFixed(2).replace("-", "−")}`, k === shown,
    () => { shown = k; chosen = 0; draw(); }, `Tree ${k + 1}, score ${t.score.toFixed(2)}`)));
  if (!trees.length) { $("drawing").textContent = "no tree"; return; }
  $("drawing").innerHTML = trees[shown].svg; // made and escaped by the service
  $("drawing").dir = runsToTheLeft() ? "rtl" : "ltr"; // it scrolls from where the line begins
  $("drawing").querySelectorAll("[data-mod]").forEach((arc) => {
    const m = +arc.dataset.mod;
    arc.classList.toggle("fixed", s.fixed.get(m) === tree().heads[m - 1]);
    arc.classList.toggle("other", shown > 0 && tree().heads[m - 1] !== best.heads[m - 1]);
  });
  const left = tree().broken.map((text) => ` Breaks ${text}.`).join("");
  const proof = tree().proved ? "" : ` Not proved: at most ${tree().upper_bound?.toFixed(2)}.`;
  if (left + proof) say((left + proof).trim());
  $("head").replaceChildren(...["root", ...s.record.words].map((word, i) => {
    const option = new Option(`${i} ${word}`, i); return option; }));
  $("kept").replaceChildren(
    ...[...s.fixed].map(([m, h]) => button(`${form(m)} ← ${form(h)} ✕`, null, () => free(m),
      `fixed: ${form(m)} under ${form(h)}; release it`)),
    ...[...s.forbidden].map((key) => { const [h, m] = key.split(" ").map(Number);
      return button(`not ${form(m)} ← ${form(h)} ✕`, null, () => { s.forbidden.delete(key);
        change(s, () => s.forbidden.add(key)); }, `forbidden: ${form(m)} under ${form(h)}; allow it`); }));
  const asked = { text: s.record.words.join(" "), split: "words", model: $("model").value };
  $("why").href = "v1/explain?" + new URLSearchParams(asked);
  $("clear").hidden = !s.fixed.size && !s.forbidden.size;
  choose(chosen);
  if (focus) arcOf(+focus)?.focus();
}
const arcOf = (word) => $("drawing").querySelector(`[data-mod="${word}"]`);
function choose(word) {
  chosen = word;
  $("drawing").querySelectorAll(".chosen").forEach((arc) => arc.classList.remove("chosen"));
  $("chosen").hidden = !word;
  if (!word) return;
  arcOf(word)?.classList.add("chosen");
  const head = tree().heads[word - 1];
  $("arc").textContent = `${form(word)} ← ${form(head)}`;
  $("fix").firstChild.data = now().fixed.has(word) ? "Release " : "Fix ";
  $("head").value = head;
}
let pointing = 0;
async function point(word) { // show the worth of a word's arc
  const s = now(), t = tree(), head = t.heads[word - 1], mine = ++pointing;
  const name = `${form(word)} ← ${form(head)}${t.labels ? ", " + t.labels[word - 1] : ""}`;
  const tell = (text) => { if (mine === pointing && s === now()) {
    const bold = document.createElement("b"); bold.textContent = name;
    $("tip").replaceChildren(bold, ": " + text); } };
  if (s.fixed.get(word) === head) return tell("fixed.");
  if (t.heads.length && shown) return tell(head === s.record.trees[0].heads[word - 1]
    ? "as in the best tree." : `the best tree has ${form(s.record.trees[0].heads[word - 1])}.`);
  if (!s.worth.has(word)) {
    tell("…");
    await new Promise((done) => setTimeout(done, 60)); // skip arcs that the mouse only passes
    if (mine !== pointing) return;
    s.worth.set(word, again(s, { drawings: false }, [head, word]).then(([record]) => {
      const other = record.trees[0];
      if (!other) return "no tree is without it.";
      const changed = other.heads.filter((h, i) => h !== t.heads[i]).length - 1;
      const more = changed > 0 ? `, and ${changed} other arc${changed > 1 ? "s" : ""} would change` : "";
      return `the score drops by ${other.proved ? "" : "about "}${(t.score - other.score).toFixed(2)} without it; `
        + `the head would be ${form(other.heads[word - 1])}${more}.`;
    }, (error) => error.message));
  }
  tell(await s.worth.get(word));
}
const of = (event) => +(event.target.closest?.("[data-mod]")?.dataset.mod ?? 0);
let drag = null;
function place(event) { // in the image
  const svg = $("drawing").querySelector("svg"), p = new DOMPoint(event.clientX, event.clientY);
  return p.matrixTransform(svg.getScreenCTM().inverse());
}
function nearest(p) { // the word at a place; above all words, the root
  const forms = [...$("drawing").querySelectorAll(".bbp-form")];
  if (p.y < 8) return 0;
  let best = 0, least = Infinity;
  forms.forEach((word, i) => { const far = Math.abs(+word.getAttribute("x") - p.x);
    if (far < least) { least = far; best = i + 1; } });
  return best;
}
function runsToTheLeft() { // as Hebrew and Arabic do: the first word is on the right
  const forms = [...$("drawing").querySelectorAll(".bbp-form")].map((word) => +word.getAttribute("x"));
  return forms[0] > forms[forms.length - 1];
}
function hover(word) {
  $("drawing").querySelectorAll(".bbp-form").forEach((f, i) => f.classList.toggle("over", i + 1 === word));
}
$("drawing").addEventListener("pointerover", (event) => { if (!drag && of(event)) point(of(event)); });
$("drawing").addEventListener("focusin", (event) => { if (of(event)) { point(of(event)); choose(of(event)); } });
$("drawing").addEventListener("pointerdown", (event) => {
  const word = of(event);
  if (!word || event.button) return;
  choose(word); point(word);
  drag = { word, x: event.clientX, y: event.clientY, line: null };
  $("drawing").setPointerCapture(event.pointerId);
});
$("drawing").addEventListener("pointermove", (event) => {
  if (!drag) return;
  const p = place(event), svg = $("drawing").querySelector("svg");
  if (!drag.line) {
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 8) return;
    drag.line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const from = $("drawing").querySelectorAll(".bbp-form")[drag.word - 1];
    drag.line.setAttribute("class", "rubber");
    drag.line.setAttribute("x1", from.getAttribute("x"));
    drag.line.setAttribute("y1", +from.getAttribute("y") - 16);
    svg.append(drag.line);
  }
  drag.line.setAttribute("x2", p.x); drag.line.setAttribute("y2", p.y);
  const word = nearest(p);
  hover(word);
  $("tip").textContent = word === drag.word ? "" : `${form(drag.word)} ← ${form(word)}`;
});
function drop(event) {
  if (!drag) return;
  const { word, line } = drag;
  drag = null;
  hover(-1);
  line?.remove();
  if (line && event.type === "pointerup") {
    const head = nearest(place(event));
    if (head !== word) fix(word, head);
  }
}
$("drawing").addEventListener("pointerup", drop);
$("drawing").addEventListener("pointercancel", drop);
$("drawing").addEventListener("keydown", (event) => {
  const word = of(event) || chosen, key = event.key;
  if (!word || event.ctrlKey || event.metaKey || event.altKey) return;
  const head = tree().heads[word - 1], n = now().record.words.length;
  if (key === "f") now().fixed.has(word) ? free(word) : fix(word, head);
  else if (key === "x" || key === "Delete") forbid(word);
  else if (key === "0") fix(word, 0);
  else if (key === "Enter" || key === " ") { choose(word); $("head").focus(); }
  else if (key === "ArrowLeft" || key === "ArrowRight") {
    const step = (key === "ArrowLeft") === runsToTheLeft() ? 1 : -1;
    let next = head + step;
    if (next === word) next += step;
    if (next < 0 || next > n) return;
    fix(word, next);
  } else return;
  event.preventDefault();
});
function clear() { const s = now(); if (!s) return; s.fixed.clear(); s.forbidden.clear(); change(s, () => {}); }
document.addEventListener("keydown", (event) => { if (event.key === "Escape") drag ? drop(event) : clear(); });
$("fix").addEventListener("click", () => (now().fixed.has(chosen) ? free(chosen)
  : fix(chosen, tree().heads[chosen - 1])));
$("forbid").addEventListener("click", () => forbid(chosen));
$("head").addEventListener("change", () => fix(chosen, +$("head").value));
$("clear").addEventListener("click", clear);
$("copy").addEventListener("click", async () => {
  const text = tree().conllu;
  try { await navigator.clipboard.writeText(text); } catch { // without https, or old
    const area = document.createElement("textarea");
    area.value = text; document.body.append(area); area.select();
    document.execCommand("copy"); area.remove();
  }
  say("Copied.");
});
$("ask").addEventListener("submit", parse);
$("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) parse(event); });
for (const id of ["count", "valid", "model"]) $(id).addEventListener("change", () => parse());
fetch("models").then((answer) => answer.json()).then(({ models }) => {
  $("model").replaceChildren(...Object.keys(models).map((name) => new Option(name)));
  $("model").parentElement.hidden = Object.keys(models).length < 2;
  parse();
}, () => say("The service does not answer.", true));
