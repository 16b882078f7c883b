// An interactive Gantt chart. `root` holds gantt.html; `show` draws the data of one schedule.
function ganttChart(root) {
  const part = selector => root.querySelector(selector);
  const canvas = part("canvas"), context = canvas.getContext("2d"), main = part("main");
  const tip = part(".tip"), criticalButton = part(".critical");
  const TOP = 8, AXIS = 34, RIGHT = 24, ROW_MIN = 18, ROW_MAX = 64, MAX_HEIGHT = 16000;
  let data = null, n = 0, p = 0, horizon = 1, onChain = new Map(), parents = [], children = [];
  let ink, quiet, lane, grid, accent;
  let left = 72, rowHeight = ROW_MAX, width = 0, height = 0;
  let from = 0, to = 1;  // the visible interval of time
  let hovered = -1, showCritical = false, drag = null;

  const x = time => left + (time - from) / (to - from) * (width - left - RIGHT);
  const timeAt = px => from + (px - left) / (width - left - RIGHT) * (to - from);
  const y = q => TOP + q * rowHeight;
  const count = tasks => tasks.length === 1 ? "1 task" : `${tasks.length} tasks`;
  const number = value => String(parseFloat(value.toPrecision(6)));

  function show(given) {
    data = given;
    n = data.start.length; p = data.processors.length;
    horizon = Math.max(data.horizon, data.makespan) * 1.02 || 1;
    onChain = new Map(data.chain.map(([task, reason]) => [task, reason]));
    parents = data.start.map(() => []); children = data.start.map(() => []);
    data.edges.forEach(([u, v]) => { children[u].push(v); parents[v].push(u); });
    from = 0; to = horizon; hovered = -1; drag = null;
    part(".title").textContent = data.title;
    part(".figures").textContent = data.figures;
    canvas.setAttribute("aria-label", `Gantt chart: ${data.figures}, ${n} tasks on ${p} processors`);
    showLegend();
    layout();
  }

  function showLegend() {
    const entries = data.legend.map((label, i) => {
      const entry = document.createElement("li"), swatch = document.createElement("i");
      swatch.style.background = data.palette[i][0];
      entry.append(swatch, label);
      return entry;
    });
    if (!entries.length) {
      entries.push(document.createElement("li"));
      entries[0].textContent = `colour: ${data.colourMeans}`;
    }
    part(".legend").replaceChildren(...entries);
  }

  function layout() {
    if (!data || !main.clientWidth) return;
    const style = getComputedStyle(document.documentElement);
    [ink, quiet, lane, grid, accent] = ["--ink", "--quiet", "--lane", "--grid", "--accent"]
      .map(name => style.getPropertyValue(name).trim());
    const room = main.clientHeight - TOP - AXIS;
    rowHeight = Math.max(Math.min(ROW_MIN, MAX_HEIGHT / p), Math.min(ROW_MAX, room / p));
    width = main.clientWidth;
    height = TOP + p * rowHeight + AXIS;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio;
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
    const widest = data.processorLabels.reduce((w, s) => Math.max(w, context.measureText(s).width), 24);
    left = 24 + Math.min(160, 0.25 * width, widest);
    draw();
  }

  function draw() {
    context.clearRect(0, 0, width, height);
    drawFrame();
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left - RIGHT + 4, TOP + p * rowHeight);
    context.clip();
    for (let t = 0; t < n; t++) drawTask(t);
    if (showCritical) drawChain();
    if (hovered >= 0) drawEdges(hovered);
    line(x(data.makespan), TOP, x(data.makespan), TOP + p * rowHeight, accent, 1.5);
    context.restore();
  }

  function drawFrame() {
    context.textBaseline = "middle";
    for (let q = 0; q < p; q++) {
      context.fillStyle = lane;
      context.fillRect(left, y(q) + 2, width - left - RIGHT, rowHeight - 4);
      context.fillStyle = ink; context.textAlign = "right";
      context.fillText(fitting(data.processorLabels[q], left - 16), left - 8, y(q) + rowHeight / 2);
    }
    const step = niceStep((to - from) / Math.max(2, (width - left) / 110));
    context.textAlign = "center";
    for (let k = Math.ceil(from / step - 1e-9); k * step <= to; k++) {
      line(x(k * step), TOP, x(k * step), TOP + p * rowHeight, grid, 1);
      context.fillStyle = quiet;
      context.fillText(number(k * step), x(k * step), TOP + p * rowHeight + 12);
    }
  }

  function niceStep(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find(m => m * power >= rough * 0.999);
  }

  function drawTask(t) {
    const x0 = x(data.start[t]), x1 = Math.max(x(data.finish[t]), x0 + 1);
    if (x1 < left || x0 > width) return;
    const [fill, text] = data.palette[data.colour[t]];
    const gap = Math.min(4, 0.2 * rowHeight);
    context.globalAlpha = showCritical && !onChain.has(t) && t !== hovered ? 0.22 : 1;
    context.fillStyle = fill;
    context.fillRect(x0, y(data.processor[t]) + gap, Math.max(x1 - x0 - 0.6, 0.8), rowHeight - 2 * gap);
    if (t === hovered) outline(t, ink);
    const shownLeft = Math.max(x0, left), room = Math.min(x1, width - RIGHT) - shownLeft - 6;
    if (room > 8 && rowHeight >= ROW_MIN) {
      context.fillStyle = text;
      context.textAlign = "center"; context.textBaseline = "middle";
      context.fillText(fitting(data.taskLabels[t], room), shownLeft + room / 2 + 3, y(data.processor[t]) + rowHeight / 2 + 0.5);
    }
    context.globalAlpha = 1;
  }

  // The label, or its ends, or the number at its end, or nothing.
  function fitting(label, room) {
    const widthOf = text => context.measureText(text).width;
    const whole = widthOf(label);
    if (whole <= room) return label;
    const last = /\d[\d.,]*(?=\)?$)/.exec(label)?.[0] ?? "";
    const least = Math.max(8, 2 * last.length + 2);  // so many that the number stays whole
    for (let letters = Math.ceil(label.length * room / whole); letters >= least; letters--) {
      const tail = Math.floor(letters / 2);
      const ends = label.slice(0, letters - 1 - tail) + "…" + label.slice(label.length - tail);
      if (widthOf(ends) <= room) return ends;
    }
    return widthOf(last) <= room ? last : "";
  }

  function outline(t, colour) {
    context.strokeStyle = colour; context.lineWidth = 2;
    const x0 = x(data.start[t]), x1 = Math.max(x(data.finish[t]), x0 + 1);
    const gap = Math.min(4, 0.2 * rowHeight);
    context.strokeRect(x0, y(data.processor[t]) + gap, x1 - x0, rowHeight - 2 * gap);
  }

  function drawChain() {
    data.chain.forEach(([task, reason], i) => {
      outline(task, accent);
      if (i > 0 && reason === "data") connect(data.chain[i - 1][0], task, accent, []);
    });
  }

  function drawEdges(t) {
    parents[t].forEach(u => connect(u, t, ink, []));
    children[t].forEach(v => connect(t, v, ink, [4, 3]));
  }

  function connect(u, v, colour, dash) {
    const middle = t => y(data.processor[t]) + rowHeight / 2;
    context.setLineDash(dash);
    line(x(data.finish[u]), middle(u), x(data.start[v]), middle(v), colour, 1.6);
    context.setLineDash([]);
    context.beginPath();
    context.arc(x(data.start[v]), middle(v), 3, 0, 2 * Math.PI);
    context.fillStyle = colour; context.fill();
  }

  function line(x0, y0, x1, y1, colour, thickness) {
    context.strokeStyle = colour; context.lineWidth = thickness;
    context.beginPath(); context.moveTo(x0, y0); context.lineTo(x1, y1); context.stroke();
  }

  function taskAt(px, py) {
    const q = Math.floor((py - TOP) / rowHeight), slack = 1.5;
    for (let t = n - 1; t >= 0; t--)
      if (data.processor[t] === q && px >= x(data.start[t]) - slack
          && px <= Math.max(x(data.finish[t]), x(data.start[t]) + 1) + slack) return t;
    return -1;
  }

  function zoom(factor, at) {
    const span = Math.min((to - from) * factor, horizon);
    if (span < horizon * 1e-6) return;
    const share = (at - from) / (to - from);
    from = at - share * span; to = from + span;
    keepInside();
  }

  function keepInside() {
    const span = to - from;
    from = Math.max(0, Math.min(from, horizon - span)); to = from + span;
    draw();
  }

  function move(share) {
    const by = share * (to - from);
    from += by; to += by;
    keepInside();
  }

  function fitAll() { from = 0; to = horizon; draw(); }

  function toggleCritical() {
    showCritical = !showCritical;
    criticalButton.setAttribute("aria-pressed", String(showCritical));
    draw();
  }

  function showTip(event) {
    tip.replaceChildren();
    tip.style.display = hovered < 0 ? "none" : "block";
    if (hovered < 0) return;
    const reason = onChain.get(hovered), kind = data.legend[data.colour[hovered]];
    const rows = [["processor", data.processors[data.processor[hovered]]],
      ["start", number(data.start[hovered])], ["finish", number(data.finish[hovered])],
      ["duration", number(data.finish[hovered] - data.start[hovered])],
      ["waits for", count(parents[hovered])], ["feeds", count(children[hovered])]];
    if (kind) rows.unshift(["kind", kind]);
    if (reason) rows.push(["critical", reason === "nothing" ? "begins the path" : `waits for its ${reason}`]);
    const name = document.createElement("b"), table = document.createElement("table");
    name.textContent = data.tasks[hovered];
    rows.forEach(cells => {
      const row = table.insertRow();
      cells.forEach(text => { row.insertCell().textContent = text; });
    });
    tip.append(name, table);
    tip.style.left = Math.max(8, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(8, Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8)) + "px";
  }

  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.0015), timeAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => {
    drag = { x: event.clientX, from, to };
    canvas.setPointerCapture(event.pointerId);
    canvas.style.cursor = "grabbing";
  });
  canvas.addEventListener("pointerup", () => { drag = null; canvas.style.cursor = "grab"; });
  canvas.addEventListener("pointermove", event => {
    if (drag) {
      const by = (drag.x - event.clientX) / (width - left - RIGHT) * (drag.to - drag.from);
      from = drag.from + by; to = drag.to + by;
      keepInside();
    }
    const before = hovered;
    hovered = drag ? -1 : taskAt(event.offsetX, event.offsetY);
    if (hovered !== before) draw();
    showTip(event);
  });
  canvas.addEventListener("pointerleave", event => { hovered = -1; showTip(event); draw(); });
  document.addEventListener("keydown", event => {
    const elsewhere = !main.clientWidth || event.target.tagName === "SELECT";
    if (elsewhere || event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = (from + to) / 2;
    const action = { "+": () => zoom(0.7, middle), "=": () => zoom(0.7, middle), "-": () => zoom(1 / 0.7, middle),
      ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), "0": fitAll, c: toggleCritical }[event.key];
    if (action) action();
  });
  criticalButton.addEventListener("click", toggleCritical);
  part(".fit").addEventListener("click", fitAll);
  new ResizeObserver(layout).observe(main);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", layout);
  return { show };
}
