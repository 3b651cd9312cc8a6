// Two runs side by side, or two judges of one run: a list of the answers that both have, and one of them.
import { Fault, html, Link, Text, go, setQuery, useAsked } from "./app.js";
import { actBy, Answer, Check, Choice, Conversation, count, Field, Notes, number, order, Pager, readVerdict, useKeys, Verdict } from "./parts.js";

const FILTERS = ["text", "task", "criterion", "scheme", "different"];

export default ({ path, query }) => (path[2] === undefined
  ? html`<${List} a=${path[0]} b=${path[1]} query=${query} />`
  : html`<${One} a=${path[0]} b=${path[1]} at=${path[2]} query=${query} />`);

const useNames = (a, b, query) => {
  const [first, second] = [useAsked(`/api/run/${a}`), useAsked(`/api/run/${b}`)];
  const name = (card, judge) => (a === b && judge ? judge : [card.value?.path ?? "…", judge].filter(Boolean).join(", "));
  return [name(first, query.get("judge_a")), name(second, query.get("judge_b"))];
};
const sides = (a, b, query) => ({ a, b, judge_a: query.get("judge_a") ?? "", judge_b: query.get("judge_b") ?? "" });

const List = ({ a, b, query }) => {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const page = Number(query.get("page") ?? 0) || 0;
  const names = useNames(a, b, query);
  const { value, error, isLoading } = useAsked("/api/compare", { ...sides(a, b, query), ...filters, different: filters.different || null, page });
  const kept = Object.fromEntries(query);
  if (!value) return html`<p class="over"><${Link} to=${[]}>Runs<//> / compare</p><${Fault} error=${error} />${!error && html`<p class="note">Comparing …</p>`}`;
  const { about } = value;
  const schemes = order(Object.keys(about.schemes)).map((name) => [name, about.schemes[name]]);
  const shown = schemes.filter(([name]) => name === filters.scheme).concat(schemes.filter(([name]) => name !== filters.scheme)).slice(0, 2);
  return html`<p class="over"><${Link} to=${[]}>Runs<//> / compare</p>
    <h1><${Text}>${names[0]}<//> <small>and</small> <${Text}>${names[1]}<//></h1>
    <${Fault} error=${error} /><${Notes} notes=${value.notes} />
    <dl class="facts">
      <div><dt>Answers that both have</dt><dd>${about.answers.toLocaleString("en")}${about.only_first + about.only_second > 0 ? `; ${about.only_first} only here, ${about.only_second} only there` : ""}</dd></div>
      <div><dt>Verdicts that differ</dt><dd>${about.different.toLocaleString("en")} of ${about.items.toLocaleString("en")}${about.items ? ` (${number(100 * about.different / about.items, 1)}%)` : ""}</dd></div>
      <div><dt>Without a verdict on one side</dt><dd>${about.open.toLocaleString("en")}</dd></div>
      ${schemes.slice(0, 3).map(([name, one]) => html`<div key=${name}><dt>Mean, <${Text}>${name}<//></dt><dd>${number(one.first)} and ${number(one.second)}</dd></div>`)}
    </dl>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Field} name="text" label="Words" value=${filters.text} /><${Field} name="task" label="Task" value=${filters.task} />
      <${Field} name="criterion" label="Criterion" value=${filters.criterion} />
      <${Choice} name="scheme" label="Scheme pays differently" value=${filters.scheme} options=${schemes.map(([name]) => name)} none="–" />
      ${about.judges_a.length > 1 && html`<${Choice} name="judge_a" label="First judge" value=${query.get("judge_a") ?? ""} options=${about.judges_a} none="all together" />`}
      ${about.judges_b.length > 1 && html`<${Choice} name="judge_b" label="Second judge" value=${query.get("judge_b") ?? ""} options=${about.judges_b} none="all together" />`}
      <${Check} name="different" label="only where verdicts differ" value=${filters.different} />
      <button type="button" onClick=${() => setQuery(Object.fromEntries([...FILTERS, "page"].map((name) => [name, null])))}>Clear</button>
    </form>
    <${Pager} found=${value.found} size=${value.page_size} page=${page} />
    <div class=${isLoading ? "stale" : ""}><table class="wide answers"><thead><tr><th scope="col">question</th><th scope="col" class="n">verdicts that differ</th>
      ${shown.map(([name]) => html`<th scope="col" class="n" key=${name}><${Text}>${name}<//></th>`)}</tr></thead>
      <tbody>${value.rows.map((row) => html`<tr key=${row.number} onClick=${(event) => event.target.closest("a") || go("compare", a, b, row.number, kept)}>
        <th scope="row"><${Link} to=${["compare", a, b, row.number, kept]}><${Text}>${row.task}<//> ${row.sample > 0 ? `#${row.sample}` : ""}<//>
          <small class="below"><${Text}>${[row.benchmark, row.policy].filter(Boolean).join(" · ")}<//></small><${Text} tag="div" class="snippet">${row.question}<//></th>
        <td class="n" data-head="differ">${row.different} of ${row.items}${row.open > 0 && html`<br /><span class="v open">${row.open} open</span>`}</td>
        ${shown.map(([name]) => html`<td class="n" key=${name} data-head=${name}>${row.scores[name] ? `${number(row.scores[name][0], 2)} · ${number(row.scores[name][1], 2)}` : "–"}</td>`)}
      </tr>`)}</tbody></table></div>
    ${value.found === 0 && html`<p class="note">No answers match.</p>`}`;
};

const One = ({ a, b, at, query }) => {
  const names = useNames(a, b, query);
  const kept = Object.fromEntries(query);
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const { value, error } = useAsked(`/api/compare/${at}`, { ...sides(a, b, query), ...filters, different: filters.different || null });
  const turn = (to) => { if (to !== null && to !== undefined) { go("compare", a, b, to, kept); scrollTo(0, 0); } };
  useKeys(actBy({
    j: () => turn(value?.next), ArrowRight: () => turn(value?.next), k: () => turn(value?.previous), ArrowLeft: () => turn(value?.previous), u: () => go("compare", a, b, kept), Escape: () => go("compare", a, b, kept),
  }));
  if (!value) return html`<p class="over"><${Link} to=${["compare", a, b, kept]}>All answers<//></p><${Fault} error=${error} />${!error && html`<p class="note">Reading …</p>`}`;
  const { first, second } = value;
  const isSame = first.response?.text === second.response?.text;
  return html`<p class="over"><${Link} to=${[]}>Runs<//> / <${Link} to=${["compare", a, b, kept]}>compare<//>${value.place ? ` / answer ${value.place} of ${value.found}` : ""}</p>
    <h1><${Text}>${value.task}<//></h1>
    <p class="note">${value.different} of ${count(value.items, "verdict")} differ${value.open ? `, ${value.open} open` : ""}.
      ${Object.entries(value.scores).slice(0, 4).map(([name, pair]) => html` <${Text}>${name}<//>: ${number(pair[0])} and ${number(pair[1])}.`)}</p>
    <div class="actions"><button type="button" disabled=${value.previous === null} onClick=${() => turn(value.previous)}>Previous <kbd>k</kbd></button>
      <button type="button" disabled=${value.next === null} onClick=${() => turn(value.next)}>Next <kbd>j</kbd></button>
      <${Link} to=${["compare", a, b, kept]}>All answers <kbd>u</kbd><//></div>
    ${!isSame && html`<div class="columns">${[first, second].map((side, place) => html`<div key=${place}><h4>Answer, <${Text}>${names[place]}<//></h4><${Answer} response=${side.response} /></div>`)}</div>`}
    <div class="columns"><div>
    ${first.task_record && html`<details open=${isSame}><summary><h4>Question</h4></summary><${Conversation} messages=${first.task_record.messages} /></details>`}
    ${isSame && html`<h4>Answer</h4><${Answer} response=${first.response} />`}
    </div><div>
    ${first.readings.map((reading) => {
      const other = second.readings.find((one) => one.name === reading.name);
      return other && html`<section key=${reading.name}><h3><${Text}>${reading.name}<//></h3><div class="scroll" role="region" aria-label=${reading.name} tabindex="0">
        <table class="versus"><thead><tr><th scope="col">item</th><th scope="col"><${Text}>${names[0]}<//></th><th scope="col"><${Text}>${names[1]}<//></th></tr></thead>
        <tbody>${reading.items.map((item, place) => {
          const their = other.items[place];
          const [ours, theirs] = [readVerdict(item.verdict), readVerdict(their?.verdict)];
          const isOpen = ours.look === "open" || theirs.look === "open";
          return html`<tr key=${item.index} class=${!isOpen && ours.sign !== theirs.sign ? "changed" : ""}>
            <th scope="row"><small>${item.index}</small> <${Text}>${item.text || "(text missing)"}<//></th>
            ${[item, their].map((one) => html`<td>${one && html`<${Verdict} verdict=${one.verdict} /> ${one.probability !== null && one.probability !== undefined && html`<small>${number(one.probability, 2)}</small>`}
              <${Text} class="why">${one.reason ?? readVerdict(one.verdict).why ?? ""}<//>`}</td>`)}</tr>`;
        })}</tbody></table></div></section>`;
    })}</div></div>`;
};
