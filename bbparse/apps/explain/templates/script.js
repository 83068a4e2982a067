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
