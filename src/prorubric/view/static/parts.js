// What several pages show: verdicts, scores, states, pages of a list, questions and answers.
import { html, Link, Text, setQuery, useEffect, useLayoutEffect, useRef, useState } from "./app.js";

export const number = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits));
export const count = (value, word, several = `${word}s`) => `${value.toLocaleString("en")} ${value === 1 ? word : several}`;
export const money = (value) => (value === null || value === undefined ? "–" : `$${value.toFixed(value < 1 ? 4 : 2)}`);

// Schemes in the order in which people look at them.
const FIRST = ["additive", "prorubric", "conjunctive"];
export const order = (schemes) => [...FIRST.filter((name) => schemes.includes(name)), ...schemes.filter((name) => !FIRST.includes(name))];

// A verdict in a word, how it looks, and why there is none.
export const readVerdict = (verdict) => {
  if (verdict === true) return { sign: "✓", word: "true", look: "y" };
  if (verdict === false) return { sign: "✗", word: "false", look: "n" };
  if (typeof verdict === "number") return { sign: String(Math.round(verdict * 100) / 100), word: String(verdict), look: "" };
  if (verdict && "not_applicable" in verdict) return { sign: "n/a", word: "does not apply", look: "na", why: verdict.not_applicable };
  if (verdict && "unknown" in verdict) return { sign: "?", word: "unknown", look: "open", why: verdict.unknown };
  return { sign: "–", word: "no verdict", look: "na" };
};
export const Verdict = ({ verdict }) => {
  const { sign, word, look } = readVerdict(verdict);
  return html`<span class="v ${look}" title=${word} aria-label=${word}>${sign}</span>`;
};

export const State = ({ state, reason }) => html`<span class="state ${state}" title=${reason || undefined}>${state}</span>`;

export const Bar = ({ value }) => value !== null && value !== undefined && html`<meter min="0" max="1" value=${value}></meter>`;

// A score, or what it could still be.
export const Score = ({ value, low, high }) => (value !== null && value !== undefined
  ? html`<span>${number(value)}</span>`
  : html`<span class="open" title="unknown verdicts leave it open">${number(low)} … ${number(high)}</span>`);

export const Pager = ({ found, size, page, what = "answer" }) => {
  const pages = Math.max(1, Math.ceil(found / size));
  const turn = (to) => { setQuery({ page: to || null }); document.getElementById("main").scrollIntoView(); };
  return html`<div class="pager" role="navigation" aria-label="Pages of the list">
    <span role="status">${count(found, what)}${pages > 1 ? `, page ${page + 1} of ${pages}` : ""}</span>
    ${pages > 1 && html`<button type="button" disabled=${page <= 0} onClick=${() => turn(page - 1)}>Previous</button>
      <button type="button" disabled=${page + 1 >= pages} onClick=${() => turn(page + 1)}>Next</button>`}
  </div>`;
};

// A field whose value goes into the address a moment after the last key.
export const Field = ({ name, label, value, type = "search", ...rest }) => {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value); // what comes back from the address must not replace what was typed since
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    if (typed === sent.current) return undefined;
    const timer = setTimeout(() => { sent.current = typed; setQuery({ [name]: typed, page: null }); }, 100);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<label class="field"><span>${label}</span>
    <input type=${type} name=${name} value=${typed} onInput=${(event) => setTyped(event.target.value)} ...${rest} /></label>`;
};
export const Choice = ({ name, label, value, options, none = "any" }) => html`<label class="field"><span>${label}</span>
  <select name=${name} value=${value} onChange=${(event) => setQuery({ [name]: event.target.value, page: null })}>
    <option value="">${none}</option>
    ${options.map((option) => {
      const [key, shown] = Array.isArray(option) ? option : [option, option];
      return html`<option value=${key} selected=${key === value}>${shown}</option>`;
    })}
  </select></label>`;
export const Check = ({ name, label, value }) => html`<label class="check">
  <input type="checkbox" name=${name} checked=${Boolean(value)} onChange=${(event) => setQuery({ [name]: event.target.checked ? "1" : null, page: null })} /> ${label}</label>`;

export const Notes = ({ notes }) => notes?.map((note) => html`<p class="warn"><${Text}>${note}<//></p>`);

export const Conversation = ({ messages }) => html`<div class="talk">${messages.map((message, place) => html`
  <section key=${place}>${messages.length > 1 && html`<h5>${message.role}</h5>`}<${Text} tag="div" class="text">${message.content}<//></section>`)}</div>`;

// An answer in which what the judge quotes is marked; `chosen` is the place of a quotation to point out.
export const Answer = ({ response, chosen }) => {
  if (!response) return html`<p class="note">The text of this answer is missing.</p>`;
  return html`<div class="talk">${response.turns.map((turn, place) => html`<section key=${place}>
    ${response.turns.length > 1 && html`<h5>${turn.role}</h5>`}
    <${Text} tag="div" class="text">${turn.pieces.map((piece) => (piece.quotes.length
      ? html`<mark class=${piece.quotes.includes(chosen) ? "chosen" : ""}>${piece.text}</mark>`
      : piece.text))}<//>
    ${turn.calls.map((call) => html`<pre class="call">${call}</pre>`)}
  </section>`)}</div>`;
};

// Keys outside of text fields. Keys may follow each other faster than the page is drawn: the listener is there as soon
// as its page is, and always asks the latest `act`.
export const useKeys = (act) => {
  const latest = useRef(act);
  latest.current = act;
  useLayoutEffect(() => {
    const listen = (event) => {
      const isTyping = event.target.closest?.("input, textarea, select");
      if (isTyping && event.key !== "Escape" && !(event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
      if (!event.altKey) latest.current(event.key, event);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
};
// Actions by key, without Ctrl or Meta.
export const actBy = (keys) => (key, event) => {
  if (event.ctrlKey || event.metaKey || !keys[key]) return;
  event.preventDefault();
  keys[key]();
};

export const Crumbs = ({ run, children }) => html`<p class="over">
  <${Link} to=${[]}>Runs<//> / ${run ? html`<${Link} to=${[run.page === "training" ? "training" : "run", run.id]}><${Text}>${run.path}<//><//>` : "…"}${children}</p>`;

const Pay = ({ one }) => html`<li><${Text}>${one.scheme}<//> <${Bar} value=${one.value} /> <b><${Score} ...${one} /></b></li>`;

// What every scheme pays; those that cannot tell are folded away with the reason.
export const Paid = ({ paid }) => {
  const known = paid.filter((one) => !one.why_not);
  const others = paid.filter((one) => one.why_not);
  const more = known.filter((one) => one.scheme.endsWith("+appropriateness"));
  const plain = known.filter((one) => !more.includes(one));
  return html`<section class="paid"><h4>What each scheme pays</h4>
    <ul class="pays">${plain.map((one) => html`<${Pay} key=${one.scheme} one=${one} />`)}</ul>
    ${more.length > 0 && html`<details><summary>with appropriateness</summary><ul class="pays">${more.map((one) => html`<${Pay} key=${one.scheme} one=${one} />`)}</ul></details>`}
    ${others.length > 0 && html`<details><summary>${count(others.length, "scheme")} that need other verdicts</summary>
      <ul>${others.map((one) => html`<li key=${one.scheme}><${Text}>${one.scheme}<//>: <${Text}>${one.why_not}<//></li>`)}</ul></details>`}
  </section>`;
};
