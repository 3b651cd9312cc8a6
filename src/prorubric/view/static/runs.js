// Every run below the folder, by verb; the list is asked for again while something is going on.
import { Fault, html, Link, Text, go, setQuery, useAsked, useState } from "./app.js";
import { Check, Choice, count, Field, money, State } from "./parts.js";

const when = (seconds) => new Date(seconds * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
const link = (run) => (run.page === "training" ? ["training", run.id] : run.page ? ["run", run.id] : null);

const Progress = ({ progress }) => progress && html`<small class="progress">
  ${progress.total ? html`<progress max=${progress.total} value=${progress.done} aria-label=${progress.what}></progress> ` : ""}
  ${progress.done.toLocaleString("en")}${progress.total ? ` of ${progress.total.toLocaleString("en")}` : ""} ${progress.what}</small>`;

const Run = ({ run, isPicked, pick }) => html`<tr>
  <td class="pick">${run.page === "answers" && html`<input type="checkbox" checked=${isPicked} onChange=${pick}
    aria-label=${`Compare ${run.path}`} />`}</td>
  <th scope="row">${link(run) ? html`<${Link} to=${link(run)}><${Text}>${run.path}<//><//>` : html`<${Text}>${run.path}<//>`}
    ${run.about && html`<small class="below"><${Text}>${run.about}<//></small>`}</th>
  <td data-head="state"><${State} ...${run} /> <${Progress} progress=${run.progress} />
    ${run.reason && html`<small class="below"><${Text}>${run.reason}<//></small>`}</td>
  <td data-head="judge"><${Text}>${run.judge}<//></td>
  <td class="n" data-head="calls">${run.calls === null ? "–" : run.calls.toLocaleString("en")}</td>
  <td class="n" data-head="cost">${money(run.cost)}</td>
  <td data-head="changed">${run.changed === null ? "–" : html`<time>${when(run.changed)}</time>`}</td>
  <td data-head="report">${run.has_report && html`<a href=${`/report/${run.id}`} target="_blank" rel="noopener">report</a>`}</td>
</tr>`;

export default ({ query }) => {
  const [isLive, setLive] = useState(false);
  const { value, error } = useAsked("/api/runs", {}, isLive ? 3000 : 15000);
  const [picked, setPicked] = useState([]);
  if (!value) return html`<h1>Runs</h1><${Fault} error=${error} />${!error && html`<p class="note">Looking for runs …</p>`}`;
  const running = value.runs.filter((run) => run.state === "running").length;
  if (Boolean(running) !== isLive) setLive(Boolean(running));
  const [text, verb, live] = ["text", "verb", "live"].map((name) => query.get(name) ?? "");
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = value.runs.filter((run) => (!verb || run.verb === verb) && (!live || run.state === "running")
    && words.every((word) => `${run.path} ${run.about} ${run.judge} ${run.verb}`.toLowerCase().includes(word)));
  const verbs = [...new Set(value.runs.map((run) => run.verb))].sort();
  const pick = (id) => setPicked((old) => (old.includes(id) ? old.filter((one) => one !== id) : [...old, id].slice(-2)));
  return html`<h1>Runs</h1>
    <p class="note"><${Text}>${value.root}<//>: ${count(value.runs.length, "run")}${running ? `, ${running} running` : ""}.</p>
    <${Fault} error=${error} />
    ${value.closed.length > 0 && html`<p class="warn">${count(value.closed.length, "folder")} could not be read: <${Text}>${value.closed.slice(0, 3).join(", ")}<//>${value.closed.length > 3 ? " …" : ""}</p>`}
    ${value.is_cut && html`<p class="warn">There are too many folders to search all of them; open a subfolder.</p>`}
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <${Field} name="text" label="Find" value=${text} />
      <${Choice} name="verb" label="Verb" value=${verb} options=${verbs} none="all" />
      <${Check} name="live" label="only running" value=${live} />
      <button type="button" disabled=${picked.length !== 2} onClick=${() => go("compare", picked[0], picked[1])}>Compare two</button>
    </form>
    ${value.runs.length === 0 && html`<p class="warn">There are no runs here. Open a folder with <code>prorubric view FOLDER</code>, or make a run with <code>prorubric demo</code>.</p>`}
    ${verbs.filter((name) => shown.some((run) => run.verb === name)).map((name) => html`<section key=${name}>
      <h2>${name === "?" ? "cannot be read" : name}</h2>
      <div class="scroll" role="region" aria-label=${`Runs of ${name}`} tabindex="0"><table class="wide runs">
        <thead><tr><th></th>${["folder", "state", "judge"].map((head) => html`<th scope="col">${head}</th>`)}
          <th scope="col" class="n">calls</th><th scope="col" class="n">cost</th><th scope="col">changed</th><th scope="col"></th></tr></thead>
        <tbody>${shown.filter((run) => run.verb === name).map((run) => html`<${Run} key=${run.id} run=${run}
          isPicked=${picked.includes(run.id)} pick=${() => pick(run.id)} />`)}</tbody>
      </table></div></section>`)}
    ${value.runs.length > 0 && shown.length === 0 && html`<p class="note">No runs match.
      <button type="button" onClick=${() => setQuery({ text: null, verb: null, live: null })}>Show all</button></p>`}`;
};
