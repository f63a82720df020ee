// Draw the figures of each week with uPlot.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const HEIGHT = 190;
  let drawn = [];
  const colour = (name) => {
    const probe = document.createElement("span");
    probe.className = `colour-${name}`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const draw = () => {
    for (const one of drawn) one.destroy();
    drawn = [];
    const source = $("chart-data");
    if (!source) return;
    const weeks = JSON.parse(source.dataset.json);
    const times = weeks.map((week) => Date.parse(`${week.start}T12:00:00Z`) / 1000);
    const last = weeks.length - 1;
    const ink = colour("muted"), line = colour("line"), accent = colour("accent");
    for (const box of document.querySelectorAll("[data-chart]")) {
      const name = box.dataset.chart, isTime = name === "lead_hours";
      const values = weeks.map((week) => week[name]);
      if (!values.some((value) => value)) {
        const none = document.createElement("p");
        none.className = "muted empty";
        none.textContent = "None so far.";
        box.replaceChildren(none);
        continue;
      }
      box.replaceChildren();
      const bars = weeks.length <= 60 && !isTime;
      const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
      drawn.push(new uPlot({
        width: box.clientWidth, height: HEIGHT, legend: { live: true }, cursor: { y: false, points: { size: 7 } }, tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "UTC"),
        scales: { y: { range: (_, low, high) => [0, Math.max(high * 1.08, 1)] }, x: { time: true, range: (_, low, high) => [low - 302400, high + 302400] } },
        axes: [{ ...axis, grid: { show: false }, space: 70 }, { ...axis, size: 44, space: 32, incrs: isTime ? undefined : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] }],
        series: [{ label: "Week of", value: (_, at, __, place) => weeks[place ?? last].start }, {
          label: isTime ? "Hours" : "Number", stroke: accent, width: bars ? 0 : 1.75, fill: bars ? accent : undefined, spanGaps: true,
          paths: bars ? uPlot.paths.bars({ size: [0.7, 36], radius: 0.15 }) : undefined, points: { show: !bars && weeks.length < 60 },
          value: (_, __, ___, place) => String(weeks[place ?? last][name] ?? "–"),
        }],
      }, [times, values], box));
    }
  };
  let waiting = 0;
  new ResizeObserver(() => { clearTimeout(waiting); waiting = setTimeout(draw, 80); }).observe($("content"));
  document.addEventListener("nexus-theme", draw);
  document.addEventListener("nexus-updated", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
