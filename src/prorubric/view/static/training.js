// A training as it goes: curves of every run, the alarm, the step at which the second opinion was highest, cost.
import { Fault, html, Text, useAsked, useEffect, useRef } from "./app.js";
import { count, Crumbs, money, number, State } from "./parts.js";
import uPlot from "./vendor/uplot.js";

const CHARTS = [
  ["Reward and second opinion", ["reward", "score", "coverage", "appropriateness", "validation: appropriateness", "validation: coverage", "dimension_rate"], true],
  ["Under other schemes", [], true],
  ["Length", ["tokens", "characters"], false],
  ["Signal and unknown", ["equal_groups", "equal_dimensions", "unknown_rate", "unknown_groups", "addressed_rate"], true],
  ["Loss", ["loss"], false],
];
const names = { equal_groups: "groups without signal", unknown_rate: "unknown rewards", unknown_groups: "groups that are unknown", equal_dimensions: "dimensions without signal", addressed_rate: "addresses the judge", dimension_rate: "dimensions met", appropriateness: "second opinion" };

// The curves of a chart: by run and name. Points of validations are apart from the steps of the training.
const collect = (runs, wanted, isShadow) => runs.flatMap((run) => {
  const all = { ...run.curves };
  for (const name of ["appropriateness", "coverage"]) {
    if (run.validations.some((one) => one[name] !== null)) all[`validation: ${name}`] = { at: run.validations.map((one) => one.step), values: run.validations.map((one) => one[name]) };
  }
  return Object.entries(all).filter(([name]) => (isShadow ? name.startsWith("shadow: ") : wanted.includes(name)))
    .map(([name, curve]) => (Array.isArray(curve) ? { run, name, at: run.at, values: curve } : { run, name, ...curve, isMarked: true }));
});

const Chart = ({ title, lines, isShare, peaks, alarms }) => {
  const box = useRef(null);
  const plot = useRef(null);
  const key = lines.map((line) => `${line.run.name} ${line.name}`).join("|");
  const steps = [...new Set(lines.flatMap((line) => line.at))].sort((one, other) => one - other);
  const data = [steps, ...lines.map((line) => {
    const known = new Map(line.at.map((step, place) => [step, line.values[place]]));
    return steps.map((step) => known.get(step) ?? null);
  })];
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const look = getComputedStyle(document.documentElement);
    const colour = (name) => look.getPropertyValue(name).trim();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule"), width: 1 }, font: "12px system-ui, sans-serif" };
    const marks = (chart) => {
      for (const [step, mark, dash] of [...peaks.map((step) => [step, "--c2", [4, 4]]), ...alarms.map((step) => [step, "--alarm", []])]) {
        const x = chart.valToPos(step, "x", true);
        Object.assign(chart.ctx, { strokeStyle: colour(mark), lineWidth: 1.5 });
        chart.ctx.setLineDash(dash);
        chart.ctx.beginPath();
        chart.ctx.moveTo(x, chart.bbox.top);
        chart.ctx.lineTo(x, chart.bbox.top + chart.bbox.height);
        chart.ctx.stroke();
        chart.ctx.setLineDash([]);
      }
    };
    plot.current = new uPlot({
      width: box.current.clientWidth, height: 260,
      scales: { x: { time: false }, y: isShare ? { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, high ?? 1)] } : {} },
      axes: [axis, { ...axis, size: 56 }],
      series: [{ label: "step" }, ...lines.map((line, place) => ({
        label: `${names[line.name] ?? line.name}${lines.some((other) => other.run !== line.run) ? `, ${line.run.name}` : ""}`,
        stroke: colour(`--c${place % 7}`), width: line.isMarked ? 2.5 : 1.5, spanGaps: true, dash: place >= 7 ? [6, 4] : undefined,
        points: { show: line.isMarked || steps.length < 3, size: 6 }, value: (_, value) => number(value),
      }))],
      hooks: { draw: [marks] },
    }, latest.current, box.current);
    const resize = () => plot.current.setSize({ width: box.current.clientWidth, height: 260 });
    addEventListener("resize", resize);
    return () => { removeEventListener("resize", resize); plot.current.destroy(); };
  }, [key, peaks.join(), alarms.join()]);
  useEffect(() => { plot.current?.setData(latest.current); }, [JSON.stringify(data)]);
  return html`<figure class="curve-box"><figcaption><h3>${title}</h3></figcaption>
    <div ref=${box} role="img" aria-label=${`${title}: ${lines.map((line) => `${line.name} of ${line.run.name}, last ${number(line.values.filter((value) => value !== null).at(-1))}`).join("; ")}`}></div></figure>`;
};

export default ({ path }) => {
  const card = useAsked(`/api/run/${path[0]}`, {}, 3000);
  const isLive = card.value?.state === "running";
  const { value, error } = useAsked(`/api/run/${path[0]}/training`, {}, isLive ? 3000 : 0);
  const runs = value?.runs ?? [];
  const alarms = runs.flatMap((run) => run.alarms.map((alarm) => ({ ...alarm, run: run.name })));
  const peaks = runs.filter((run) => run.peak);
  return html`<${Crumbs} run=${card.value} />
    <h1><${Text}>${card.value?.path ?? "…"}<//> ${card.value && html`<${State} ...${card.value} />`}</h1>
    ${card.value?.reason && html`<p class="warn"><${Text}>${card.value.reason}<//></p>`}
    <${Fault} error=${card.error ?? error} />
    ${!value && !error && html`<p class="note">Reading the steps …</p>`}
    ${value && html`
      <p class="actions">${card.value?.has_report && html`<a href=${`/report/${path[0]}`} target="_blank" rel="noopener">Report</a>`}</p>
      ${alarms.map((alarm) => html`<p class="alarm" role="alert" key=${alarm.run}><strong><${Text}>${alarm.run}<//>, step ${alarm.step}:</strong> <${Text}>${alarm.text}<//></p>`)}
      <dl class="facts">
        <div><dt>Calls to judges</dt><dd>${value.calls === null ? "–" : value.calls.toLocaleString("en")}${value.planned_calls ? ` of about ${value.planned_calls.toLocaleString("en")}` : ""}</dd></div>
        <div><dt>Cost</dt><dd>${money(value.cost)}${value.planned_cost !== null ? `, planned ${money(value.planned_cost)}` : ""}</dd></div>
        ${peaks.map((run) => html`<div key=${run.name}><dt>Second opinion, <${Text}>${run.name}<//></dt>
          <dd>highest at step ${run.peak.step} (${number(run.peak.value)})${run.peak.last_step !== run.peak.step ? `, now ${number(run.peak.last)}` : ""}</dd></div>`)}
      </dl>
      <table class="wide"><thead><tr>${["run", "method", "seed", "state", "step"].map((head) => html`<th scope="col">${head}</th>`)}<th scope="col" class="n">unknown rewards</th></tr></thead>
        <tbody>${runs.map((run) => html`<tr key=${run.name}><th scope="row"><${Text}>${run.name}<//></th><td data-head="method">${run.method}</td><td data-head="seed">${run.seed}</td>
          <td data-head="state"><${State} ...${run} /> ${run.reason && html`<small class="below"><${Text}>${run.reason}<//></small>`}</td>
          <td data-head="step"><progress max=${run.steps || 1} value=${run.step} aria-label="steps"></progress> ${run.step} of ${run.steps}</td>
          <td class="n" data-head="unknown rewards">${run.unknown} of ${run.responses}</td></tr>`)}</tbody></table>
      ${runs.length === 0 && html`<p class="note">The plan of this training cannot be read yet.</p>`}
      ${CHARTS.map(([title, wanted, isShare]) => {
        const lines = collect(runs, wanted, title === "Under other schemes");
        return lines.length > 0 && html`<${Chart} key=${title} title=${title} lines=${lines} isShare=${isShare}
          peaks=${isShare ? peaks.map((run) => run.peak.step) : []} alarms=${isShare ? alarms.map((alarm) => alarm.step) : []} />`;
      })}
      <p class="note">A dashed line marks the step at which the second opinion was highest, a red one the first alarm. ${isLive ? "New steps appear by themselves." : ""}</p>
      ${value.departures.length > 0 && html`<details><summary>${count(value.departures.length, "departure")} from the paper</summary><ul>${value.departures.map((line) => html`<li><${Text}>${line}<//></li>`)}</ul></details>`}`}`;
};
