// The review of compiled rubrics: the files, the queue of one file, and one task with its checklist and dimensions.
//
// A change is shown first, with its faults and what it does to stored scores, and saved when the reviewer says so. The
// server refuses a change to a state that is no longer there; the page then shows the state that is.
import { html, useState, useEffect, useLayoutEffect, useRef, get, post, Link, route, go, guardLeaving, setQuery, useAsked, Fault, Text } from "./app.js";
import { actBy, count, useKeys } from "./parts.js";
import Sortable from "./vendor/sortable.js";

const PAGE = 50;
const FILTER = { by: "all", kind: "", status: "any", text: "", n: "50", seed: "0" };
const BY = {
  all: "all, in the order of the file", fault: "with faults, most first", repaired: "repaired by compile",
  disagreement: "two compilations disagree", sample: "a random sample",
};
const STATUS = { any: "any", open: "not decided", accepted: "accepted", rejected: "rejected", changed: "changed", noted: "with a note" };

export default ({ path: [file, task], query }) => {
  const list = () => (file === undefined ? html`<${Files} />` : html`<${QueuePage} key=${file} file=${file} query=${query} />`);
  return html`<div class="review">${task === undefined ? list() : html`<${Editor} key=${`${file}\n${task}`} file=${file} task=${task} query=${query} />`}</div>`;
};

const readFilter = (query) => Object.fromEntries(Object.keys(FILTER).map((key) => [key, query.get(key) ?? FILTER[key]]));
const dropUsual = (filter) => Object.fromEntries(Object.entries(filter).map(([key, value]) => [key, value === FILTER[key] ? "" : value]));
const percent = (share) => `${Math.round(share * 100)}%`;

const Files = () => {
  const { value, error } = useAsked("/api/review/files");
  useEffect(() => { if (value?.first) location.replace(route("review", value.files[0])); }, [value]);
  return html`<h1>Review</h1><${Fault} error=${error} />
    ${value && !value.files.length && html`<p class="warn">There is no compiled file here. Make one with <code>prorubric compile</code>, or name one: <code>prorubric view compiled.jsonl</code>.</p>`}
    <ul class="plain">${value?.files.map((name) => html`<li><${Link} to=${["review", name]}><${Text}>${name}<//><//></li>`)}</ul>`;
};

// Who is reviewing: kept in this browser, by default the account of the server.
const readWho = () => { try { return localStorage.getItem("prorubric-who") ?? ""; } catch { return ""; } };
const Who = () => {
  const { value } = useAsked("/api/review/files");
  const [who, setWho] = useState(readWho);
  const keep = (event) => { setWho(event.target.value); try { localStorage.setItem("prorubric-who", event.target.value); } catch { /* private window */ } };
  return html`<label class="who">You are <input value=${who} placeholder=${value?.who ?? ""} maxlength="80" onInput=${keep} /></label>`;
};

const QueuePage = ({ file, query }) => {
  const filter = readFilter(query);
  const offset = Number(query.get("offset") ?? 0) || 0;
  const [isReading, setReading] = useState(true);
  const progress = useAsked("/api/review/progress", { file }, isReading ? 500 : 3000);
  const { value, error } = useAsked("/api/review/queue", { file, ...filter, offset, limit: PAGE }, isReading ? 1000 : 5000);
  if (progress.value && progress.value.reading !== isReading) setReading(progress.value.reading);
  const search = useRef(null);
  const move = (by) => {
    const links = [...document.querySelectorAll(".queue a")];
    links[Math.min(Math.max(links.indexOf(document.activeElement) + by, 0), links.length - 1)]?.focus();
  };
  const [down, up] = [() => move(1), () => move(-1)];
  const next = () => value && offset + PAGE < value.total && set({ offset: offset + PAGE });
  const previous = () => offset && set({ offset: Math.max(0, offset - PAGE) || "" });
  useKeys(actBy({
    "/": () => search.current?.focus(), j: down, ArrowDown: down, k: up, ArrowUp: up, "]": next, ArrowRight: next, "[": previous, ArrowLeft: previous,
  }));
  const set = (changes) => setQuery(dropUsual({ offset: "", ...changes }));
  const choose = (name) => (event) => set({ [name]: event.target.value });
  const faults = Object.entries(progress.value?.faults ?? {});
  const sample = value?.sample;
  return html`<h1>Review <${Text}>${file}<//></h1>
    <${ProgressLine} progress=${progress.value} />
    <${Fault} error=${error ?? progress.error} />
    <form class="filter" onSubmit=${(event) => event.preventDefault()}>
      <label>Show <select value=${filter.by} onChange=${choose("by")}>${Object.entries(BY).map(([key, name]) => html`<option value=${key} disabled=${key === "disagreement" && progress.value && !progress.value.other}>${name}</option>`)}</select></label>
      ${filter.by === "fault" && html`<label>Fault <select value=${filter.kind} onChange=${choose("kind")}><option value="">any</option>${faults.map(([kind, tasks]) => html`<option value=${kind}>${kind} (${tasks})</option>`)}</select></label>`}
      ${filter.by === "sample" && html`<label>n <input type="number" min="1" value=${filter.n} onInput=${choose("n")} /></label><label>Seed <input type="number" value=${filter.seed} onInput=${choose("seed")} /></label>`}
      <label>Status <select value=${filter.status} onChange=${choose("status")}>${Object.entries(STATUS).map(([key, name]) => html`<option value=${key}>${name}</option>`)}</select></label>
      <label>Find <input type="search" ref=${search} value=${filter.text} placeholder="id or question" onInput=${choose("text")} /></label>
      <${Who} />
    </form>
    ${sample && html`<p class="note" data-sample>Sample of ${sample.n}: ${sample.decided} decided, ${sample.accepted} accepted${sample.low !== null ? `; in the whole file ${percent(sample.low)} to ${percent(sample.high)} would be (95%)` : ""}.</p>`}
    ${value && html`<p class="note" aria-live="polite">${count(value.total, "task")}${value.reading ? "; the file is still being read …" : ""}</p>
    <ul class="queue plain">${value.rows.map((row, place) => html`<li key=${row.id}><${QueueRow} file=${file} row=${row} at=${offset + place} filter=${filter} /></li>`)}</ul>
    <${Pager} offset=${offset} total=${value.total} set=${set} />`}`;
};

const ProgressLine = ({ progress }) => progress && html`
  <progress max=${Math.max(progress.tasks, 1)} value=${progress.tasks - progress.open} aria-label="decided"></progress>
  <p class="note">${(progress.tasks - progress.open).toLocaleString("en")} of ${count(progress.tasks, "task")} decided: ${progress.accepted.toLocaleString("en")} accepted, ${progress.rejected.toLocaleString("en")} rejected; ${progress.changed.toLocaleString("en")} changed.
    ${" "}${Object.entries(progress.steps).map(([who, steps]) => `${who}: ${count(steps, "step")}`).join(", ")}
    ${progress.without_dimensions ? ` ${count(progress.without_dimensions, "task")} without dimensions cannot be reviewed.` : ""}
    ${Object.entries(progress.unreadable).map(([kind, rows]) => ` Not read: ${rows} × ${kind}.`)}
    ${progress.unapplied ? ` ${count(progress.unapplied, "step")} in ${progress.reviews} made on tasks or dimensions that the file no longer has: not applied.` : ""}</p>`;

const QueueRow = ({ file, row, at, filter }) => {
  const kinds = Object.entries(row.faults.reduce((found, kind) => ({ ...found, [kind]: (found[kind] ?? 0) + 1 }), {}));
  return html`<${Link} to=${["review", file, row.id, { ...dropUsual(filter), at: at || "" }]} class="row">
    <span class="title"><${Text} tag="b">${row.id}<//> <${Text}>${row.title}<//></span>
    <span class="marks"><${Status} status=${row.status} />
      ${row.changed && html`<span class="chip">changed</span>`}${row.repaired && html`<span class="chip">repaired</span>`}${row.noted && html`<span class="chip">note</span>`}
      ${row.agreement !== null && row.agreement < 1 && html`<span class="chip">agreement ${row.agreement.toFixed(2)}</span>`}
      ${kinds.map(([kind, times]) => html`<span class="chip bad">${kind}${times > 1 ? ` ×${times}` : ""}</span>`)}
      <small>${count(row.criteria, "criterion", "criteria")}, ${count(row.dimensions, "dimension")}</small></span><//>`;
};
const Status = ({ status }) => html`<span class=${`chip status ${status}`}>${STATUS[status]}</span>`;

const Pager = ({ offset, total, set }) => total > PAGE && html`<p class="pager">
  <button disabled=${!offset} onClick=${() => set({ offset: Math.max(0, offset - PAGE) || "" })}>Previous</button>
  <span>${offset + 1}–${Math.min(offset + PAGE, total)} of ${total.toLocaleString("en")}</span>
  <button disabled=${offset + PAGE >= total} onClick=${() => set({ offset: offset + PAGE })}>Next</button></p>`;

const HELP = [
  ["j, k or ↓, ↑", "next, previous criterion"], ["1 … 5", "move the criterion to this dimension"], ["x", "mark the criterion, to split it off"],
  ["s", "split the marked criteria off"], ["m, then 1 … 5", "merge the criterion’s dimension into another"], ["r, w", "rename, reword the criterion’s dimension"],
  ["Enter, Escape", "save, drop the change that is shown (Ctrl+Enter in a long text)"], ["a, A", "accept; accept and go to the next task"], ["d", "reject, with a reason"], ["t", "take the decision back"], ["n", "write a note"],
  ["u, U", "undo, redo (also Ctrl+Z, Ctrl+Shift+Z)"], ["], [ or →, ←", "next, previous task of the queue"], ["q", "back to the queue"], ["?", "show or hide this help"],
];

const describe = (operation) => {
  switch (operation.op) {
    case "move": return `move criterion ${operation.criterion} to dimension ${operation.to}`;
    case "split": return `split ${operation.criteria.length === 1 ? "criterion" : "criteria"} ${operation.criteria.join(", ")} off dimension ${operation.dimension}`;
    case "merge": return `merge dimension ${operation.dimension} into dimension ${operation.into}`;
    case "rename": return `rename dimension ${operation.dimension}`;
    case "reword": return `reword dimension ${operation.dimension}`;
    case "reject": return "reject";
    case "note": return operation.text ? "write a note" : "remove the note";
    case "reopen": return "take the decision back";
    default: return operation.op;
  }
};

const Editor = ({ file, task, query }) => {
  const [state, setState] = useState(null);
  const [error, setError] = useState(null);
  const [pending, setPending] = useState(null); // { operation, shown, error }: a change that is not saved
  // What holds at this moment: a reply or the next key may come before the page is drawn again.
  const live = useRef({ state: null, pending: null });
  const line = useRef(Promise.resolve());
  const [notice, setNotice] = useState(null);
  const [selected, setSelected] = useState(1);
  const latest = useRef(1); // what is selected when a reply of the server arrives
  latest.current = selected;
  const [marked, setMarked] = useState([]);
  const [isMerging, setMerging] = useState(false);
  const [hasHelp, setHelp] = useState(false);
  const [around, setAround] = useState(null);
  const turn = useRef(0);
  const timer = useRef(0);
  const filter = readFilter(query);
  const at = Number(query.get("at") ?? 0) || 0;

  const take = (found) => { live.current.state = found; setState(found); setError(null); };
  const hold = (change) => {
    live.current.pending = typeof change === "function" ? change(live.current.pending) : change;
    setPending(live.current.pending);
  };
  // Steps are sent one after the other, each on the state that the one before has led to.
  const inTurn = (work) => { line.current = line.current.then(work); return line.current; };
  const load = () => get("/api/review/task", { file, task }).then(take, setError);
  useEffect(() => { load(); }, []);
  useEffect(() => {
    const start = Math.max(at - 1, 0);
    get("/api/review/queue", { file, ...filter, offset: start, limit: 3 }).then((page) => {
      const place = page.rows.findIndex((row) => row.id === task);
      const here = place < 0 ? at - start : place;
      // A task that has left the queue makes room: the next one is where it was.
      const next = page.rows[place < 0 ? here : here + 1];
      setAround({ before: here > 0 ? page.rows[here - 1] : undefined, next, at: start + here, nextAt: start + (place < 0 ? here : here + 1), total: page.total });
    }, () => setAround(null));
  }, [state?.hash]);

  // What others do shows within seconds, unless a change is being saved.
  useEffect(() => {
    const look = setInterval(async () => {
      if (document.hidden || pending || !state) return;
      const found = await get("/api/review/task", { file, task }).catch(() => null);
      if (live.current.pending || live.current.state.hash !== state.hash) return; // something was begun or saved meanwhile
      if (found && found.hash !== state.hash) { take(found); setNotice({ text: `Changed by ${found.steps[0]?.who ?? "someone"}; this is the state now.` }); }
    }, 4000);
    return () => clearInterval(look);
  }, [state?.hash, Boolean(pending)]);

  // A change that is not saved is not lost by a click elsewhere, nor by the browser's way back.
  useLayoutEffect(() => {
    if (!pending) return undefined;
    const stay = (event) => {
      if (!event.target.closest?.('a[href^="#"]')) return;
      event.preventDefault();
      setNotice({ text: "Save or drop the change first." });
    };
    const here = location.href;
    guardLeaving(() => {
      if (location.href === here) return true;
      history.pushState(null, "", here);
      setNotice({ text: "Save or drop the change first." });
      return false;
    });
    const warn = (event) => event.preventDefault();
    document.addEventListener("click", stay, true);
    addEventListener("beforeunload", warn);
    return () => { guardLeaving(null); document.removeEventListener("click", stay, true); removeEventListener("beforeunload", warn); };
  }, [Boolean(pending)]);

  // What is being changed stays in view above the bar.
  useEffect(() => {
    const changed = document.activeElement?.closest?.(".dimension") ? document.activeElement : document.querySelector(".members .new");
    if (pending) changed?.scrollIntoView({ block: "nearest" });
  }, [pending?.shown?.hash]);

  const body = (more) => ({ file, task, before: live.current.state.hash, who: readWho(), ...more });
  const check = (operation) => {
    const mine = ++turn.current;
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => {
      try {
        const shown = await post("/api/review/check", body({ operation }));
        const { refused = null } = shown;
        if (mine === turn.current) hold((old) => old && { ...old, shown: refused ? null : shown, error: refused });
      } catch (failed) {
        if (mine === turn.current) hold((old) => old && { ...old, shown: null, error: failed.message });
      }
    }, pending ? 150 : 0);
  };
  const propose = (operation) => {
    setNotice(null);
    setMerging(false);
    hold((old) => ({ operation, shown: old?.shown ?? null, error: null }));
    check(operation);
  };
  const drop = () => { turn.current++; clearTimeout(timer.current); hold(null); setNotice(null); setMerging(false); };
  const send = async (path, more, said) => {
    turn.current++;
    clearTimeout(timer.current);
    try {
      take(await post(`/api/review/${path}`, body(more)));
      hold(null);
      setMarked([]);
      setNotice({ text: said, isGood: true });
      if (path !== "do" || more.operation.op === "move") focus(`.dimensions [data-criterion="${latest.current}"]`);
      return true;
    } catch (refused) {
      if (refused.status === 409) {
        take(refused.body.state);
        const typed = more.operation?.description ?? more.operation?.text ?? more.operation?.name;
        hold(null);
        setMarked([]);
        setNotice({ text: `Not saved: ${refused.message}. Below is the state now.`, typed });
      } else if (live.current.pending) hold((old) => ({ ...old, error: refused.message }));
      else setNotice({ text: refused.message });
      return false;
    }
  };
  const save = () => inTurn(() => {
    const { operation } = live.current.pending ?? {};
    return operation && send("do", { operation }, `Saved: ${describe(operation)}.`);
  });
  const accept = (isLast) => inTurn(async () => {
    const isAccepted = live.current.state.status === "accepted" || (await send("do", { operation: { op: "accept" } }, "Accepted."));
    if (isAccepted && isLast) visit("next");
  });
  const reopen = () => inTurn(() => live.current.state.decision && send("do", { operation: { op: "reopen" } }, "Taken back."));
  const step = (path) => inTurn(() => {
    const operation = live.current.state[path];
    return operation && send(path, {}, `${path === "undo" ? "Undone" : "Done again"}: ${describe(operation)}.`);
  });
  const visit = (way) => {
    const row = around?.[way];
    if (row) go("review", file, row.id, { ...dropUsual(filter), at: (way === "next" ? around.nextAt : around.at - 1) || "" });
    else setNotice({ text: way === "next" ? "This is the last task of the queue." : "This is the first task of the queue." });
  };
  const focus = (selector) => setTimeout(() => document.querySelector(selector)?.focus(), 0);
  const homeOf = (criterion) => state.dimensions.findIndex((part) => part.indices.includes(criterion)) + 1;
  const select = (criterion) => { setSelected(criterion); document.querySelector(`.dimensions [data-criterion="${criterion}"]`)?.focus(); };
  const split = () => {
    const chosen = marked.length ? marked : [selected];
    const home = homeOf(chosen[0]);
    if (chosen.some((criterion) => homeOf(criterion) !== home)) { setNotice({ text: "The marked criteria are in several dimensions; mark those of one." }); return; }
    propose({ op: "split", dimension: home, criteria: [...chosen].sort((a, b) => a - b), name: "", description: "" });
    focus(".bar [name=name]");
  };

  useKeys((key, event) => {
    if (!state || ((event.ctrlKey || event.metaKey) && !["z", "Z", "y", "Enter"].includes(key))) return undefined;
    const act = (work) => { event.preventDefault(); work(); };
    if (key === "?") return act(() => setHelp(!hasHelp));
    if (key === "Escape") return act(() => { hasHelp ? setHelp(false) : drop(); document.activeElement?.blur?.(); });
    if (pending) return key === "Enter" && !event.target.closest?.("button, a") ? act(save) : undefined;
    const order = state.dimensions.flatMap((part) => part.indices);
    const digit = Number(key);
    if (digit >= 1 && digit <= state.dimensions.length && !event.ctrlKey) {
      const home = homeOf(selected);
      if (isMerging) return act(() => propose({ op: "merge", dimension: home, into: digit }));
      return act(() => propose({ op: "move", criterion: selected, to: digit }));
    }
    if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "z") return act(() => step(event.shiftKey ? "redo" : "undo"));
    if (event.ctrlKey || event.metaKey) return key === "y" ? act(() => step("redo")) : undefined;
    const at_ = order.indexOf(selected);
    const keys = {
      j: () => select(order[Math.min(at_ + 1, order.length - 1)]), k: () => select(order[Math.max(at_ - 1, 0)]),
      x: () => setMarked(marked.includes(selected) ? marked.filter((one) => one !== selected) : [...marked, selected]),
      s: split, m: () => { setMerging(true); setNotice({ text: `Merge dimension ${homeOf(selected)} into which one? Press its number.` }); },
      r: () => focus(`[data-dimension="${homeOf(selected)}"] input`), w: () => focus(`[data-dimension="${homeOf(selected)}"] textarea`),
      a: () => accept(false), A: () => accept(true), d: () => { propose({ op: "reject", reason: "" }); focus(".bar [name=reason]"); },
      t: reopen, n: () => { propose({ op: "note", text: state.note }); focus(".bar [name=text]"); },
      u: () => step("undo"), U: () => step("redo"), "]": () => visit("next"), "[": () => visit("before"),
      q: () => go("review", file, dropUsual(filter)),
    };
    const name = { ArrowDown: "j", ArrowUp: "k", ArrowRight: "]", ArrowLeft: "[" }[key] ?? key;
    if (keys[name]) act(keys[name]);
    return undefined;
  });

  if (!state) return html`<${Fault} error=${error} />${!error && html`<p class="note">Loading …</p>`}`;
  const shown = pending?.shown ?? state;
  return html`<div class="editor">
    <p class="crumbs"><${Link} to=${["review", file, dropUsual(filter)]}><${Text}>${file}<//><//>
      <span>${around ? `${(around.at + 1).toLocaleString("en")} of ${around.total.toLocaleString("en")}` : ""}</span>
      <button onClick=${() => visit("before")} disabled=${pending || !around?.before} aria-label="Previous task">←</button>
      <button onClick=${() => visit("next")} disabled=${pending || !around?.next} aria-label="Next task">→</button>
      <button onClick=${() => setHelp(!hasHelp)} aria-expanded=${hasHelp} aria-label="Keys">?</button></p>
    <h1><${Text}>${state.id}<//> <${Status} status=${state.status} /></h1>
    ${state.decision?.reason && html`<p class="warn">${state.status === "open" ? "Before the last change: " : ""}${state.decision.op === "reject" ? "rejected" : "accepted"}: <${Text}>${state.decision.reason}<//></p>`}
    ${state.note && html`<p class="warn" data-note>Note: <${Text}>${state.note}<//></p>`}
    ${hasHelp && html`<${Help} />`}
    <div role="status" aria-live="polite">${notice && html`<p class=${notice.isGood ? "good" : "alarm"} data-notice>${notice.text}${notice.typed && html`<br /><small>Your text:</small> <${Text} tag="q">${notice.typed}<//>`}</p>`}</div>
    <${Fault} error=${error} />
    ${state.unapplied > 0 && html`<p class="warn">${count(state.unapplied, "earlier step")} made on other dimensions; kept in the file and not applied.</p>`}
    <div class="tools">
      <button onClick=${() => accept(false)} disabled=${Boolean(pending) || state.status === "accepted"}>Accept <kbd>a</kbd></button>
      <button onClick=${() => accept(true)} disabled=${Boolean(pending) || state.status === "accepted"}>Accept, next <kbd>A</kbd></button>
      <button onClick=${() => { propose({ op: "reject", reason: "" }); focus(".bar [name=reason]"); }} disabled=${Boolean(pending)}>Reject <kbd>d</kbd></button>
      ${state.decision && html`<button onClick=${reopen} disabled=${Boolean(pending)}>Take back <kbd>t</kbd></button>`}
      <button onClick=${() => { propose({ op: "note", text: state.note }); focus(".bar [name=text]"); }} disabled=${Boolean(pending)}>Note <kbd>n</kbd></button>
      <button onClick=${split} disabled=${Boolean(pending)}>Split off ${marked.length ? `${marked.length} marked` : `criterion ${selected}`} <kbd>s</kbd></button>
      <button onClick=${() => step("undo")} disabled=${pending || !state.undo}>Undo${state.undo ? `: ${describe(state.undo)}` : ""} <kbd>u</kbd></button>
      <button onClick=${() => step("redo")} disabled=${pending || !state.redo}>Redo${state.redo ? `: ${describe(state.redo)}` : ""} <kbd>U</kbd></button>
    </div>
    <div class="sides">
      <section aria-label="Checklist" class="checklist">
        <h2>Question and checklist</h2>
        <${Question} state=${state} />
        <ol>${state.criteria.map((criterion, place) => html`<${ChecklistItem} key=${place} number=${place + 1} criterion=${criterion} other=${state.other?.[place]}
          shown=${shown} isLocked=${Boolean(pending)} isSelected=${selected === place + 1} select=${() => setSelected(place + 1)}
          move=${(to) => propose({ op: "move", criterion: place + 1, to })} />`)}</ol>
      </section>
      <section aria-label="Dimensions" class="dimensions">
        <h2>Dimensions</h2>
        ${shown.dimensions.map((part, place) => html`<${DimensionBox} key=${place} number=${place + 1} part=${part} saved=${state.dimensions[place]} criteria=${state.criteria}
          pending=${pending} propose=${propose} drop=${drop} save=${save} count=${state.dimensions.length} selected=${selected} setSelected=${setSelected} marked=${marked}
          mark=${(criterion) => setMarked(marked.includes(criterion) ? marked.filter((one) => one !== criterion) : [...marked, criterion])} />`)}
        ${!pending && state.impact && html`<h3>What the review has changed since compile</h3><${ImpactTable} impact=${state.impact} />`}
        <${Steps} steps=${state.steps} />
        <${Lineage} about=${state.compile} />
      </section>
    </div>
    ${pending && html`<${Bar} pending=${pending} propose=${propose} drop=${drop} save=${save} />`}
  </div>`;
};

const Help = () => html`<dl class="help" aria-label="Keys">${HELP.map(([keys, what]) => html`<div><dt>${keys}</dt><dd>${what}</dd></div>`)}</dl>`;

const Question = ({ state }) => {
  const turns = state.messages.map((turn) => html`<div class="turn">${state.messages.length > 1 && html`<small>${turn.role}</small>`}<${Text} tag="p">${turn.content}<//></div>`);
  return html`<div class="question">${turns}${state.reference && html`<details><summary>Reference</summary><${Text} tag="p">${state.reference}<//></details>`}</div>`;
};

const ChecklistItem = ({ number, criterion, other, shown, isLocked, isSelected, select, move }) => {
  const home = shown.dimensions.findIndex((part) => part.indices.includes(number)) + 1;
  return html`<li class=${`criterion d${home}${isSelected ? " selected" : ""}`} onClick=${select}>
    <${Text} tag="p">${criterion.text}<//>
    <p class="marks"><span class=${`chip ${criterion.weight < 0 ? "bad" : ""}`}>${criterion.weight > 0 ? "+" : "−"}${Math.abs(criterion.weight)}</span>
      ${criterion.tags.map((tag) => html`<${Text} tag="span" class="chip">${tag}<//>`)}
      <select aria-label=${`Dimension of criterion ${number}`} disabled=${isLocked} value=${home} onChange=${(event) => { const to = Number(event.target.value); event.target.value = home; move(to); }}>
        ${shown.dimensions.map((part, place) => html`<option value=${place + 1} selected=${place + 1 === home}>${place + 1} ${part.name}</option>`)}</select>
      ${other !== undefined && html`<small>other compilation: <${Text}>${other}<//></small>`}</p></li>`;
};

const DimensionBox = ({ number, part, saved, criteria, pending, propose, drop, save, count: dimensions, selected, setSelected, marked, mark }) => {
  const { operation } = pending ?? {};
  const editing = operation && ["rename", "reword"].includes(operation.op) && operation.dimension === number ? operation.op : null;
  const isLocked = (op) => Boolean(pending) && editing !== op;
  const edit = (op, field, value) => (value === saved[field] ? drop() : propose({ op, dimension: number, [field]: value }));
  const list = useRef(null);
  useEffect(() => {
    if (!list.current || pending) return undefined;
    // The page draws its own lists: an item stays where it is, and counts for the dimension on which it is dropped.
    const find = (event) => { const { clientX, clientY } = event.changedTouches?.[0] ?? event; return document.elementFromPoint(clientX, clientY)?.closest("[data-dimension]"); };
    const shine = (event) => document.querySelectorAll("[data-dimension]").forEach((box) => box.classList.toggle("over", box === (event && find(event))));
    const sortable = Sortable.create(list.current, {
      group: { name: "criteria", put: false }, sort: false, forceFallback: true, fallbackTolerance: 4, delay: 200, delayOnTouchOnly: true,
      filter: "input", preventOnFilter: false,
      onStart: () => addEventListener("pointermove", shine),
      onEnd: ({ item, originalEvent }) => {
        removeEventListener("pointermove", shine);
        shine(null);
        const to = Number(find(originalEvent)?.dataset.dimension ?? number);
        if (to !== number) propose({ op: "move", criterion: Number(item.dataset.criterion), to });
      },
    });
    return () => sortable.destroy();
  }, [Boolean(pending), number]);
  const others = Array.from({ length: dimensions }, (_, place) => place + 1).filter((other) => other !== number);
  return html`<article class=${`dimension d${number}`} data-dimension=${number}>
    <h3><span class="number">${number}</span>
      <input aria-label=${`Name of dimension ${number}`} value=${editing === "rename" ? operation.name : part.name} readonly=${isLocked("rename")} maxlength="300"
        onInput=${(event) => edit("rename", "name", event.target.value)} onKeyDown=${(event) => { if (event.key === "Enter" && editing) { event.preventDefault(); save(); } }} />
      <span class="share">${part.weight.toLocaleString("en", { maximumFractionDigits: 2 })} (${percent(part.share)})</span></h3>
    <${Growing} aria-label=${`Description of dimension ${number}`} value=${editing === "reword" ? operation.description : part.description} readonly=${isLocked("reword")}
      onInput=${(event) => edit("reword", "description", event.target.value)} />
    ${part.faults.length > 0 && html`<ul class="faults" aria-label=${`Faults of dimension ${number}`}>${part.faults.map((fault) => html`<li><span class="chip bad">${fault.kind}</span> ${fault.detail}</li>`)}</ul>`}
    <ul class="members plain" ref=${list} data-number=${number}>${part.indices.map((index) => html`<li key=${index} data-criterion=${index} tabindex="0"
      class=${`${selected === index ? "selected" : ""} ${saved && !saved.indices.includes(index) ? "new" : ""}`} onFocus=${() => setSelected(index)}>
      <label><input type="checkbox" aria-label=${`Mark criterion ${index}`} checked=${marked.includes(index)} disabled=${Boolean(pending)} onChange=${() => mark(index)} /> ${index}</label>
      <${Text} tag="span" class="clamp">${criteria[index - 1].text}<//><small>${criteria[index - 1].weight > 0 ? "+" : "−"}${Math.abs(criteria[index - 1].weight)}</small></li>`)}</ul>
    ${!pending && html`<p class="marks"><label>Merge into <select aria-label=${`Merge dimension ${number} into`} value="" onChange=${(event) => { const into = Number(event.target.value); event.target.value = ""; propose({ op: "merge", dimension: number, into }); }}>
      <option value="">…</option>${others.map((other) => html`<option value=${other}>${other}</option>`)}</select></label></p>`}
  </article>`;
};
// A text field as high as its text.
const Growing = (props) => {
  const field = useRef(null);
  useEffect(() => {
    const fit = () => { const box = field.current; if (box) { box.style.height = "auto"; box.style.height = `${box.scrollHeight + 2}px`; } };
    fit();
    addEventListener("resize", fit);
    return () => removeEventListener("resize", fit);
  }, [props.value]);
  return html`<textarea ref=${field} dir="auto" rows="2" maxlength="20000" ...${props}></textarea>`;
};

// The change that is not saved: what it is, what it needs, what it does.
const Bar = ({ pending: { operation, shown, error }, propose, drop, save }) => {
  const set = (field) => (event) => propose({ ...operation, [field]: event.target.value });
  const isEdit = !["reject", "note"].includes(operation.op);
  const made = operation.op === "split" ? shown?.dimensions[operation.dimension]?.faults ?? [] : [];
  const submit = (event) => { event.preventDefault(); save(); };
  return html`<form class="bar" aria-label="Change that is not saved" onSubmit=${submit}>
    <p><strong>${describe(operation).replace(/^./, (letter) => letter.toUpperCase())}</strong> <small>not saved yet</small></p>
    ${operation.op === "split" && html`<label>Name of the new dimension <input name="name" value=${operation.name} maxlength="300" onInput=${set("name")} /></label>
      <label>Its description <${Growing} name="description" value=${operation.description} onInput=${set("description")} /></label>
      ${made.length > 0 && html`<ul class="faults" aria-label="Faults of the new dimension">${made.map((fault) => html`<li><span class="chip bad">${fault.kind}</span> ${fault.detail}</li>`)}</ul>`}`}
    ${operation.op === "note" && html`<label>Note <${Growing} name="text" value=${operation.text} onInput=${set("text")} /></label>`}
    ${operation.op !== "note" && html`<label>Reason${isEdit ? " (optional)" : ""} <input name="reason" value=${operation.reason ?? ""} maxlength="20000" onInput=${set("reason")} /></label>`}
    ${error && html`<p class="alarm" role="alert">${error}</p>`}
    ${isEdit && shown?.impact && html`<${ImpactTable} impact=${shown.impact} />`}
    <p class="marks"><button type="submit" class="main" disabled=${Boolean(error)}>Save <kbd>Enter</kbd></button> <button type="button" onClick=${drop}>Drop <kbd>Esc</kbd></button></p>
  </form>`;
};

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const showSide = (impact, side) => {
  const ends = impact.changes.map((change) => change[side]);
  const [low, high] = [mean(ends.map((end) => end.low)), mean(ends.map((end) => end.high))];
  return low === high ? low.toFixed(3) : `unknown, ${low.toFixed(3)} to ${high.toFixed(3)}`;
};
const ImpactTable = ({ impact }) => {
  if (impact.fault) return html`<p class="note">Scores: ${impact.fault}.</p>`;
  const rows = impact.schemes.map((one) => ({ name: one.scheme, before: showSide(one, "before"), after: showSide(one, "after"), responses: one.changes.length }));
  const moved = rows.filter((row) => row.before !== row.after);
  const same = rows.filter((row) => row.before === row.after);
  const still = same.filter((row) => !row.after.startsWith("unknown"));
  const open = same.filter((row) => row.after.startsWith("unknown"));
  return html`<div class="impact">
    <p class="note">Mean score of ${count(impact.schemes[0]?.changes.length ?? 0, "stored response")}, judged by <${Text}>${impact.judge}<//>:</p>
    ${moved.length > 0 && html`<div class="scroll"><table><thead><tr><th>scheme</th><th>before</th><th>after</th></tr></thead>
      <tbody>${moved.map((row) => html`<tr><td>${row.name}</td><td>${row.before}</td><td>${row.after}</td></tr>`)}</tbody></table></div>`}
    ${still.length > 0 && html`<p class="note">Unchanged: ${still.map((row) => `${row.name} ${row.after}`).join(", ")}.</p>`}
    ${open.length > 0 && html`<p class="note">Unknown before and after: ${open.map((row) => row.name).join(", ")}.</p>`}
    ${moved.some((row) => row.after.startsWith("unknown")) && html`<p class="note">A dimension whose text or criteria changed has no verdict yet, and a criterion has none of its own under these schemes: the score is unknown until it is judged again.</p>`}</div>`;
};

const Steps = ({ steps }) => steps.length > 0 && html`<details class="steps"><summary>History: ${count(steps.length, "step")}</summary>
  <ol>${steps.map((step) => html`<li><time>${step.when.replace("T", " ").replace("+00:00", " UTC")}</time> <${Text} tag="b">${step.who}<//> ${step.kind === "do" ? "" : `${step.kind}: `}${describe(step.operation)}
    ${step.operation.reason && html` (<${Text}>${step.operation.reason}<//>)`}</li>`)}</ol></details>`;

const Lineage = ({ about }) => Object.keys(about).length > 0 && html`<details><summary>How it was compiled: ${about.state}</summary>
  <dl class="facts">${["generator", "attempts", "prompt", "reason"].filter((key) => about[key] !== undefined).map((key) => html`<div><dt>${key}</dt><dd><${Text}>${about[key]}<//></dd></div>`)}</dl>
  ${Array.isArray(about.repairs) && html`<ul>${about.repairs.map((repair) => html`<li><${Text}>${repair}<//></li>`)}</ul>`}</details>`;
