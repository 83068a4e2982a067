"use strict";
// One sentence is shown at a time: `view`, as sent by the server. Acts are sent one after another, each
// with the revision that the annotator saw, so that the second of two windows is refused.
const $ = (id) => document.getElementById(id), HEIGHT = 46;
let rows = [], shown = [], changes = -1, hits = null, view = null;
let word = 0, armed = false, target = -1, options = { heads: [], labels: [] };
let queue = Promise.resolve(), loading = 0, asking = 0;
let waiting = 0, since = 0, saving = {}, lost = false; // pending requests, and since when

async function ask(path, body) {
  const answer = await fetch(`api/${path}`, body && { method: "POST",
    headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(found.error), { now: found.now });
  return found;
}
async function patiently(answer) { // shows that work is in progress until the response arrives
  if (!waiting++) since = Date.now();
  const timer = setInterval(tellSaved, 100);
  try { return await answer; } finally { clearInterval(timer); waiting--; tellSaved(); }
}
const percent = (p) => (p > 0 && p < 0.005 ? "<1 %" : p >= 0.995 && p < 1 ? ">99 %" : `${Math.round(100 * p)} %`);
const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
function say(text, bad) { $("status").textContent = text; $("status").classList.toggle("bad", !!bad); }
function element(name, text, properties) {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

// ---- the list ----
function choose() { // filter and sort the rows
  const only = $("only").value, order = $("order").value, text = $("query").value.trim();
  const rule = $("by").value === "rule" ? text.toLowerCase() : "";
  shown = rows.filter((row) => (!only || (only === "invalid" ? row.broken?.length : row.state === only))
    && (!rule || row.broken?.some((name) => name.toLowerCase().includes(rule))) && (!hits || hits.has(row.index)));
  if (order !== "index") shown.sort((a, b) => (a[order] ?? 2) - (b[order] ?? 2) || a.index - b.index);
  $("rows").style.height = `${shown.length * HEIGHT}px`;
  list();
}
function list() {
  const first = Math.max(0, Math.floor($("list").scrollTop / HEIGHT) - 4);
  const count = Math.ceil($("list").clientHeight / HEIGHT) + 8;
  $("rows").replaceChildren(...shown.slice(first, first + count).map((row, i) => line(row, `${(first + i) * HEIGHT}px`)));
}
function line(row, top) {
  const item = element("div", undefined, { className: `item ${row.state}`, onclick: () => open(row.index) });
  item.classList.toggle("invalid", !!row.broken?.length);
  item.style.top = top;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", row.index === view?.index);
  const value = $("order").value === "least" ? row.least : row.sure;
  const sure = row.broken?.length ? "invalid" : row.state === "done" || value === null ? "" : percent(value);
  item.append(element("span", { untouched: "○", work: "◐", done: "●" }[row.state], { className: "mark", title: row.state }),
    element("bdi", row.text), element("span", sure, { className: "sure", title: row.broken?.join(", ") ?? "" }));
  return item;
}
function update(changed) { // keeps the order while the annotator works
  const isNew = changed.some(({ index }) => !rows[index] || rows[index].sure === null);
  for (const row of changed) rows[row.index] = row;
  const left = rows.filter((row) => row.sure === null).length;
  $("progress").textContent = `${rows.filter((row) => row.state === "done").length} of ${rows.length} done`
    + (left ? ` · ${count(left, "sentence")} to parse` : "");
  if (isNew) return choose();
  shown = shown.map(({ index }) => rows[index]);
  list();
}
async function poll() {
  const found = await ask(`sentences?since=${changes}`);
  $("file").textContent = found.file;
  document.title = `${found.file} – bbparse annotate`;
  changes = found.changes;
  saving = found;
  tellSaved();
  if (found.rows.length) update(found.rows);
  const now = view && rows[view.index];
  if (now && now.revision > view.revision && !loading) { say("Changed in another window.", true); await load(view.index); }
}
function tellSaved() {
  const busy = waiting && Date.now() - since >= 100, seconds = Math.floor((Date.now() - since) / 1000);
  $("saved").textContent = busy ? `working…${seconds ? ` ${seconds} s` : ""}` : saving.trouble || (saving.saved ? "saved" : "saving…");
  $("saved").classList.toggle("bad", !busy && !!saving.trouble);
  $("box").setAttribute("aria-busy", !!busy);
}
async function search() {
  const text = $("query").value.trim(), by = $("by").value;
  const found = text && by !== "rule" ? new Set(await ask(`search?${new URLSearchParams({ text, by })}`)) : null;
  if (text === $("query").value.trim()) { hits = found; $("list").scrollTop = 0; choose(); }
}
function step(by) {
  const at = shown.findIndex((row) => row.index === view?.index);
  const next = shown[at < 0 ? 0 : at + by];
  if (next) open(next.index);
}

// ---- the sentence ----
async function open(index) {
  say("");
  await load(index);
  const at = shown.findIndex((row) => row.index === index), box = $("list");
  if (at * HEIGHT < box.scrollTop || (at + 2) * HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = (at - 3) * HEIGHT;
  list();
}
async function load(index, tree = 0) {
  const mine = ++loading;
  const found = await patiently(ask(`sentences/${index + 1}?tree=${tree}`));
  if (mine === loading) { loading = 0; show(found); }
}
function show(found) {
  const other = found.index !== view?.index;
  view = found;
  if (other) { word = 0; $("box").focus({ preventScroll: true }); }
  armed = false; target = -1;
  $("name").textContent = `${view.index + 1}. ${view.name}`;
  $("facts").textContent = [count(view.words, "word"), view.state === "work" ? "in progress" : view.state,
    view.complaint ? "" : `${percent(view.sure)} sure`, view.proved ? "" : "not proved"].filter(Boolean).join(" · ");
  $("written").textContent = view.written;
  $("lines").textContent = [...view.comments, ...view.tokens.map(([a, b, form]) => `${a}-${b}  ${form}`),
    ...view.empty.map(([after, form]) => `${after}.x  ${form}`)].join("\n") || "none";
  $("which").textContent = view.tree ? `tree ${view.tree + 1}${view.source && ` (${view.source})`}: differences marked` : "the tree";
  $("undo").disabled = !view.undo; $("redo").disabled = !view.redo;
  $("faults").replaceChildren(...(view.complaint ? [element("li", view.complaint)] : []), ...view.faults.map((fault) => {
    const item = element("li", fault.says ? `${fault.says} ` : "", { onclick: () => pick(fault.arcs[0]) });
    item.append(element("small", `${fault.name}: ${fault.where}`));
    return item;
  }));
  saving = view;
  tellSaved();
  draw($("drawing"), view);
  pick(other || !word ? leastSure() : Math.min(word, view.words));
}
function leastSure() { // also if only the head is fixed
  let best = 0;
  view.cells.forEach((cell, i) => { if (!cell.named && (!best || cell.sure < view.cells[best - 1].sure)) best = i + 1; });
  return best || 1;
}
const form = (i) => (i > 0 ? `\u2068${view.cells[i - 1].form}\u2069` : i ? "no head yet" : "the root"); // isolated: it may be right-to-left
function mark() {
  for (const [name, at] of [["chosen", word], ["armed", armed ? word : -1], ["target", armed ? target : -1]]) {
    for (const each of $("drawing").querySelectorAll(`.${name}`)) each.classList.remove(name);
    for (const key of ["word", "mod"]) $("drawing").querySelector(`[data-${key}="${at}"]`)?.classList.add(name);
  }
  $("box").classList.toggle("root", armed && !target);
  if (armed) say(`${form(word)} ← ${target === word ? "choose its head" : form(target)}`);
}
async function pick(i) {
  word = i; armed = false;
  mark();
  keepInView(i);
  const cell = view.cells[i - 1], mine = ++asking, { index, revision, tree } = view;
  $("panel").hidden = false;
  $("form").textContent = `${i} ${form(i)}`;
  $("arc").textContent = `← ${form(cell.head)}, ${cell.label}: ${$("drawing").querySelector(`[data-mod="${i}"]`)?.dataset.tip ?? ""}`;
  const banned = view.forbidden.filter(([, m]) => m === i).map(([head]) => form(head));
  $("forbidden").textContent = banned.length ? `not ← ${banned.join(", ")}` : "";
  for (const input of $("cells").querySelectorAll("input")) input.value = cell[input.dataset.column];
  $("filter").value = $("edge").value = "";
  $("graph").hidden = !view.graph;
  $("edges").replaceChildren(...cell.edges.map(([head, label, fixed]) => option(`${form(head)} ${head || ""} ${label}`,
    fixed ? "fixed" : "", fixed, () => act(fixed ? "release-edge" : "fix-edge", { word: i, head, label }))));
  const found = await ask(`sentences/${index + 1}/words/${i}?tree=${tree}`);
  if (mine === asking && view.index === index && view.revision === revision) { options = found; offer(); }
}
function option(text, share, now, act, key) {
  const made = element("button", undefined, { type: "button", className: now ? "now" : "", onclick: act });
  made.append(...(key ? [element("kbd", key)] : []), element("bdi", text), element("span", share));
  return made;
}
function offer() {
  const cell = view.cells[word - 1], text = $("filter").value.trim();
  $("free").textContent = cell.fixed ? "by the model" : "";
  $("heads").replaceChildren(...options.heads.map(([head, share], i) =>
    option(head ? `${form(head)} ${head}` : form(0), head === cell.head && cell.fixed ? "fixed" : percent(share), head === cell.head, () => fix(word, head), i + 1)));
  const found = options.labels.filter(([label]) => label.includes(text));
  if (text && !found.some(([label]) => label === text)) found.push([text, null]);
  $("labels").replaceChildren(...found.map(([label, share]) =>
    option(label, label === cell.label && cell.named ? "fixed" : share === null ? "" : percent(share), label === cell.label, () => name(label))));
}
function keepInView(i) {
  const x = centres[i - 1], box = $("box"), left = box.scrollLeft, width = box.clientWidth;
  if (x < left + 80 || x > left + width - 80) box.scrollLeft = x - width / 2;
}

// ---- acts ----
function act(kind, more) {
  const index = view.index;
  queue = queue.then(async () => {
    if (view.index !== index) return;
    try {
      const found = await patiently(ask(`sentences/${index + 1}`, { kind, revision: view.revision, tree: view.tree, ...more }));
      if (view.index !== index) return update([found]);
      say("");
      show(found);
      update([found]);
      setTimeout(() => poll().catch(() => {}), 150);
    } catch (error) {
      if (error.now) show(error.now);
      say(error.now ? "Changed in another window: this is the current state." : error.message, true);
    }
  });
  return queue;
}
function fix(i, head) {
  const cell = view.cells[i - 1], same = head === cell.head;
  return act("fix", { word: i, head, label: same ? cell.label : "" });
}
const join = (i, head, event) => (event.shiftKey && view.graph ? act("fix-edge", { word: i, head }) : fix(i, head));
const name = (label) => { $("box").focus(); return act("fix", { word, head: view.cells[word - 1].head, label }); };
function arm(i) { pick(i); armed = true; target = i; mark(); }
function press(key) { // handle a key; true if it is bound
  const cell = view?.cells[word - 1], n = view?.words;
  const forward = (key === "ArrowRight") !== view?.rtl;
  const keys = {
    n: () => step(1), p: () => step(-1), "/": () => $("query").focus(), "?": () => $("help").showModal(),
    z: () => act("undo"), y: () => act("redo"), a: () => act("accept"), R: () => act("release"),
    r: () => act("release", { word }), f: () => fix(word, cell.head),
    x: () => act("forbid", { word, head: cell.head }), "0": () => fix(word, 0),
    l: () => $("filter").focus(), g: () => $("edge").focus(), e: () => $("cells").querySelector("input").select(),
    " ": () => pick(leastSure()), Escape: () => { armed = false; say(""); mark(); $("box").focus(); },
    "[": () => view.tree && load(view.index, view.tree - 1), "]": () => load(view.index, view.tree + 1),
    Enter: () => { if (!armed) arm(word); else if (target === word) { armed = false; mark(); } else fix(word, target); },
  };
  if (key.startsWith("Arrow")) {
    if (key === "ArrowUp" || key === "ArrowDown" || !n) return false;
    if (armed) { target = Math.max(0, Math.min(n, target + (forward ? 1 : -1))); keepInView(target || 1); mark(); }
    else pick(Math.max(1, Math.min(n, word + (forward ? 1 : -1))));
  } else if (key >= "1" && key <= "9") { if (options.heads[key - 1]) fix(word, options.heads[key - 1][0]); }
  else if (keys[key] && (view || key === "?")) keys[key]();
  else return false;
  return true;
}
document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("input, select, dialog, #panel button, aside");
  if (event.key === "Escape" && !$("help").open) { event.target.blur?.(); press("Escape"); return; }
  if ((event.ctrlKey || event.metaKey) && "zy".includes(event.key.toLowerCase()) && !field) {
    press(event.key === "y" || event.shiftKey ? "y" : "z"); event.preventDefault();
  } else if (!field && !event.ctrlKey && !event.metaKey && !event.altKey
    && !(event.target.closest("button, summary") && [" ", "Enter"].includes(event.key)) && press(event.key)) event.preventDefault();
});
for (const kind of ["keydown", "pointerdown"]) // an error is shown until the next input
  document.addEventListener(kind, () => { if ($("status").classList.contains("bad") && !lost) say(""); }, true);
document.addEventListener("click", (event) => {
  const key = event.target.closest("[data-key]")?.dataset.key;
  if (key && view) { press(key); $("box").focus({ preventScroll: true }); }
});

// ---- mouse: click a word and its head, or drag; a label opens the list ----
const at = (event, key) => +(event.target.closest?.(`[data-${key}]`)?.dataset[key] ?? 0);
let drag = null;
$("drawing").addEventListener("pointerdown", (event) => {
  if (event.button) return;
  drag = { word: at(event, "word") || at(event, "mod"), x: event.clientX, y: event.clientY, line: null };
});
$("box").addEventListener("pointermove", (event) => {
  if (!drag?.word) return;
  const point = place($("drawing"), event);
  if (!drag.line) {
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 8) return;
    $("box").setPointerCapture(event.pointerId);
    drag.line = make($("drawing").firstChild, "line",
      { class: "rubber", x1: centres[drag.word - 1], y1: baseline - 16 });
    word = drag.word; armed = true;
  }
  drag.line.setAttribute("x2", point.x); drag.line.setAttribute("y2", point.y);
  target = nearest(point);
  mark();
});
$("box").addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { word: from, line } = drag, onWord = at(event, "word"), onArc = at(event, "mod");
  drag = null;
  line?.remove();
  if (line) { armed = false; if (target !== from) join(from, target, event); else mark(); return; }
  if (onWord) { if (armed && onWord !== word) join(word, onWord, event); else if (armed) { armed = false; say(""); mark(); } else arm(onWord); }
  else if (onArc) { pick(onArc); if (event.target.matches("text")) setTimeout(() => $("filter").focus()); }
  else if (armed && nearest(place($("drawing"), event)) === 0) join(word, 0, event);
});
$("box").addEventListener("pointercancel", () => { drag?.line?.remove(); drag = null; armed = false; mark(); });

$("cells").addEventListener("change", (event) =>
  act("cell", { word, column: event.target.dataset.column, value: event.target.value.trim() }));
$("cells").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.target.blur(); $("box").focus(); } });
$("filter").addEventListener("input", offer);
$("filter").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); $("labels").querySelector("button")?.click(); }
});
$("edge").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  const [, head, label] = /^\s*(\d+)(?::(\S+))?\s*$/.exec(event.target.value) ?? [];
  if (head === undefined) say("Expected the number of the head, or HEAD:LABEL.", true);
  else { $("box").focus(); act("fix-edge", { word, head: +head, label: label ?? "" }); }
});
$("keys").addEventListener("click", () => press("?"));
$("list").addEventListener("scroll", list);
$("list").addEventListener("keydown", (event) => {
  if (["ArrowDown", "ArrowUp"].includes(event.key)) { event.preventDefault(); step(event.key === "ArrowDown" ? 1 : -1); }
  if (event.key === "Enter") $("box").focus();
});
$("query").addEventListener("keydown", (event) => { if (event.key === "Enter" && shown.length) { open(shown[0].index); $("box").focus(); } });
for (const id of ["query", "by"]) $(id).addEventListener("input", search);
for (const id of ["order", "only"]) $(id).addEventListener("change", () => { $("list").scrollTop = 0; choose(); });
addEventListener("resize", list);
async function watch() {
  try {
    await poll();
    if (lost) { lost = false; say(""); }
    if (!view && rows.length) await open(0);
  } catch { lost = true; say("The server does not respond.", true); }
  setTimeout(watch, rows.some((row) => row.sure === null) ? 400 : 2000);
}
watch();
