"use strict";
// Adds clickable words, multiword tokens, empty nodes and broken rules to the drawing of a tree.
let centres = [], baseline = 0; // of the words
function make(parent, name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}
function draw(box, view) {
  box.replaceChildren(new DOMParser().parseFromString(view.svg, "image/svg+xml").documentElement);
  const svg = box.firstChild, forms = [...svg.querySelectorAll(".bbp-form")];
  centres = forms.map((form) => +form.getAttribute("x"));
  baseline = +forms[0].getAttribute("y");
  const widths = forms.map((form) => Math.max(form.getComputedTextLength(), 26) + 10); // one layout
  svg.prepend(...widths.map((width, i) => make(svg, "rect",
    { class: "word", "data-word": i + 1, x: centres[i] - width / 2, y: baseline - 17, width, height: 38, rx: 6 })));
  for (const arc of svg.querySelectorAll("[data-mod]")) {
    arc.removeAttribute("tabindex"); // the arrows choose arcs
    make(arc, "title", {}, arc.dataset.tip);
  }
  addOthers(svg, view);
  addFaults(svg, view.faults);
}
function addOthers(svg, { tokens, empty }) {
  for (const [first, last, form] of tokens) {
    const [left, right] = [centres[first - 1], centres[last - 1]].sort((a, b) => a - b);
    make(svg, "path", { class: "token", d: `M${left - 12} ${baseline + 21}v5H${right + 12}v-5` });
    make(svg, "text", { class: "note", x: (left + right) / 2, y: baseline + 37 }, form);
  }
  for (const [after, form] of empty) {
    const left = centres[after - 1] ?? centres[after] - 48, right = centres[after] ?? left + 48;
    make(svg, "text", { class: "note", x: (left + right) / 2, y: baseline + 37 }, `∅ ${form}`);
  }
}
function addFaults(svg, faults) { // at their arcs, on top, and within the image
  const told = new Set();
  for (const { arcs, says, name } of faults) {
    const label = svg.querySelector(`[data-mod="${arcs[0]}"] text`);
    if (!label || told.has(arcs[0])) continue;
    told.add(arcs[0]);
    const note = make(svg, "g", { class: "says" }), back = make(note, "rect", { height: 15, rx: 4 });
    const y = +label.getAttribute("y") - 13, text = make(note, "text", { y }, says || name);
    const half = text.getComputedTextLength() / 2 + 5, right = svg.width.baseVal.value - half - 2;
    const x = Math.max(half + 2, Math.min(+label.getAttribute("x"), right));
    text.setAttribute("x", x);
    for (const [key, value] of [["x", x - half], ["y", y - 11], ["width", 2 * half]]) back.setAttribute(key, value);
  }
}
function place(box, event) { // from screen to image coordinates
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(box.firstChild.getScreenCTM().inverse());
}
function nearest(point) { // the word at a point; the root above all arcs
  if (point.y < 8) return 0;
  const distances = centres.map((x) => Math.abs(x - point.x));
  return distances.indexOf(Math.min(...distances)) + 1;
}
