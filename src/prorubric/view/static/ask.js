// Play: an answer that is pasted here, judged under everything that its task allows. Nothing of it is kept.
import { Fault, html, Text, post, setQuery, useAsked, useEffect, useState } from "./app.js";
import { Conversation, count, Field, Paid } from "./parts.js";
import { Readings } from "./answers.js";

// Benchmarks that share prompts have the same ids.
const placeOf = (benchmark, id) => [benchmark, id].filter(Boolean).join(" ");

export default ({ query }) => {
  const [run, task, benchmark, find] = ["run", "task", "benchmark", "find"].map((name) => query.get(name) ?? "");
  const runs = useAsked("/api/runs");
  const tasks = useAsked(run ? `/api/run/${run}/tasks` : null, { text: find });
  const record = useAsked(run && task ? `/api/run/${run}/task` : null, { name: task, benchmark });
  const [answer, setAnswer] = useState("");
  const [question, setQuestion] = useState("");
  const [criteria, setCriteria] = useState("");
  const [asked, setAsked] = useState({});
  const judge = runs.value?.judge;
  const choose = (place) => {
    const found = (tasks.value ?? []).find((one) => placeOf(one.benchmark, one.id) === place);
    setQuery({ task: found?.id ?? null, benchmark: found?.benchmark ?? null });
  };
  const chosen = task ? placeOf(benchmark, task) : "";
  const isTyped = !run;
  useEffect(() => setAsked({}), [run, chosen]); // what was said about another task
  const isReady = answer.trim() && (isTyped ? question.trim() && criteria.trim() : task);
  const send = async (event) => {
    event.preventDefault();
    setAsked({ isAsking: true });
    try { setAsked(await post("/api/ask/play", isTyped ? { answer, question, criteria } : { answer, run, task, benchmark })); } catch (error) { setAsked({ error }); }
  };
  return html`<h1>Try an answer</h1>
    <p class="note">The judge reads what you paste, and every scheme says what it pays. Nothing is kept.</p>
    ${runs.value && !judge && html`<p class="warn">No judge is configured. Start with one: <code>prorubric view --judge http://host:port/v1#name</code></p>`}
    ${judge && html`<p class="note">Judge: <${Text}>${judge}<//></p>`}
    <form class="play" onSubmit=${send}>
      <label class="field"><span>Tasks of</span><select name="run" value=${run} onChange=${(event) => setQuery({ run: event.target.value, task: null, benchmark: null })}>
        <option value="">your own question</option>
        ${(runs.value?.runs ?? []).filter((one) => one.page === "answers").map((one) => html`<option value=${one.id} selected=${one.id === run}>${one.path}</option>`)}</select></label>
      ${isTyped ? html`
        <label class="field wide-field"><span>Question</span><textarea name="question" rows="3" value=${question} onInput=${(event) => setQuestion(event.target.value)}></textarea></label>
        <label class="field wide-field"><span>Criteria, one a line; a weight other than 1 before a bar, as in “-2 | Recommends antibiotics.”</span>
          <textarea name="criteria" rows="4" value=${criteria} onInput=${(event) => setCriteria(event.target.value)}></textarea></label>` : html`
        <${Field} name="find" label="Find a task" value=${find} />
        <label class="field wide-field"><span>Task</span><select name="task" value=${chosen} onChange=${(event) => choose(event.target.value)}>
          <option value="">choose one</option>
          ${task && !(tasks.value ?? []).some((one) => placeOf(one.benchmark, one.id) === chosen) && html`<option value=${chosen} selected>${task}</option>`}
          ${(tasks.value ?? []).map((one) => html`<option value=${placeOf(one.benchmark, one.id)} selected=${placeOf(one.benchmark, one.id) === chosen}>${placeOf(one.benchmark, one.id)}: ${one.question.slice(0, 80)}</option>`)}</select></label>
        ${task && record.value && html`<${Conversation} messages=${record.value.messages} />
          <details><summary>${count(record.value.criteria.length, "criterion", "criteria")}</summary><ol>${record.value.criteria.map((one) => html`<li key=${one.index}><${Text}>${one.text}<//> <span class="weight">${one.weight}</span></li>`)}</ol></details>`}`}
      <label class="field wide-field"><span>Answer</span><textarea name="answer" rows="10" value=${answer} onInput=${(event) => setAnswer(event.target.value)}></textarea></label>
      <button type="submit" class="main" disabled=${!judge || !isReady || asked.isAsking}>${asked.isAsking ? "Asking …" : "Judge it"}</button>
    </form>
    <${Fault} error=${tasks.error ?? record.error ?? asked.error} />
    ${asked.readings && html`<section aria-live="polite" class="columns"><div><${Paid} paid=${asked.paid} /></div>
      <div><${Readings} readings=${asked.readings} choose=${() => {}} again=${null} /></div></section>`}`;
};
