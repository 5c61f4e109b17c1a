"use strict";
// What a policy in a page cannot forbid: another window, a link that leads out, and the connection that a browser
// opens ahead of a form which it then does not send.
Object.defineProperty(window, "open", { value: () => null });
Object.defineProperty(HTMLFormElement.prototype, "submit", { value: () => {} });
addEventListener("submit", (event) => event.preventDefault(), true);
for (const kind of ["click", "auxclick"]) {
  addEventListener(kind, (event) => {
    const link = event.target.closest?.("a");
    const leads = link?.getAttribute("href") ?? link?.getAttribute("xlink:href") ?? "#";
    if (!/^(#|blob:|data:)/.test(leads)) event.preventDefault();
  }, true);
}

// The buttons are named: one that a new Plotly brings is not shown before somebody has looked at what it does.
const PLOT_CONFIG = {
  displaylogo: false,
  modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d"]],
  plotlyServerURL: "",
  responsive: true,
  showSendToCloud: false,
  toImageButtonOptions: { format: "svg" },
  topojsonURL: "",
};
