"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const PRINTED_PX = 700;

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const narrow = () => innerWidth < 900;

  function themed(layout) {
    const text = colour("--text");
    const line = colour("--line");
    const out = {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: text, size: 12, family: getComputedStyle(document.body).fontFamily },
      hoverlabel: { bgcolor: colour("--panel"), bordercolor: line, font: { color: text }, align: "left", namelength: -1 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--link") },
    };
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      out[name] = { ...layout[name], gridcolor: line, linecolor: line, zerolinecolor: line };
    }
    if (narrow()) {
      out.margin = { ...layout.margin, l: 170 };
      out.yaxis.tickfont = { size: 10 };
    }
    return out;
  }

  const shown = [];
  function draw(id, figure) {
    const place = document.getElementById(id);
    if (!place || !figure) return;
    place.style.height = `${figure.height}px`;
    const entry = shown.find((each) => each.place === place) || shown[shown.push({ place }) - 1];
    entry.figure = figure;
    Plotly.react(place, figure.data, themed(figure.layout), PLOT_CONFIG);
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
    document.getElementById("timeline").scrollIntoView();
  }

  function setTheme(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    for (const { place, figure } of shown) Plotly.react(place, figure.data, themed(figure.layout), PLOT_CONFIG);
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
    input.closest("p").querySelector("output").textContent = words.length ? `${left} of ${rows.length}` : "";
  }

  root.dataset.theme = systemDark.matches ? "dark" : "light";
  draw("timeline-plot", data.timeline);
  draw("group-plot", data.groups[0]);
  systemDark.addEventListener("change", () => setTheme(systemDark.matches));
  document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme !== "dark"));
  document.getElementById("broker")?.addEventListener("change", (event) => showBroker(event.target.value));
  document.getElementById("group")?.addEventListener("change", (event) => draw("group-plot", data.groups[event.target.value]));
  for (const button of document.querySelectorAll("button[data-from]")) {
    button.addEventListener("click", () => zoomTo(button));
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
  addEventListener("afterprint", () => setTheme(themeOnScreen === "dark"));
})();
