"use strict";
(() => {
  const { data, layout } = JSON.parse(document.getElementById("data").textContent);
  Plotly.newPlot("picture", data, layout, PLOT_CONFIG);
})();
