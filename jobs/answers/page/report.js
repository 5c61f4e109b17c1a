"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const PRINTED_PX = 700;

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const narrow = () => innerWidth < 900;
  const tiny = () => innerWidth <= 600; // as in report.css: there a legend of the page's own takes Plotly's place

  function themed(layout) {
    const text = colour("--text");
    const line = colour("--line");
    const out = {
      ...structuredClone(layout), // Plotly writes into what it is given, for a printed page also
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
    if (!place.data.some(({ meta }) => meta === "isolation")) return; // then Plotly makes no such axis
    const axis = place._fullLayout.xaxis2;
    const [from, until] = axis.range.map(axis.r2l);
    const goesOn = { left: new Set(), right: new Set() };
    for (const { meta, base, x, y } of place.data) {
      if (meta !== "isolation") continue;
      base.forEach((start, at) => {
        const end = start + x[at];
        if (start < from && from < end) goesOn.left.add(y[at]);
        if (start < until && until < end) goesOn.right.add(y[at]);
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
    const drawn = Plotly.react(place, figure.data, themed(figure.layout), PLOT_CONFIG);
    if (figure === data.timeline) drawn.then(markEdges);
  }

  function showBroker(number) {
    const traces = data.views[number];
    data.timeline.data.splice(0, traces.length, ...traces);
    draw("timeline-plot", data.timeline);
  }

  function zoomTo(button) {
    const from = Number(button.dataset.from);
    const until = Number(button.dataset.until);
    const around = Math.max(until - from, 1000);
    Plotly.relayout("timeline-plot", { "xaxis.range": [from - around, until + around] });
    const section = document.getElementById("timeline").getBoundingClientRect().top;
    const hidden = document.querySelector("header").offsetHeight;
    const top = button.dataset.row === undefined ? section : Math.max(section, topOfRow(button.dataset.row) - innerHeight / 2);
    scrollBy({ top: top - hidden });
  }

  /* Where a row of the timeline begins, in pixels from the top of the window. */
  function topOfRow(row) {
    const { height, layout } = data.timeline;
    const { domain, range } = layout.yaxis;
    const plotHeight = height - layout.margin.t - layout.margin.b;
    const rowHeight = ((domain[1] - domain[0]) * plotHeight) / (range[0] - range[1]);
    const place = document.getElementById("timeline-plot").getBoundingClientRect().top;
    return place + layout.margin.t + (1 - domain[1]) * plotHeight + (row - 0.5 - range[1]) * rowHeight;
  }

  function setTheme(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    for (const { place, figure } of shown) draw(place.id, figure);
  }

  function filterRows(input) {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...document.getElementById(input.dataset.filters).tBodies[0].rows];
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      left += row.hidden ? 0 : 1;
    }
    const count = input.closest("p").querySelector("output");
    count.dataset.whole ??= count.textContent;
    count.textContent = words.length ? `${left} of ${rows.length}` : count.dataset.whole;
  }

  root.dataset.theme = systemDark.matches ? "dark" : "light";
  draw("timeline-plot", data.timeline);
  draw("group-plot", data.groups[0]);
  const timeline = document.getElementById("timeline-plot");
  timeline?.on("plotly_relayout", (change) => {
    if (!("annotations" in change)) markEdges(timeline);
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
  for (const input of document.querySelectorAll("input[data-filters]")) {
    input.addEventListener("input", () => filterRows(input));
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
