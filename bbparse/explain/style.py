"""Style and script of the page. No fonts, no images, no network: only what stands here."""

from __future__ import annotations

__all__ = ["CSS", "SCRIPT"]

CSS = """
:root { color-scheme: light dark;
  --paper: #faf9f6; --card: #ffffff; --ink: #1a1d21; --soft: #5b626d; --line: #e3e0d9;
  --wash: #f1efe9; --accent: #0b6e62; --doubt: #b34a00; --upper: #a8325e; --lower: #0b6e62;
  --between: #0b6e6214; --focus: #1d5fd1; --shade: #1a1d2118;
  --s0: #e9e6de; --s1: #d3dfe6; --s2: #b4cbd8; --s3: #8fb2c6; --s4: #6a97b1; --s5: #467b98;
  --serif: ui-serif, "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #121417; --card: #181b1f; --ink: #e9e6e0; --soft: #9ba2ac; --line: #2c3036;
  --wash: #20242a; --accent: #57cbb6; --doubt: #f2a765; --upper: #f08cb0; --lower: #57cbb6;
  --between: #57cbb61a; --focus: #8ab4ff; --shade: #0009;
  --s0: #2a2e34; --s1: #33485a; --s2: #365468; --s3: #39617a; --s4: #457d9c; --s5: #5b9cbf; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 var(--sans);
  overflow-wrap: break-word; }
main, header, footer { max-width: 75rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 3rem); }
header { padding-top: clamp(1.75rem, 5vw, 4rem); }
.over { margin: 0 0 .9rem; color: var(--soft); font-size: .82rem; letter-spacing: .02em; }
.over b { color: var(--accent); font-weight: 650; }
h1 { margin: 0; max-width: 36em; font: 500 clamp(1.45rem, 1rem + 1.9vw, 2.25rem)/1.3 var(--serif);
  text-wrap: pretty; }
h1.long { font-size: clamp(1.25rem, 1rem + 1vw, 1.65rem); line-height: 1.42; }
.verdict { max-width: 44rem; margin: 1.4rem 0 0; font-size: 1.08rem; }
.verdict + .scope { max-width: 44rem; margin: .6rem 0 0; color: var(--soft); }
em { font: italic 1.04em var(--serif); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.2rem, 1fr)); gap: 0 1.5rem;
  margin: 2.2rem 0 0; padding: 0; border-top: 1px solid var(--line); }
.facts div { padding: .95rem 0 .2rem; }
.facts dt { color: var(--soft); font-size: .82rem; }
.facts dd { margin: .1rem 0 0; font: 500 1.42rem/1.25 var(--serif);
  font-variant-numeric: tabular-nums lining-nums; }
.facts small { color: var(--soft); font: .82rem var(--sans); white-space: nowrap; }
section { margin-top: clamp(2.6rem, 6vw, 4.5rem); }
h2 { margin: 0; font: 600 1.32rem/1.3 var(--serif); }
h3 { margin: 2rem 0 .2rem; font: 600 1.04rem/1.4 var(--sans); }
h2 + p, h3 + p { margin-top: .35rem; }
p { max-width: 44rem; margin: .7rem 0; }
.soft { color: var(--soft); }
.box { margin: 1.1rem 0 0; padding: 1.1rem 1rem; overflow-x: auto; overscroll-behavior-x: contain;
  border: 1px solid var(--line); border-radius: 12px; background-color: var(--card);
  background-image: linear-gradient(90deg, var(--card) 40%, transparent),
    linear-gradient(270deg, var(--card) 40%, transparent),
    linear-gradient(90deg, var(--shade), transparent),
    linear-gradient(270deg, var(--shade), transparent);
  background-position: left, right, left, right; background-repeat: no-repeat;
  background-size: 3rem 100%, 3rem 100%, 1.1rem 100%, 1.1rem 100%;
  background-attachment: local, local, scroll, scroll; }
.box svg { display: block; margin: 0 auto; }
.box:focus-visible, summary:focus-visible, a:focus-visible { outline: 2px solid var(--focus);
  outline-offset: 2px; border-radius: 6px; }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1.4rem; margin: .8rem 0 0; padding: 0;
  list-style: none; color: var(--soft); font-size: .86rem; }
.key i { display: inline-block; width: 1.5em; height: .62em; margin-right: .5em; border-radius: 2px;
  vertical-align: .04em; }
.key i.rule { height: 0; border-top: 2.4px solid; border-radius: 0; vertical-align: .28em; }
.num { font-variant-numeric: tabular-nums; white-space: nowrap; }
/* arc diagrams */
svg.bbp { font-family: var(--sans); color: var(--ink); max-width: none; }
.bbp-form { fill: currentColor; font-size: 16px; text-anchor: middle; }
.bbp-tag { fill: var(--soft); font-size: 10px; text-anchor: middle; letter-spacing: .04em; }
.bbp-arc { color: var(--soft); outline: none; }
.bbp-arc path { fill: none; stroke: currentColor; stroke-width: 1.4; }
.bbp-arc path.bbp-tip { fill: currentColor; stroke: none; }
.bbp-arc path.bbp-target { stroke: transparent; stroke-width: 13; pointer-events: stroke; }
.bbp-arc text { fill: currentColor; font-size: 11px; text-anchor: middle; }
.bbp-arc.root { color: var(--ink); }
.bbp-arc.root path:not(.bbp-target) { stroke-width: 2; }
.bbp-arc.root text { font-weight: 650; }
.bbp-arc.forced path { opacity: .5; }
.bbp-arc.close, .bbp-arc.other { color: var(--doubt); }
.bbp-arc.close path:not(.bbp-target), .bbp-arc.other path:not(.bbp-target) { stroke-width: 2.1; }
.bbp-arc.close text, .bbp-arc.other text { font-weight: 650; }
.bbp-arc.gone path:not(.bbp-tip) { stroke-dasharray: 4 3.5; }
.bbp-arc[tabindex]:hover, .bbp-arc[tabindex]:focus { color: var(--accent); }
.bbp-arc[tabindex]:hover path:not(.bbp-target), .bbp-arc[tabindex]:focus path:not(.bbp-target) {
  stroke-width: 2.4; opacity: 1; }
.bbp-arc[tabindex] { cursor: help; }
pre.lines { width: max-content; margin: 0 auto; color: var(--ink); font: .82rem/1.2 var(--mono); }
/* rows of arcs and terms */
.rows { margin: 1.1rem 0 0; border-top: 1px solid var(--line); }
.rows details { border-bottom: 1px solid var(--line); }
.rows summary, .rows .head { display: grid; align-items: baseline; gap: 0 1rem; padding: .42rem 0;
  grid-template-columns: 2.6rem minmax(9rem, 1.3fr) 6.5rem minmax(6rem, 2fr) minmax(9rem, 1.4fr); }
.rows .head { color: var(--soft); font-size: .82rem; border-bottom: 1px solid var(--line); }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
.rows summary:hover { background: var(--wash); }
.rows .id { color: var(--soft); font-size: .82rem; }
.rows summary .id::after { content: "›"; display: inline-block; margin-left: .35rem;
  font-size: 1.1rem; line-height: 1; transition: transform .15s; }
.rows details[open] > summary .id::after { transform: rotate(90deg); }
.rows .from { color: var(--soft); }
.rows .label { color: var(--soft); font-size: .86rem; }
.bar { position: relative; display: flex; align-items: center; gap: .6rem; }
.bar i { flex: none; height: .6rem; min-width: 2px; background: var(--s5); border-radius: 2px; }
.bar.minus i, .bar.close i { background: var(--doubt); }
.bar.close .num { color: var(--doubt); font-weight: 600; }
.why { padding: .3rem 0 1.1rem 3.6rem; font-size: .92rem; }
.why p { margin: .3rem 0; }
table { border-collapse: collapse; font-size: .92rem; }
th { padding: .3rem 1.2rem .3rem 0; color: var(--soft); font-weight: 500; font-size: .82rem;
  text-align: left; vertical-align: bottom; }
td { padding: .3rem 1.2rem .3rem 0; border-top: 1px solid var(--line); vertical-align: top; }
th.r, td.r { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.wide { min-width: 15rem; }
.feature { font: .82rem/1.5 var(--mono); color: var(--soft); overflow-wrap: anywhere; }
.pro { color: var(--accent); } .con { color: var(--doubt); }
.two h3 { margin-top: 1rem; }
.two { display: grid; gap: 0 2.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); }
.two.uneven { grid-template-columns: minmax(0, 2fr) minmax(min(100%, 19rem), 1fr); }
details.more { margin: 1rem 0 0; }
details.more > summary { display: inline-block; color: var(--accent); font-size: .92rem; }
details.more > summary::before { content: "+ "; }
details.more[open] > summary::before { content: "− "; }
/* charts */
.chart { font-family: var(--sans); max-width: none; }
.chart text { fill: var(--soft); font-size: 11px; text-anchor: middle;
  font-variant-numeric: tabular-nums; }
.chart text.end { text-anchor: end; } .chart text.start { text-anchor: start; }
.chart .grid { stroke: var(--line); }
.chart .upper { stroke: var(--upper); } .chart .lower { stroke: var(--lower); }
.chart path.upper, .chart path.lower { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.chart .between { fill: var(--between); }
.chart .dot { fill: var(--card); stroke-width: 2.2; cursor: help; outline: none; }
.chart .dot:hover, .chart .dot:focus { fill: currentColor; r: 5.5px; }
.chart .edge { fill: none; stroke: var(--soft); stroke-width: 1.3; }
.chart .node { cursor: help; outline: none; }
.chart .node rect { fill: var(--wash); stroke: var(--line); }
.chart .node.split rect { fill: var(--card); stroke: var(--soft); }
.chart .node.open rect { fill: var(--card); stroke: var(--upper); stroke-width: 2; }
.chart .node:hover rect, .chart .node:focus rect { stroke: var(--accent); stroke-width: 2.2; }
.chart .node .name { fill: var(--ink); font-weight: 600; font-size: 11.5px; }
.chart .field { fill: var(--wash); }
.chart .cell { cursor: help; } .chart .cell:hover { stroke: var(--ink); stroke-width: 1.5; }
.s0 { fill: var(--s0); background: var(--s0); } .s1 { fill: var(--s1); background: var(--s1); }
.s2 { fill: var(--s2); background: var(--s2); } .s3 { fill: var(--s3); background: var(--s3); }
.s4 { fill: var(--s4); background: var(--s4); } .s5 { fill: var(--s5); background: var(--s5); }
.kept { fill: var(--accent); background: var(--accent); }
.alive { fill: var(--doubt); background: var(--doubt); }
#tip { position: fixed; z-index: 9; max-width: min(22rem, calc(100vw - 24px)); padding: .5rem .7rem;
  background: var(--ink); color: var(--paper); border-radius: 8px;
  font-size: .86rem; line-height: 1.45; pointer-events: none; }
#tip[hidden] { display: none; }
footer { margin-top: clamp(3rem, 7vw, 5rem); padding-top: 1.4rem; padding-bottom: 3rem;
  color: var(--soft); font-size: .86rem; }
footer dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.2rem;
  margin: 1rem 0; }
footer dd { margin: 0; }
dfn { color: var(--ink); font-style: normal; font-weight: 600; }
@media (max-width: 44rem) {
  .two.uneven { grid-template-columns: minmax(0, 1fr); }
  .rows .head { display: none; }
  .rows summary { grid-template-columns: 2.2rem 1fr auto; gap: 0 .7rem; padding: .6rem 0; }
  .rows .loss { grid-column: 2 / 4; } .rows .instead { grid-column: 2 / 4; font-size: .88rem; }
  .rows .other::before { content: "instead: "; color: var(--soft); }
  .rows .never { display: none; }
  pre.lines { font-size: .7rem; }
  .why { padding-left: 0; } .box { border-radius: 10px; padding: .9rem .7rem; }
  footer dl { grid-template-columns: 1fr; } footer dd { margin-bottom: .5rem; }
}
@media print { .box { overflow: visible; } body { background: #fff; } }
"""

SCRIPT = """
(() => {
  const tip = document.getElementById("tip");
  let shown = null;
  const hide = () => { tip.hidden = true; shown = null; };
  const show = (target) => {
    shown = target;
    tip.textContent = target.dataset.tip;
    tip.hidden = false;
    const at = target.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const x = Math.min(Math.max(12, at.left + at.width / 2 - own.width / 2), wide - own.width - 12);
    const y = at.top - own.height - 8;
    tip.style.left = Math.max(12, x) + "px";
    tip.style.top = (y < 8 ? Math.min(at.bottom + 8, innerHeight - own.height - 8) : y) + "px";
  };
  const of = (event) => event.target.closest && event.target.closest("[data-tip]");
  document.querySelectorAll("[data-tip] > title").forEach((title) => title.remove());
  for (const kind of ["pointerover", "focusin", "click"])
    document.addEventListener(kind, (event) => { const t = of(event); t ? show(t) : hide(); });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  for (const box of document.querySelectorAll(".box")) {
    const first = box.querySelector(".other, .gone");
    if (first && box.scrollWidth > box.clientWidth) {
      // where the arc arrives: all of a long one does not fit
      const tip = first.querySelector(".bbp-tip") || first;
      const at = tip.getBoundingClientRect(), own = box.getBoundingClientRect();
      box.scrollLeft += at.left + at.width / 2 - own.left - own.width / 2;
    }
  }
  const scrolled = () => { if (shown) hide(); };
  document.addEventListener("scroll", scrolled, { capture: true, passive: true });
})();
"""
