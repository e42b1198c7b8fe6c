// The page is complete without this: it adds a switch of the theme, tool tips that come at once, and zoom.
(() => {
  'use strict';
  const root = document.documentElement;

  // ---- theme ----
  const toggle = document.getElementById('theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.theme || (dark.matches ? 'dark' : 'light')) === 'dark';
  const say = () => { toggle.textContent = isDark() ? 'Light' : 'Dark'; toggle.setAttribute('aria-label', `Show the page in ${isDark() ? 'light' : 'dark'} colours`); };
  toggle.addEventListener('click', () => { root.dataset.theme = isDark() ? 'light' : 'dark'; say(); });
  dark.addEventListener('change', say);
  toggle.hidden = false;
  say();

  // ---- paper has no folds ----
  let folded = [];
  addEventListener('beforeprint', () => { folded = [...document.querySelectorAll('details:not([open])')]; folded.forEach((it) => { it.open = true; }); });
  addEventListener('afterprint', () => { folded.forEach((it) => { it.open = false; }); });

  // ---- tool tips: the title of a shape, beside the pointer ----
  const tip = document.getElementById('tip');
  const texts = new WeakMap();
  const textOf = (shape) => {
    const title = shape.querySelector(':scope > title');
    // Taken away, so that the browser does not show it as well.
    if (title) { texts.set(shape, title.textContent); title.remove(); }
    return texts.get(shape);
  };
  const move = (event) => {
    const shape = event.target.closest && event.target.closest('rect, line, use, path');
    const text = shape && textOf(shape);
    if (!text) { tip.hidden = true; return; }
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 12, innerWidth - box.width - 4);
    const below = event.clientY + 18;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 10 : below}px`;
  };
  document.addEventListener('pointermove', move);
  document.addEventListener('scroll', () => { tip.hidden = true; }, { passive: true });
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') { tip.hidden = true; } });

  // ---- time lines ----
  const MIN_WIDTH = 420;
  const SVG = 'http://www.w3.org/2000/svg';
  const ms = (ns, step) => {
    const places = Math.max(0, Math.min(6, Math.ceil(6 - Math.log10(step) - 1e-9)));
    return (ns / 1e6).toFixed(places).replace('-', '−');
  };
  const make = (name, attributes) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) { node.setAttribute(key, value); }
    return node;
  };

  const zoomable = (figure) => {
    const svg = figure.querySelector('.scroll > svg');
    const box = figure.querySelector('.scroll');
    const plot = svg.querySelector('.plot');
    const axis = svg.querySelector('.axis');
    const output = figure.querySelector('output');
    const [from, until, left, right, bottom] = ['from', 'until', 'left', 'right', 'bottom'].map((key) => Number(svg.dataset[key]));
    const height = svg.viewBox.baseVal.height;
    const base = Number(plot.getAttribute('width'));
    // Places as parts of the window: they are linear in time.
    const pieces = [...svg.querySelectorAll('.pieces > rect, .pieces > use')].map((node) => ({
      node, x: Number(node.getAttribute('x')) / base, width: node.tagName === 'rect' ? Number(node.getAttribute('width')) / base : -1,
    }));
    const lanes = [...svg.querySelectorAll('.lane')];
    const whole = until - from;
    const least = Math.min(1, 1000 / whole);
    let start = 0;
    let part = 1;

    const draw = () => {
      part = Math.min(1, Math.max(least, part));
      start = Math.min(1 - part, Math.max(0, start));
      const width = Math.max(MIN_WIDTH, box.clientWidth);
      const inner = width - left - right;
      svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
      svg.setAttribute('width', width);
      plot.setAttribute('width', inner);
      lanes.forEach((lane) => lane.setAttribute('width', width));
      for (const piece of pieces) {
        const x = (piece.x - start) / part * inner;
        const end = piece.width < 0 ? x : x + Math.max(0.6, piece.width / part * inner);
        const seen = end > -12 && x < inner + 12;
        piece.node.style.display = seen ? '' : 'none';
        if (!seen) { continue; }
        const first = piece.width < 0 ? x : Math.max(-12, x);
        piece.node.setAttribute('x', first.toFixed(2));
        if (piece.width >= 0) { piece.node.setAttribute('width', (Math.min(inner + 12, end) - first).toFixed(2)); }
      }
      const shown = { from: from + start * whole, until: from + (start + part) * whole };
      const wanted = (shown.until - shown.from) / Math.max(2, inner / 90);
      const ten = 10 ** Math.floor(Math.log10(Math.max(1, wanted)));
      const step = [1, 2, 5, 10].map((it) => it * ten).find((it) => it >= wanted) || 10 * ten;
      axis.replaceChildren();
      for (let at = Math.ceil(shown.from / step) * step; at <= shown.until; at += step) {
        const x = (at - shown.from) / (shown.until - shown.from) * inner;
        axis.append(make('line', { class: 'grid', x1: x, x2: x, y1: 6, y2: bottom }));
        const side = x < 24 ? '' : x > inner - 24 ? ' end' : ' middle';
        const text = make('text', { class: `tick${side}`, x, y: bottom + 18 });
        text.textContent = ms(at, step);
        axis.append(text);
      }
      const exact = (shown.until - shown.from) / 1000;
      output.textContent = `${ms(shown.from, exact)} to ${ms(shown.until, exact)} ms`;
    };

    const zoom = (factor, around = 0.5) => {
      const before = part;
      part = Math.min(1, Math.max(least, part * factor));
      start += around * (before - part);
      draw();
    };
    const pan = (by) => { start += by * part; draw(); };
    const actions = {
      in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.25), right: () => pan(0.25), all: () => { part = 1; draw(); },
    };
    const keys = { '+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'left', ArrowRight: 'right', 0: 'all' };
    figure.querySelector('.zoom').addEventListener('click', (event) => {
      const action = event.target.dataset && event.target.dataset.zoom;
      if (action) { actions[action](); }
    });
    box.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) { return; }
      event.preventDefault();
      actions[keys[event.key]]();
    });
    const place = (event) => {
      const bounds = svg.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - bounds.left - left) / (bounds.width - left - right)));
    };
    svg.addEventListener('wheel', (event) => {
      // Without a key the page scrolls.
      if (!event.ctrlKey && !event.metaKey) { return; }
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.8 : 1.25, place(event));
    }, { passive: false });
    svg.addEventListener('dblclick', (event) => zoom(0.5, place(event)));
    let grip = null;
    svg.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) { return; }
      grip = { x: event.clientX, start };
      svg.setPointerCapture(event.pointerId);
      svg.classList.add('dragged');
    });
    svg.addEventListener('pointermove', (event) => {
      if (!grip) { return; }
      const inner = svg.getBoundingClientRect().width - left - right;
      start = grip.start - (event.clientX - grip.x) / inner * part;
      draw();
    });
    const drop = () => { grip = null; svg.classList.remove('dragged'); };
    svg.addEventListener('pointerup', drop);
    svg.addEventListener('pointercancel', drop);

    figure.classList.add('live');
    figure.querySelector('.zoom').hidden = false;
    new ResizeObserver(draw).observe(box);
    draw();
  };
  document.querySelectorAll('.timeline').forEach(zoomable);
})();
