// The answers of a run: a list with filters, and one answer with its criteria, verdicts and scores side by side.
import { Fault, html, Link, Text, go, post, setQuery, useAsked, useState } from "./app.js";
import {
  actBy, Answer, Check, Choice, Conversation, count, Crumbs, Field, Notes, number, order, Pager, Paid, readVerdict, Score, State, useKeys, Verdict,
} from "./parts.js";

const FILTERS = ["text", "task", "criterion", "verdict", "benchmark", "policy", "judge", "disputed", "first", "second", "sort"];
const readFilters = (query) => Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));

export default ({ path, query }) => (path[1] === undefined
  ? html`<${List} run=${path[0]} query=${query} />`
  : html`<${One} run=${path[0]} at=${path[1]} query=${query} />`);

const Facts = ({ about }) => html`<dl class="facts">
  <div><dt>Answers</dt><dd>${about.answers.toLocaleString("en")} to ${count(about.tasks, "task")}</dd></div>
  <div><dt>Verdicts</dt><dd>${about.verdicts.toLocaleString("en")}, ${about.unknown.toLocaleString("en")} unknown</dd></div>
  <div><dt>${about.judges.length > 1 ? "Judges" : "Judge"}</dt><dd><${Text}>${about.judges.join(", ") || "none"}<//></dd></div>
  ${order(about.schemes).slice(0, 3).map((name) => html`<div key=${name}><dt>Mean, <${Text}>${name}<//></dt><dd>${number(about.means[name].value)}${about.means[name].known < about.answers ? html` <small>of ${about.means[name].known.toLocaleString("en")} known</small>` : ""}</dd></div>`)}
</dl>`;

const Filters = ({ about, filters }) => html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
  <${Field} name="text" label="Words" value=${filters.text} />
  <${Field} name="task" label="Task" value=${filters.task} />
  <${Field} name="criterion" label="Criterion" value=${filters.criterion} />
  <${Choice} name="verdict" label="Verdict" value=${filters.verdict} options=${[["unknown", "unknown"], ["met", "true"], ["unmet", "false"], ["n/a", "does not apply"]]} />
  ${about.benchmarks.length > 0 && html`<${Choice} name="benchmark" label="Benchmark" value=${filters.benchmark} options=${about.benchmarks} />`}
  ${about.policies.length > 0 && html`<${Choice} name="policy" label="Policy" value=${filters.policy} options=${about.policies} />`}
  ${!about.is_panel && about.judges.length > 1 && html`<${Choice} name="judge" label="Judge" value=${filters.judge} options=${about.judges} />`}
  ${about.schemes.length > 1 && html`<${Choice} name="first" label="Scheme" value=${filters.first} options=${about.schemes} none="–" />
    <${Choice} name="second" label="differs from" value=${filters.second} options=${about.schemes} none="–" />`}
  <${Choice} name="sort" label="Order" value=${filters.sort} none="as judged" options=${[
    ...about.schemes.flatMap((name) => [[name, `${name}, lowest first`], [`-${name}`, `${name}, highest first`]]), ["unknown", "most unknown first"]]} />
  ${about.is_panel && html`<${Check} name="disputed" label="judges disagree" value=${filters.disputed} />`}
  <button type="button" onClick=${() => setQuery(Object.fromEntries([...FILTERS, "page"].map((name) => [name, null])))}>Clear</button>
</form>`;

const List = ({ run, query }) => {
  const filters = readFilters(query);
  const page = Number(query.get("page") ?? 0) || 0;
  const card = useAsked(`/api/run/${run}`, {}, 5000);
  const isLive = card.value?.state === "running";
  const { value, error, isLoading } = useAsked(`/api/run/${run}/answers`, { ...filters, page }, isLive ? 5000 : 0);
  const rows = value?.rows ?? [];
  const open = (row) => go("run", run, row.number, Object.fromEntries(query));
  const move = (by) => {
    const links = [...document.querySelectorAll("[data-row] a")];
    links[Math.min(Math.max(links.indexOf(document.activeElement) + by, 0), links.length - 1)]?.focus();
  };
  useKeys(actBy({
    j: () => move(1), k: () => move(-1), Enter: () => document.activeElement?.click(), "/": () => document.querySelector('input[name="text"]')?.focus(),
  }));
  const judges = value?.about.judges ?? [];
  const schemes = [...new Set([filters.first, filters.second, filters.sort.replace(/^-/, ""), ...order(value?.about.schemes ?? [])])]
    .filter((name) => value?.about.schemes.includes(name)).slice(0, 3);
  return html`<${Crumbs} run=${card.value} />
    <h1><${Text}>${card.value?.path ?? "…"}<//> ${card.value && html`<${State} ...${card.value} />`}</h1>
    ${card.value?.reason && html`<p class="warn"><${Text}>${card.value.reason}<//></p>`}
    <${Fault} error=${card.error ?? error} />
    ${!value && !error && html`<p class="note">Reading the verdicts …</p>`}
    ${value && html`<${Notes} notes=${value.about.notes} /><${Facts} about=${value.about} />
      <p class="actions">${card.value?.has_report && html`<a href=${`/report/${run}`} target="_blank" rel="noopener">Report</a>`}
        ${judges.length > 1 && html`<${Link} to=${["compare", run, run, { judge_a: judges[0], judge_b: judges[1] }]}>Compare its judges<//>`}
        ${card.value?.can_ask && html`<${Link} to=${["ask", { run }]}>Try an answer<//>`}</p>
      <${Filters} about=${value.about} filters=${filters} />
      <${Pager} found=${value.found} size=${value.page_size} page=${page} />
      <div class=${isLoading ? "stale" : ""}><table class="wide answers">
        <thead><tr><th scope="col">question</th><th scope="col">answer</th><th scope="col" class="n">verdicts</th>
          ${schemes.map((name) => html`<th scope="col" class="n" key=${name}><${Text}>${name}<//></th>`)}</tr></thead>
        <tbody>${rows.map((row, place) => html`<tr key=${row.number} data-row=${place} onClick=${(event) => event.target.closest("a") || open(row)}>
          <th scope="row"><${Link} to=${["run", run, row.number, Object.fromEntries(query)]}><${Text}>${row.task}<//> ${row.sample > 0 ? `#${row.sample}` : ""}<//>
            <small class="below"><${Text}>${[row.benchmark, row.policy, row.model !== row.policy && row.model, row.benchmark && row.judge].filter(Boolean).join(" · ")}<//></small>
            <${Text} tag="div" class="snippet">${row.question}<//></th>
          <td data-head="answer"><${Text} tag="div" class="snippet">${row.answer ?? "missing"}<//></td>
          <td class="n" data-head="verdicts">${row.verdicts > 0 && html`${row.met} of ${row.verdicts} true`}
            ${row.unknown > 0 && html`<br /><span class="v open">${row.unknown} unknown</span>`}
            ${row.disputed > 0 && html`<br /><span class="v open">${row.disputed} disputed</span>`}</td>
          ${schemes.map((name) => html`<td class="n" key=${name} data-head=${name}>${row.scores[name]
            ? html`<${Score} value=${row.scores[name][0]} low=${row.scores[name][1]} high=${row.scores[name][2]} />` : "–"}</td>`)}
        </tr>`)}</tbody></table></div>
      ${value.found === 0 && html`<p class="note">No answers match.</p>`}
      ${value.found > value.page_size && html`<${Pager} found=${value.found} size=${value.page_size} page=${page} />`}
      <p class="note keys">Keys: <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens, <kbd>/</kbd> finds.</p>`}`;
};

// One item: its text, the verdict, and what is known of it. Quotations are numbered in the order of the answer's marks.
const Item = ({ item, reading, quote, choose, again }) => {
  const { why } = readVerdict(item.verdict);
  const judges = Object.entries(item.judges);
  const said = new Set(judges.map(([, verdict]) => readVerdict(verdict).sign).filter((sign) => sign !== "?"));
  return html`<li class="item ${said.size > 1 ? "disputed" : ""}">
    <div class="said"><${Verdict} verdict=${item.verdict} />
      ${item.probability !== null && item.probability !== undefined && html`<small title="probability">${number(item.probability, 2)}</small>`}</div>
    <div class="about-item">
      <span class="text-item"><small>${item.index}</small> <${Text}>${item.text || "(text missing)"}<//>
        ${item.weight !== null && item.weight !== undefined && html` <span class="weight">${item.weight > 0 ? "+" : ""}${item.weight}</span>`}
        ${item.members.length > 0 && reading.about === "dimension" && html` <small>criteria ${item.members.join(", ")}</small>`}</span>
      ${why && html`<p class="why"><${Text}>${why}<//></p>`}
      ${item.reason && html`<p class="why"><${Text}>${item.reason}<//></p>`}
      ${item.evidence && html`<p class="why"><button type="button" class="quote" onClick=${() => choose(quote)}>
        “<${Text}>${item.evidence.quote || `turn ${item.evidence.turn}`}<//>”</button>
        ${item.evidence.founded ? "" : html` <span class="bad">not in the answer</span>`}</p>`}
      ${item.agreement !== null && item.agreement !== undefined && html`<small>${Math.round(item.agreement * 100)}% of the votes agree</small>`}
      ${judges.length > 0 && html`<p class="judges">${judges.map(([name, verdict]) => html`<span key=${name}><${Verdict} verdict=${verdict} /> <${Text}>${name}<//></span>`)}</p>`}
      ${again && html`<${Again} ask=${() => again(reading.name, item.index)} />`}
    </div></li>`;
};

// Ask about one item again; what the judge says now is shown next to what is stored.
const Again = ({ ask }) => {
  const [state, setState] = useState({});
  const press = async () => {
    setState({ isAsking: true });
    try { setState({ item: (await ask()).readings[0].items[0] }); } catch (error) { setState({ error }); }
  };
  return html`<p class="again"><button type="button" class="small" disabled=${state.isAsking} onClick=${press}>${state.isAsking ? "Asking …" : "Ask again"}</button>
    ${state.item && html` now: <${Verdict} verdict=${state.item.verdict} />
      ${state.item.probability !== null && html`<small> ${number(state.item.probability, 2)}</small>`}
      <${Text} class="why">${state.item.reason ?? readVerdict(state.item.verdict).why ?? ""}<//>`}
    ${state.error && html`<span class="bad">${state.error.message}</span>`}</p>`;
};

export const Readings = ({ readings, choose, again }) => {
  let quotes = 0;
  return readings.map((reading, place) => html`<details class="reading" key=${reading.name} open=${place < 2}>
    <summary><h4><${Text}>${reading.name}<//> <small>${count(reading.items.filter((item) => item.verdict === true).length, "item")} true of ${reading.items.length}</small></h4></summary>
    <ol class="items">${reading.items.map((item) => {
      const quote = item.evidence ? quotes++ : null;
      return html`<${Item} key=${item.index} item=${item} reading=${reading} quote=${quote} choose=${choose} again=${again} />`;
    })}</ol></details>`);
};

const One = ({ run, at, query }) => {
  const filters = readFilters(query);
  const kept = Object.fromEntries(query);
  const card = useAsked(`/api/run/${run}`);
  const { value, error } = useAsked(`/api/run/${run}/answer/${at}`, filters);
  const [chosen, setChosen] = useState(null);
  const [asked, setAsked] = useState(null);
  const canAsk = card.value?.can_ask && value?.response && value?.task_record;
  const turn = (to) => { if (to !== null && to !== undefined) { setAsked(null); setChosen(null); go("run", run, to, kept); scrollTo(0, 0); } };
  useKeys(actBy({
    j: () => turn(value?.next), ArrowRight: () => turn(value?.next), k: () => turn(value?.previous), ArrowLeft: () => turn(value?.previous),
    Escape: () => go("run", run, kept), u: () => go("run", run, kept),
  }));
  const choose = (quote) => {
    setChosen(quote);
    requestAnimationFrame(() => document.querySelector("mark.chosen")?.scrollIntoView({ block: "center" }));
  };
  const askAll = async () => {
    setAsked({ isAsking: true });
    try { setAsked(await post("/api/ask/again", { run, number: Number(at) })); } catch (caught) { setAsked({ error: caught }); }
  };
  const again = canAsk ? (reading, item) => post("/api/ask/again", { run, number: Number(at), reading, item }) : null;
  if (!value) return html`<${Crumbs} run=${card.value} /><${Fault} error=${error} />${!error && html`<p class="note">Reading …</p>`}`;
  return html`<${Crumbs} run=${card.value}> / answer ${value.place ? `${value.place} of ${value.found}` : Number(at) + 1}<//>
    <h1><${Text}>${value.task}<//> ${value.sample > 0 && html`<small>sample ${value.sample}</small>`}</h1>
    <p class="note"><${Text}>${[value.benchmark, value.policy, value.model, value.judge && `judged by ${value.judge}`].filter(Boolean).join(" · ")}<//></p>
    <div class="actions">
      <button type="button" disabled=${value.previous === null} onClick=${() => turn(value.previous)}>Previous <kbd>k</kbd></button>
      <button type="button" disabled=${value.next === null} onClick=${() => turn(value.next)}>Next <kbd>j</kbd></button>
      <${Link} to=${["run", run, kept]}>All answers <kbd>u</kbd><//>
      ${canAsk && html`<button type="button" disabled=${asked?.isAsking} onClick=${askAll}>${asked?.isAsking ? "Asking …" : "Judge again"}</button>`}
      ${canAsk && html`<${Link} to=${["ask", { run, task: value.task, benchmark: value.benchmark }]}>Try another answer<//>`}
    </div>
    <${Fault} error=${error ?? asked?.error} /><${Notes} notes=${value.notes} />
    ${Object.keys(value.addressing).length > 0 && html`<p class="alarm"><strong>The answer addresses its judge:</strong> <${Text}>${Object.values(value.addressing).join("; ")}<//></p>`}
    <div class="columns">
      <div>
        ${value.task_record && html`<details open><summary><h4>Question</h4></summary><${Conversation} messages=${value.task_record.messages} /></details>`}
        <h4>Answer ${value.response?.tokens ? html`<small>${count(value.response.tokens, "token")}</small>` : ""}</h4>
        <${Answer} response=${value.response} chosen=${chosen} />
        ${value.task_record?.reference && html`<details><summary><h4>Reference</h4></summary><${Text} tag="div" class="text">${value.task_record.reference}<//></details>`}
      </div>
      <div>
        ${asked?.readings && html`<section class="now"><h3>Now, by <${Text}>${asked.judge}<//></h3>
          <${Changes} before=${value.readings} after=${asked.readings} /><${Paid} paid=${asked.paid} /></section>`}
        <${Paid} paid=${value.paid} />
        <${Readings} readings=${value.readings} choose=${choose} again=${again} />
        ${value.task_record?.dimensions.length > 0 && html`<details><summary><h4>Dimensions</h4></summary><ul class="dimensions">${value.task_record.dimensions.map((one) => html`<li key=${one.name}>
          <b><${Text}>${one.name}<//></b> <span class="weight">${one.weight}</span> <small>criteria ${one.indices.join(", ")}</small><br /><${Text}>${one.description}<//></li>`)}</ul></details>`}
      </div>
    </div>`;
};

// What changed between the stored verdicts and those of now.
const Changes = ({ before, after }) => {
  const stored = new Map(before.flatMap((reading) => reading.items.map((item) => [`${reading.name} ${item.index}`, item.verdict])));
  const all = after.flatMap((reading) => reading.items.map((item) => ({ ...item, reading: reading.name, was: stored.get(`${reading.name} ${item.index}`) })));
  const changed = all.filter((item) => readVerdict(item.was).sign !== readVerdict(item.verdict).sign);
  return html`<p role="status">${changed.length} of ${all.length} verdicts differ from the stored ones.</p>
    <ul class="changes">${changed.map((item) => html`<li key=${`${item.reading} ${item.index}`}><${Verdict} verdict=${item.was} /> → <${Verdict} verdict=${item.verdict} />
      <small>${item.reading} ${item.index}</small> <${Text}>${item.text}<//></li>`)}</ul>`;
};
