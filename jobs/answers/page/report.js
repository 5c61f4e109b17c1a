"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const PRINTED_PX = 700;

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const narrow = () => innerWidth < 900;
  const tiny = () => innerWidth <= 600; // as in report.css: there a legend of the page's own takes Plotly's place

  function themed({ layout, height }) {
    const text = colour("--text");
    const line = colour("--line");
    const out = {
      ...structuredClone(layout), // Plotly writes into what it is given, for a printed page also
      height,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: text, size: 12, family: getComputedStyle(document.body).fontFamily },
      hoverlabel: { bgcolor: colour("--panel"), bordercolor: line, font: { color: text }, align: "left", namelength: -1 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--link") },
    };
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      Object.assign(out[name], { gridcolor: line, linecolor: line, zerolinecolor: line });
    }
    if (narrow()) {
      out.margin.l = 170;
      out.yaxis.tickfont = { size: 10 };
    }
    if (tiny()) out.showlegend = false;
    return out;
  }

  function fillLegend(legend, traces) {
    const entries = traces.filter(({ showlegend }) => showlegend !== false).map(({ name, marker, line }) => {
      const entry = document.createElement("span");
      const chip = document.createElement("i");
      chip.style.background = (marker?.line?.width ? marker.line : marker ?? line).color;
      entry.append(chip, new DOMParser().parseFromString(name, "text/html").documentElement.textContent);
      return entry;
    });
    legend.replaceChildren(...entries);
  }

  /* An arrow at the edge of each row whose bar goes on beyond what the axis shows. */
  function markEdges(place) {
    const isBar = ({ meta }) => meta === "isolation" || meta === "together";
    if (!place.data.some(isBar)) return; // then Plotly makes no such axis
    const axis = place._fullLayout.xaxis2;
    const [from, until] = axis.range.map(axis.r2l);
    const goesOn = { left: new Set(), right: new Set() };
    for (const { base, x, y } of place.data.filter(isBar)) {
      base.forEach((start, at) => {
        const end = start + x[at];
        if (start < from && from < end) goesOn.left.add(Math.round(y[at]));
        if (start < until && until < end) goesOn.right.add(Math.round(y[at]));
      });
    }
    const arrow = (x, text) => (y) => ({ xref: "paper", x, xanchor: "left", yref: "y", y, text, showarrow: false });
    const annotations = [...[...goesOn.left].map(arrow(0, "◂")), ...[...goesOn.right].map(arrow(1, "▸"))];
    Plotly.relayout(place, { annotations });
  }

  const shown = [];
  function draw(id, figure) {
    const place = document.getElementById(id);
    if (!place || !figure) return;
    place.style.height = `${figure.height}px`;
    const entry = shown.find((each) => each.place === place) || shown[shown.push({ place }) - 1];
    entry.figure = figure;
    fillLegend(document.getElementById(place.dataset.legend), figure.data);
    const drawn = Plotly.react(place, figure.data, themed(figure), PLOT_CONFIG);
    if (id === "timeline-plot") drawn.then(markEdges);
  }

  const rows = data.rows.map((row, place) => ({ ...row, place, below: [] }));
  for (const row of rows) rows[row.parent]?.below.push(row);
  const unfolded = new Set(); // places of rows

  /* Rows on screen, from the top: those that pass the filter, where all above them are unfolded. */
  function visibleRows() {
    const passes = (row) => row.below.length ? row.below.some(passes) : passesFilter(row.of, row.text);
    const isOpen = (row) => row === undefined || ((row.parent === null || unfolded.has(row.place)) && isOpen(rows[row.parent]));
    return rows.filter((row) => isOpen(rows[row.parent]) && passes(row));
  }

  /* The timeline without the rows that are folded: Python lays out all of them, bars and shapes by the place of their row. */
  function drawTimeline() {
    const whole = data.timeline;
    const left = visibleRows();
    const placeOf = new Map(left.map(({ place }, at) => [place, at]));
    const { margin, yaxis } = whole.layout;
    const plotPx = whole.height - margin.t - margin.b;
    const all = Math.max(2, rows.length);
    rowPx = (yaxis.domain[1] * plotPx) / all;
    const cutPx = (all - Math.max(2, left.length)) * rowPx;
    const raised = (y) => (y * plotPx - cutPx) / (plotPx - cutPx);
    const layout = structuredClone(whole.layout);
    for (const axis of ["yaxis2", "yaxis3"]) layout[axis].domain = layout[axis].domain.map(raised);
    layout.legend2.y = raised(layout.legend2.y);
    Object.assign(layout.yaxis, {
      domain: [0, raised(yaxis.domain[1])],
      range: [left.length - 0.4, -0.6],
      tickvals: left.map((_, at) => at),
      ticktext: left.map(({ place }) => yaxis.ticktext[place]),
    });
    layout.shapes = layout.shapes.flatMap((shape) => {
      const inside = left.filter(({ place }) => shape.y0 < place && place < Math.max(shape.y1, shape.y0 + 1));
      if (!inside.length) return [];
      const from = placeOf.get(inside[0].place) - 0.5;
      return [{ ...shape, y0: from, y1: shape.y1 > shape.y0 ? from + inside.length : from }];
    });
    const named = new Set(); // by the legend
    const kept = whole.data.map((trace) => {
      if (trace.yaxis !== "y") return trace;
      const at = [...trace.y.keys()].filter((each) => placeOf.has(Math.round(trace.y[each])));
      const moved = (y) => y - Math.round(y) + placeOf.get(Math.round(y));
      const picked = Object.fromEntries(["base", "x", "width", "hovertext"].map((name) => [name, at.map((each) => trace[name][each])]));
      const showlegend = at.length > 0 && !named.has(trace.legendgroup);
      if (showlegend) named.add(trace.legendgroup);
      return { ...trace, ...picked, y: at.map((each) => moved(trace.y[each])), showlegend };
    });
    const place = document.getElementById("timeline-plot");
    if (!place) return;
    if (place._fullLayout?.xaxis) layout.xaxis.range = layout.xaxis2.range = place._fullLayout.xaxis.range; // as zoomed
    draw("timeline-plot", { data: kept, layout, height: whole.height - cutPx });
    foldsTop = whole.height - cutPx - margin.b - Math.max(2, left.length) * rowPx;
    placeFolds(left, document.getElementById("timeline-plot")._fullLayout.margin);
  }

  let rowPx = 0;
  let foldsTop = 0;

  /* A button left of each row that unfolds. */
  function placeFolds(left, margin) {
    const holder = document.getElementById("folds");
    if (!holder) return;
    const focused = document.activeElement?.dataset.fold;
    const buttons = left.map((row, at) => {
      if (row.parent === null || !row.below.length) return null;
      const button = document.createElement("button");
      const isOpen = unfolded.has(row.place);
      Object.assign(button, { type: "button", textContent: isOpen ? "▾" : "▸" });
      button.dataset.fold = row.place;
      button.setAttribute("aria-expanded", isOpen);
      button.setAttribute("aria-label", row.text);
      button.style.top = `${foldsTop + at * rowPx}px`;
      button.style.paddingLeft = `${rows[row.parent].parent === null ? 0 : 1}em`;
      button.style.width = `${margin.l}px`;
      button.addEventListener("click", () => { fold(row.place, !isOpen); });
      return button;
    });
    holder.replaceChildren(...buttons.filter(Boolean));
    holder.querySelector(`[data-fold="${focused}"]`)?.focus();
  }

  function fold(place, open) {
    if (open) unfolded.add(place);
    else unfolded.delete(place);
    drawTimeline();
  }

  function showBroker(number) {
    const traces = data.views[number];
    data.timeline.data.splice(0, traces.length, ...traces);
    drawTimeline();
  }

  /* What the filters above the events ask for: empty is anything. */
  const filters = document.getElementById("filters");
  const asked = () => Object.fromEntries(new FormData(filters));

  /* A row says whose it is, by kind; of a kind that it does not name it is nobody's in particular, and stays. */
  function passesFilter(of, text) {
    const { text: words, ...names } = asked();
    const lower = text.toLowerCase();
    return Object.entries(names).every(([kind, name]) => !name || !of[kind] || of[kind].includes(name))
      && words.toLowerCase().split(/\s+/).every((word) => lower.includes(word));
  }

  function filterRows() {
    let left = 0;
    let all = 0;
    for (const row of document.querySelectorAll("tr[data-of]")) {
      const below = row.nextElementSibling?.matches(".below") ? row.nextElementSibling : null;
      const passes = passesFilter(JSON.parse(row.dataset.of), row.textContent + (below?.textContent ?? ""));
      row.hidden = !passes;
      if (below) below.hidden = !passes;
      all += 1;
      left += passes ? 1 : 0;
    }
    filters.querySelector("output").textContent = left < all ? `${left} of ${all} rows of the tables` : "";
    const { broker } = asked();
    const series = document.getElementById("broker");
    const option = [...series?.options ?? []].find(({ text }) => text === broker) ?? series?.options[0];
    if (option && !option.selected) {
      option.selected = true;
      showBroker(option.value);
    } else drawTimeline();
  }

  /* The filters and the time that is shown, behind the page's address: opened again, it shows the same. */
  function writeView() {
    const view = new URLSearchParams(Object.entries(asked()).filter(([, value]) => value));
    const axis = document.getElementById("timeline-plot")?._fullLayout?.xaxis;
    if (axis && zoomed) ["from", "until"].forEach((name, at) => view.set(name, Math.round(axis.r2l(axis.range[at]))));
    const [event] = document.querySelectorAll("#events details[open]");
    if (event) view.set("event", event.id);
    const link = `#${view}`;
    document.getElementById("view").href = link;
    history.replaceState(null, "", link);
  }

  let zoomed = false;
  function readView() {
    const view = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    for (const field of filters.elements) if (view.has(field.name)) field.value = view.get(field.name);
    filterRows();
    if (view.has("from")) {
      zoomed = true;
      Plotly.relayout("timeline-plot", { "xaxis.range": [Number(view.get("from")), Number(view.get("until"))] });
    }
    const event = document.getElementById(view.get("event") ?? decodeURIComponent(location.hash.slice(1)));
    if (event?.tagName === "DETAILS") {
      event.open = true;
      event.scrollIntoView({ block: "center" });
    }
  }

  function zoomTo(button) {
    const from = Number(button.dataset.from);
    const until = Number(button.dataset.until);
    const around = Math.max(until - from, 1000);
    Plotly.relayout("timeline-plot", { "xaxis.range": [from - around, until + around] });
    const section = document.getElementById("timeline").getBoundingClientRect().top;
    const hidden = document.querySelector("header").offsetHeight;
    const row = topOfRow(button.dataset.row);
    const top = Number.isNaN(row) ? section : Math.max(section, row - innerHeight / 2);
    scrollBy({ top: top - hidden });
  }

  /* Where a row of the timeline begins, in pixels from the top of the window; not a number for one that is not shown. */
  function topOfRow(row) {
    const at = visibleRows().findIndex(({ place }) => place === Number(row));
    const first = document.getElementById("folds").getBoundingClientRect().top;
    return at < 0 ? NaN : first + foldsTop + at * rowPx;
  }

  function setTheme(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    for (const { place, figure } of shown) place.id === "timeline-plot" ? drawTimeline() : draw(place.id, figure);
  }

  root.dataset.theme = systemDark.matches ? "dark" : "light";
  draw("group-plot", data.groups[0]);
  readView();
  const timeline = document.getElementById("timeline-plot");
  timeline?.on("plotly_relayout", (change) => {
    if ("annotations" in change) return;
    zoomed = "xaxis.range[0]" in change || "xaxis.range" in change;
    markEdges(timeline);
    writeView();
  });
  systemDark.addEventListener("change", () => setTheme(systemDark.matches));
  document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme !== "dark"));
  document.getElementById("broker")?.addEventListener("change", (event) => showBroker(event.target.value));
  document.getElementById("group")?.addEventListener("change", (event) => draw("group-plot", data.groups[event.target.value]));
  for (const button of document.querySelectorAll("button[data-from]")) {
    button.addEventListener("click", () => zoomTo(button));
  }
  for (const link of document.querySelectorAll('a[href^="#kind-"]')) {
    link.addEventListener("click", () => { document.querySelector(link.hash).open = true; });
  }
  const changed = () => { filterRows(); writeView(); };
  filters.addEventListener("input", changed);
  document.getElementById("all").addEventListener("click", () => { filters.reset(); changed(); });
  for (const each of document.querySelectorAll("#events details")) each.addEventListener("toggle", writeView);
  for (const [id, open] of [["unfold", true], ["fold", false]]) {
    document.getElementById(id)?.addEventListener("click", () => {
      unfolded.clear();
      if (open) for (const row of rows) if (row.below.length) unfolded.add(row.place);
      drawTimeline();
    });
  }
  let themeOnScreen = root.dataset.theme;
  addEventListener("beforeprint", () => {
    themeOnScreen = root.dataset.theme;
    for (const each of document.querySelectorAll("details")) each.open = true;
    setTheme(false);
    for (const { place } of shown) Plotly.relayout(place, { width: PRINTED_PX, "margin.l": 170, "yaxis.tickfont.size": 9 });
  });
  addEventListener("afterprint", () => {
    setTheme(themeOnScreen === "dark");
    for (const { place } of shown) Plotly.relayout(place, { autosize: true }); // else it keeps the width of paper
  });
})();
