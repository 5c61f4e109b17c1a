"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const PRINTED_PX = 700;
  for (const [, , first, ...others] of [data.timeline.data.slice(0, 5), ...data.views]) {
    for (const each of others) each.x ??= first.x; // as rates_figure.py leaves it out
  }

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
      out.yaxis.tickfont = { size: 9 };
    }
    if (tiny()) out.showlegend = false;
    return out;
  }

  function fillLegend(legend, traces) {
    const entries = traces.filter(({ showlegend }) => showlegend !== false).map(({ name, marker, line }) => {
      const entry = document.createElement("span");
      const chip = document.createElement("i");
      chip.style.background = (marker?.color === "rgba(0,0,0,0)" ? marker.line : marker ?? line).color;
      entry.append(chip, new DOMParser().parseFromString(name, "text/html").documentElement.textContent);
      return entry;
    });
    legend.replaceChildren(...entries);
  }

  /* An arrow at the edge of each row whose bar goes on beyond what the axis shows, from and until in ms. */
  function edges(traces, from, until) {
    const goesOn = { left: new Set(), right: new Set() };
    for (const { base, x, y } of traces.filter(({ meta }) => meta === "isolation" || meta === "together")) {
      base.forEach((start, at) => {
        const end = start + x[at];
        if (start < from && from < end) goesOn.left.add(Math.round(y[at]));
        if (start < until && until < end) goesOn.right.add(Math.round(y[at]));
      });
    }
    const arrow = (x, text) => (y) => ({ xref: "paper", x, xanchor: "left", yref: "y", y, text, showarrow: false });
    return [...[...goesOn.left].map(arrow(0, "◂")), ...[...goesOn.right].map(arrow(1, "▸"))];
  }

  function markEdges(place) {
    const annotations = edges(place.data, ...shownTime(place));
    if (annotations.length || place.layout.annotations?.length) Plotly.relayout(place, { annotations });
  }

  /* What the axis of time shows, in ms; null before the first drawing. */
  function shownTime(place) {
    const axis = place?._fullLayout?.xaxis;
    return axis ? axis.range.map(axis.r2l) : null;
  }

  const shown = [];
  function draw(id, figure) {
    const place = document.getElementById(id);
    if (!place || !figure) return;
    place.style.height = `${figure.height}px`;
    const entry = shown.find((each) => each.place === place) || shown[shown.push({ place }) - 1];
    entry.figure = figure;
    fillLegend(document.getElementById(place.dataset.legend), figure.data);
    Plotly.react(place, figure.data, themed(figure), PLOT_CONFIG);
    for (const picture of place.querySelectorAll(".main-svg")) picture.ariaHidden = "true"; // the buttons above it are not
  }

  const rows = data.rows.map((row, place) => ({ ...row, place, below: [] }));
  for (const row of rows) rows[row.parent]?.below.push(row);
  const MOST_AT_FIRST = 80;
  let unfolded = new Set(); // places of rows

  /* The worst brokers, as long as their groups are few. */
  function unfoldFirst() {
    let left = MOST_AT_FIRST;
    for (const row of rows.filter(({ parent }) => parent === null)) {
      left -= row.below.length;
      if (left >= 0 || unfolded.size === 0) unfolded.add(row.place);
    }
  }

  const isUnfolded = (row) => unfolded.has(row.place) || (row.parent === null && Object.values(wanted).some(Boolean));

  /* Rows on screen, from the top: those that pass the filter, where all above them are unfolded; a filter unfolds brokers. */
  function visibleRows() {
    const hasWords = rows.some((row) => !row.below.length && passesFilter(row.of, row.text)); // else they are of tables
    const passes = (row) => row.below.length ? row.below.some(passes) : passesFilter(row.of, hasWords ? row.text : null);
    const areOpen = (row) => row === undefined || (isUnfolded(row) && areOpen(rows[row.parent]));
    return rows.filter((row) => areOpen(rows[row.parent]) && passes(row));
  }

  /* The timeline without the rows that are folded: Python lays out all of them, bars and shapes by the place of their row. */
  function drawTimeline() {
    const plot = document.getElementById("timeline-plot");
    if (!plot) return;
    const whole = data.timeline;
    const left = visibleRows();
    const placeOf = new Map(left.map(({ place }, at) => [place, at]));
    const { margin, yaxis } = whole.layout;
    const plotPx = whole.height - margin.t - margin.b;
    const all = Math.max(2, rows.length);
    const rowPx = (yaxis.domain[1] * plotPx) / all;
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
    layout.xaxis.range = layout.xaxis2.range = shownTime(plot) ?? layout.xaxis.range; // as zoomed
    layout.annotations = edges(kept, ...layout.xaxis.range);
    draw("timeline-plot", { data: kept, layout, height: whole.height - cutPx });
    const ganttPx = Math.max(2, left.length) * rowPx;
    rowTop = (at) => whole.height - cutPx - margin.b - ganttPx + ((at + 0.1) / (left.length + 0.2)) * ganttPx;
    placeFolds(left, plot._fullLayout.margin);
  }

  let rowTop; // of a row on screen, in pixels from the top of the picture

  /* A button left of each row that unfolds. */
  function placeFolds(left, margin) {
    const holder = document.getElementById("folds");
    const focused = document.activeElement?.dataset.fold;
    const buttons = left.map((row, at) => {
      if (!row.below.length) return null;
      const button = document.createElement("button");
      const isOpen = isUnfolded(row);
      Object.assign(button, { type: "button", textContent: isOpen ? "▾" : "▸" });
      button.dataset.fold = row.place;
      button.setAttribute("aria-expanded", isOpen);
      button.setAttribute("aria-label", row.text);
      button.style.top = `${rowTop(at)}px`;
      button.style.paddingLeft = `${(row.parent !== null) + (row.parent !== null && rows[row.parent].parent !== null)}em`;
      button.style.width = `${margin.l}px`;
      button.addEventListener("click", () => { fold(row.place, !isOpen); });
      return button;
    });
    holder.replaceChildren(...buttons.filter(Boolean));
    holder.querySelector(`[data-fold="${focused}"]`)?.focus();
  }

  function fold(place, open) {
    folded = true;
    if (open) unfolded.add(place);
    else unfolded.delete(place);
    drawTimeline();
    writeView();
  }

  function showBroker(number) {
    const traces = data.views[number];
    data.timeline.data.splice(0, traces.length, ...traces);
    drawTimeline();
  }

  /* What the filters above the events ask for: empty is anything. */
  const filters = document.getElementById("filters");
  const asked = () => Object.fromEntries(new FormData(filters));
  let wanted = asked(); // when it was last applied

  /* A row says whose it is, by kind; of a kind that it does not name it is nobody's in particular, and stays. */
  function passesFilter(of, text) {
    const { text: words, ...names } = wanted;
    const lower = text?.toLowerCase(); // null: whatever the words are
    return Object.entries(names).every(([kind, name]) => !name || !of[kind] || of[kind].includes(name))
      && (lower === undefined || words.toLowerCase().split(/\s+/).every((word) => lower.includes(word)));
  }

  let filtered = ""; // the broker, when the series was last chosen by it
  function filterRows() {
    wanted = asked();
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
    const { broker } = wanted;
    const series = document.getElementById("broker");
    const option = [...series?.options ?? []].find(({ textContent }) => textContent === broker) ?? series?.options[0];
    if (option && broker !== filtered && !option.selected) {
      option.selected = true;
      showBroker(option.value);
    } else drawTimeline();
    filtered = broker;
  }

  /* The filters and the time that is shown, behind the page's address: opened again, it shows the same. */
  let printing = false;
  function writeView() {
    if (printing) return;
    const view = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
    const time = shownTime(document.getElementById("timeline-plot"));
    if (time && zoomed) ["from", "until"].forEach((name, at) => view.set(name, Math.round(time[at])));
    const [event] = document.querySelectorAll("#events details[open]");
    if (event) view.set("event", event.id);
    if (folded) view.set("open", [...unfolded].join("."));
    const link = `#${view}`;
    document.getElementById("view").href = link;
    history.replaceState(null, "", link);
  }

  let zoomed = false;
  let folded = false; // by hand
  function readView() {
    const view = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    for (const field of filters.elements) if (view.has(field.name)) field.value = view.get(field.name);
    if (view.has("open")) unfolded = new Set(view.get("open").split(".").filter(Boolean).map(Number));
    else unfoldFirst();
    folded = view.has("open");
    filterRows();
    document.getElementById("view").href = location.hash || "#";
    if (view.has("from") && document.getElementById("timeline-plot")) {
      zoomed = true;
      Plotly.relayout("timeline-plot", { "xaxis.range": [Number(view.get("from")), Number(view.get("until"))] });
    }
    const event = document.getElementById(view.get("event") ?? location.hash.slice(1));
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
    return at < 0 ? NaN : first + rowTop(at);
  }

  function setTheme(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    for (const { place, figure } of shown) place.id === "timeline-plot" ? drawTimeline() : draw(place.id, figure);
  }

  /* For cards of a narrow screen: each cell's heading. The roles stay when rows are drawn as blocks. */
  function labelCells(table) {
    const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    table.role = "table";
    for (const part of [table.tHead, ...table.tBodies]) part.role = "rowgroup";
    for (const row of table.rows) {
      row.role = "row";
      for (const cell of row.cells) {
        const isHeading = cell.tagName === "TH";
        cell.role = isHeading ? (cell.scope === "row" ? "rowheader" : "columnheader") : "cell";
        if (!isHeading && cell.colSpan === 1) cell.dataset.label = headings[cell.cellIndex];
      }
    }
  }

  root.dataset.theme = systemDark.matches ? "dark" : "light";
  draw("group-plot", data.groups[0]);
  readView();
  const timeline = document.getElementById("timeline-plot");
  timeline?.on("plotly_relayout", (change) => {
    if ("annotations" in change) return;
    if ("xaxis.range[0]" in change || "xaxis.range" in change) zoomed = true;
    if ("xaxis.autorange" in change) zoomed = false;
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
      folded = true;
      unfolded = new Set(rows.filter(({ below }) => open && below.length).map(({ place }) => place));
      drawTimeline();
      writeView();
    });
  }
  document.querySelectorAll("table").forEach(labelCells);
  let themeOnScreen = root.dataset.theme;
  addEventListener("beforeprint", () => {
    printing = true;
    themeOnScreen = root.dataset.theme;
    for (const each of document.querySelectorAll("details")) each.open = true;
    setTheme(false);
    for (const { place } of shown) Plotly.relayout(place, { width: PRINTED_PX, "margin.l": 170, "yaxis.tickfont.size": 9 });
  });
  addEventListener("afterprint", () => {
    setTimeout(() => { printing = false; }, 100); // once all that opened has said so
    setTheme(themeOnScreen === "dark");
    for (const { place } of shown) Plotly.relayout(place, { autosize: true }); // else it keeps the width of paper
  });
})();
