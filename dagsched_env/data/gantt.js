// An interactive Gantt chart. `root` holds gantt.html; `show` draws the data of one schedule.
// Where tasks may overlap, `lanes` of the data says which lanes of its processor each task takes, and below the lanes
// there is a strip for the use of each resource that they do not show.
function ganttChart(root) {
  const part = selector => root.querySelector(selector);
  const canvas = part("canvas"), context = canvas.getContext("2d"), main = part("main");
  const tip = part(".tip"), criticalButton = part(".critical");
  const TOP = 8, AXIS = 34, RIGHT = 24, ROW_MIN = 18, ROW_MAX = 64, MAX_HEIGHT = 16000;
  const LANE_MIN = 6, LANE_MAX = 40, STRIP = 32, GAP = 12, MAX_STRETCH = 8, LABEL_MIN = 9;
  let data = null, n = 0, p = 0, horizon = 1, onChain = new Map(), parents = [], children = [];
  let ink, quiet, lane, grid, accent;
  let left = 72, width = 0, height = 0, bottom = 0;
  let tops = [], heights = [], boxes = [], strips = [];  // of processors; of tasks; of resources
  let order = [], stretch = 1;  // in which tasks are drawn; how much higher lanes are than they begin
  let from = 0, to = 1;  // the visible interval of time
  let hovered = -1, showCritical = false, drag = null;

  const x = time => left + (time - from) / (to - from) * (width - left - RIGHT);
  const timeAt = px => from + (px - left) / (width - left - RIGHT) * (to - from);
  const count = tasks => tasks.length === 1 ? "1 task" : `${tasks.length} tasks`;
  const number = value => String(parseFloat(value.toPrecision(6)));

  function show(given) {
    data = given;
    n = data.start.length; p = data.processors.length;
    horizon = Math.max(data.horizon, data.makespan) * 1.02 || 1;
    onChain = new Map(data.chain.map(([task, reason]) => [task, reason]));
    parents = data.start.map(() => []); children = data.start.map(() => []);
    data.edges.forEach(([u, v]) => { children[u].push(v); parents[v].push(u); });
    from = 0; to = horizon; hovered = -1; drag = null; stretch = 1;
    const brief = t => data.lanes && data.finish[t] <= data.start[t] ? 1 : 0;  // they come last, on top of the others
    order = data.start.map((_, t) => t).sort((t, u) => brief(t) - brief(u) || t - u);
    part(".stretch").hidden = !data.lanes;
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
    if (data.lanes) stackRows(); else equalRows();
    width = main.clientWidth;
    height = bottom + AXIS;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio;
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
    const rowLabels = [...data.processorLabels, ...strips.map(strip => strip.label)];
    const widest = rowLabels.reduce((w, s) => Math.max(w, context.measureText(s).width), 24);
    left = 24 + Math.min(160, 0.25 * width, widest);
    draw();
  }

  function equalRows() {
    const room = main.clientHeight - TOP - AXIS;
    const each = Math.max(Math.min(ROW_MIN, MAX_HEIGHT / p), Math.min(ROW_MAX, room / p)), gap = Math.min(4, 0.2 * each);
    tops = data.processors.map((_, q) => TOP + q * each);
    heights = tops.map(() => each);
    boxes = data.processor.map(q => [[tops[q] + gap, each - 2 * gap]]);
    strips = [];
    bottom = TOP + p * each;
  }

  function stackRows() {
    const { pieces, height: counts, unit } = data.lanes;
    const shown = data.resources.map((_, r) => r)  // no curve of what no task uses
      .filter(r => (unit === null || r > 0) && data.demands.some(needs => needs[r] > 0));
    const total = counts.reduce((sum, count) => sum + count, 0), below = shown.length * (STRIP + GAP / 2) + GAP;
    const room = main.clientHeight - TOP - AXIS - p * below, tallest = Math.max(1, (MAX_HEIGHT - p * below) / total);
    const lane = Math.min(tallest, Math.max(LANE_MIN, Math.min(LANE_MAX, room / total)) * stretch);
    tops = []; heights = []; strips = []; bottom = TOP;
    counts.forEach((count, q) => {
      tops.push(bottom); heights.push(count * lane);
      bottom += count * lane;
      shown.forEach(r => {
        const limit = data.capacities[q][r], full = limit ?? Math.max(...data.use[q].amount.map(row => row[r]));
        const label = `${data.resources[r]}${limit === null ? ", peak" : " ≤"} ${number(full)}`;
        strips.push({ q, r, label, top: bottom + GAP / 2, limited: limit !== null, full: full || 1 });
        bottom += STRIP + GAP / 2;
      });
      bottom += GAP;
    });
    boxes = data.start.map(() => []);
    pieces.forEach(([t, first, count]) => boxes[t].push([tops[data.processor[t]] + first * lane, count * lane]));
  }

  function draw() {
    context.clearRect(0, 0, width, height);
    drawFrame();
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left - RIGHT + 4, bottom);
    context.clip();
    strips.forEach(drawUse);
    order.forEach(drawTask);
    if (showCritical) drawChain();
    if (hovered >= 0) drawEdges(hovered);
    line(x(data.makespan), TOP, x(data.makespan), bottom, accent, 1.5);
    context.restore();
  }

  function drawFrame() {
    context.textBaseline = "middle";
    for (let q = 0; q < p; q++) {
      const margin = data.lanes ? 0 : 2, share = data.lanes ? data.lanes.inside[q] / data.lanes.height[q] : 1;
      context.fillStyle = lane;
      context.fillRect(left, tops[q] + margin, width - left - RIGHT, heights[q] * share - 2 * margin);
      context.fillStyle = ink; context.textAlign = "right";
      context.fillText(fitting(data.processorLabels[q], left - 16), left - 8, tops[q] + heights[q] / 2);
    }
    strips.forEach(strip => {
      context.fillStyle = quiet;
      context.fillText(fitting(strip.label, left - 16), left - 8, strip.top + STRIP / 2);
    });
    const step = niceStep((to - from) / Math.max(2, (width - left) / 110));
    context.textAlign = "center";
    for (let k = Math.ceil(from / step - 1e-9); k * step <= to; k++) {
      line(x(k * step), TOP, x(k * step), bottom, grid, 1);
      context.fillStyle = quiet;
      context.fillText(number(k * step), x(k * step), bottom + 12);
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
    const shownLeft = Math.max(x0, left), room = Math.min(x1, width - RIGHT) - shownLeft - 6;
    context.globalAlpha = showCritical && !onChain.has(t) && t !== hovered ? 0.22 : 1;
    boxes[t].forEach(([top, high]) => {
      const edge = data.lanes ? Math.min(0.6, 0.1 * high) : 0;  // between lanes
      context.fillStyle = fill;
      context.fillRect(x0, top, Math.max(x1 - x0 - 0.6, 0.8), high - edge);
      if (room > 8 && (data.lanes ? high >= LABEL_MIN : heights[data.processor[t]] >= ROW_MIN)) {
        context.save();
        if (data.lanes) context.font = context.font.replace("12px", `${Math.min(12, high - 1)}px`);
        context.fillStyle = text;
        context.textAlign = "center"; context.textBaseline = "middle";
        context.fillText(fitting(data.taskLabels[t], room), shownLeft + room / 2 + 3, top + high / 2 + 0.5);
        context.restore();
      }
    });
    if (t === hovered) outline(t, ink);
    context.globalAlpha = 1;
  }

  // What runs on a processor uses of a resource, against its capacity or the largest use.
  function drawUse({ q, r, top, limited, full }) {
    const { time, amount } = data.use[q], base = top + STRIP;
    context.globalAlpha = 0.5; context.fillStyle = quiet;
    context.beginPath(); context.moveTo(x(0), base);
    time.forEach((at, i) => {
      const level = base - STRIP * Math.min(1, amount[i][r] / full);
      context.lineTo(x(at), level);
      context.lineTo(x(time[i + 1] ?? at), level);
    });
    context.lineTo(x(time[time.length - 1]), base); context.fill();
    context.globalAlpha = 1;
    context.setLineDash([4, 3]);
    if (limited) line(left, top, width - RIGHT, top, quiet, 1);
    context.setLineDash([]);
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
    boxes[t].forEach(([top, high]) => context.strokeRect(x0, top, x1 - x0, high));
  }

  function drawChain() {
    data.chain.forEach(([task, reason], i) => {
      outline(task, accent);
      if (i > 0 && (reason === "data" || data.lanes)) connect(data.chain[i - 1][0], task, accent, reason === "data" ? [] : [2, 3]);
    });
  }

  function drawEdges(t) {
    parents[t].forEach(u => connect(u, t, ink, []));
    children[t].forEach(v => connect(t, v, ink, [4, 3]));
  }

  function connect(u, v, colour, dash) {
    const middle = t => boxes[t][0][0] + boxes[t][0][1] / 2;
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
    const slack = 1.5;
    for (let i = n - 1; i >= 0; i--) {
      const t = order[i], q = data.processor[t], rows = data.lanes ? boxes[t] : [[tops[q], heights[q]]];
      if (rows.some(([top, high]) => py >= top && py < top + high) && px >= x(data.start[t]) - slack
          && px <= Math.max(x(data.finish[t]), x(data.start[t]) + 1) + slack) return t;
    }
    return -1;
  }

  function stripAt(px, py) {
    return px < left ? undefined : strips.find(({ top }) => py >= top && py < top + STRIP);
  }

  function changeStretch(factor) {
    if (!data.lanes) return;
    stretch = Math.max(1, Math.min(MAX_STRETCH, stretch * factor));
    layout();
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
    const strip = hovered < 0 && !drag && event.type === "pointermove" ? stripAt(event.offsetX, event.offsetY) : undefined;
    tip.replaceChildren();
    tip.style.display = hovered >= 0 || strip ? "block" : "none";
    if (hovered >= 0) fillTip(event, data.tasks[hovered], aboutTask(hovered));
    else if (strip) fillTip(event, data.resources[strip.r], aboutUse(strip, timeAt(event.offsetX)));
  }

  function aboutTask(t) {
    const reason = onChain.get(t), kind = data.legend[data.colour[t]];
    const rows = [["processor", data.processors[data.processor[t]]],
      ["start", number(data.start[t])], ["finish", number(data.finish[t])],
      ["duration", number(data.finish[t] - data.start[t])],
      ...(data.resources ?? []).map((name, r) => [name, number(data.demands[t][r])]),
      ["waits for", count(parents[t])], ["feeds", count(children[t])]];
    if (kind) rows.unshift(["kind", kind]);
    if (reason) rows.push(["critical", reason === "nothing" ? "begins the path" : `waits for its ${reason}`]);
    return rows;
  }

  function aboutUse({ q, r }, at) {
    const { time, amount } = data.use[q], limit = data.capacities[q][r];
    const step = Math.max(0, time.findLastIndex(begin => begin <= at));
    return [["processor", data.processors[q]], ["time", number(at)], ["in use", number(amount[step][r])],
      ["capacity", limit === null ? "no limit" : number(limit)]];
  }

  function fillTip(event, title, rows) {
    const name = document.createElement("b"), table = document.createElement("table");
    name.textContent = title;
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
    const by = event.deltaY || event.deltaX;  // browsers turn the wheel sideways with Shift
    if (event.shiftKey && data.lanes) changeStretch(Math.exp(-by * 0.0015));
    else zoom(Math.exp(event.deltaY * 0.0015), timeAt(event.offsetX));
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
      ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), "0": fitAll, c: toggleCritical,
      h: () => changeStretch(1.4), l: () => changeStretch(1 / 1.4) }[event.key];
    if (action) action();
  });
  criticalButton.addEventListener("click", toggleCritical);
  part(".fit").addEventListener("click", fitAll);
  new ResizeObserver(layout).observe(main);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", layout);
  return { show };
}
