"use strict";
// Draws a sentence as words with arcs above them, and the arcs of another tree below. Positions come
// with the record; everything is made of elements and text nodes.
const SVG = "http://www.w3.org/2000/svg", RADIUS = 9, LONG = 520;
function make(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}
const certainty = ({ fixed, named, sure }) =>
  named ? "fixed" : `${fixed ? "head fixed, " : ""}${Math.round(100 * sure)} % sure`;
const grade = (sure) => (sure < 0.5 ? "c0" : sure < 0.8 ? "c1" : sure < 0.95 ? "c2" : "c3");
function route({ head, start, end, foot, top, below }) { // the line of an arc, and its arrow
  const up = below ? 1 : -1, base = foot + up * 7;
  const arrow = `M${end} ${foot + up}l-3.4 ${6 * up}h6.8z`;
  if (!head) return [`M${end} ${top}V${base}`, arrow];
  const side = end > start ? 1 : -1, r = Math.min(RADIUS, Math.abs(end - start) / 2), turn = top - up * r;
  return [`M${start} ${foot}V${turn}Q${start} ${top} ${start + side * r} ${top}H${end - side * r}`
    + `Q${end} ${top} ${end} ${turn}V${base}`, arrow];
}
function draw(svg, view) {
  const faults = new Map();
  for (const fault of view.faults) for (const m of fault.arcs) if (!faults.has(m)) faults.set(m, fault);
  const below = view.tokens.length || view.empty.length ? 22 : 0, height = view.height + below + 10;
  svg.replaceChildren();
  svg.setAttribute("width", view.width); svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 -10 ${view.width} ${height}`);
  svg.setAttribute("aria-label", view.cells.map((cell) => `${cell.form} depends on ${
    cell.head > 0 ? view.cells[cell.head - 1].form : "nothing"} as ${cell.label}`).join("; "));
  const words = view.cells.map((cell, i) => {
    const word = make(svg, "g", { class: "word", "data-word": i + 1 }), x = view.centres[i];
    const back = make(word, "rect", { y: view.baseline - 17, height: 38, rx: 6 });
    const form = make(word, "text", { class: "form", x, y: view.baseline }, cell.form);
    if (cell.form.length > 24) form.textContent = cell.form.slice(0, 23) + "…";
    if (cell.upos !== "_") make(word, "text", { class: "tag", x, y: view.baseline + 16 }, cell.upos);
    return [back, form, x];
  });
  const widths = words.map(([, form]) => Math.max(form.getComputedTextLength(), 26) + 10); // one layout
  words.forEach(([back, , x], i) => { back.setAttribute("x", x - widths[i] / 2); back.setAttribute("width", widths[i]); });
  const foot = view.baseline + 24;
  for (const [first, last, form] of view.tokens) {
    const xs = [view.centres[first - 1], view.centres[last - 1]].sort((a, b) => a - b);
    make(svg, "path", { class: "token", d: `M${xs[0] - 12} ${foot - 3}v5H${xs[1] + 12}v-5` });
    make(svg, "text", { class: "note", x: (xs[0] + xs[1]) / 2, y: foot + 13 }, form);
  }
  for (const [after, form] of view.empty) {
    const [a, b] = [view.centres[after - 1], view.centres[after]];
    const x = a === undefined ? b - 24 : b === undefined ? a + 24 : (a + b) / 2;
    make(svg, "text", { class: "note", x, y: foot + 13 }, `∅ ${form}`);
  }
  const said = [];
  for (const arc of view.arcs) {
    const cell = view.cells[arc.mod - 1], fault = arc.below ? undefined : faults.get(arc.mod);
    const kinds = ["arc", grade(cell.sure), arc.below && "below", arc.new && "new", fault && "broken",
      !arc.below && cell.fixed && "fixed"].filter(Boolean).join(" ");
    const group = make(svg, "g", arc.below ? { class: kinds } : { class: kinds, "data-arc": arc.mod });
    const [line, arrow] = route(arc), side = Math.sign(arc.start - arc.end);
    make(group, "path", { class: "line", d: line });
    make(group, "path", { class: "tip", d: arrow });
    make(group, "path", { class: "reach", d: line });
    const isLong = Math.abs(arc.start - arc.end) > LONG;  // the label stays near its word
    const x = !arc.head ? arc.end : isLong ? arc.end + side * 70 : (arc.start + arc.end) / 2;
    const y = arc.head ? arc.top + 4 : arc.below ? arc.top + 11 : arc.top - 4;
    make(group, "text", { x, y, class: "label" }, (fault ? "! " : "") + arc.label);
    if (fault && fault.arcs[0] === arc.mod) said.push([x, y - 13, fault.says || fault.name]);
    make(group, "title", {}, certainty(cell));
  }
  for (const [x, y, says] of said) { // above all arcs, and within the drawing
    const note = make(svg, "g", { class: "says" }), back = make(note, "rect", { y: y - 11, height: 15, rx: 4 });
    const text = make(note, "text", { y }, says), half = text.getComputedTextLength() / 2 + 5;
    const middle = Math.max(half + 2, Math.min(x, view.width - half - 2));
    text.setAttribute("x", middle);
    back.setAttribute("x", middle - half); back.setAttribute("width", 2 * half);
  }
}
function place(svg, event) { // a point of the screen in the drawing
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
}
function nearest(view, point) { // the word at a point; above all arcs the root
  if (point.y < 2) return 0;
  let best = 0, least = Infinity;
  view.centres.forEach((x, i) => { if (Math.abs(x - point.x) < least) { least = Math.abs(x - point.x); best = i + 1; } });
  return best;
}
