// The frame of the app: what pages are made of, how they ask the server, and which page an address shows.
//
// An address is `#/page/argument/…?key=value`. A page is a separate module that exports a component; it is given
// `path` (the arguments, decoded) and `query` (URLSearchParams). Preact escapes every text, so nothing that a run
// contains becomes markup.
import {
  html, render, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useErrorBoundary,
} from "./vendor/preact-htm.js";

export { html, render, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback };

const pages = {
  "": "./runs.js",
  run: "./answers.js",
  compare: "./compare.js",
  training: "./training.js",
  ask: "./ask.js",
  review: "./review.js",
};

// Asking the server. An answer that is not a success becomes an Error with the server's line.
const ask = async (path, options = {}) => {
  const answer = await fetch(path, { credentials: "same-origin", ...options }).catch(() => {
    throw new Error("the server does not answer; start prorubric view again, with the same --port");
  });
  const body = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw Object.assign(new Error(body.error ?? `the server answered ${answer.status}`), { status: answer.status, body });
  return body;
};
export const get = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return ask(given.length ? `${path}?${new URLSearchParams(given)}` : path);
};
export const post = (path, body) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json", "x-prorubric": "view" }, body: JSON.stringify(body) });

// What a request gives: `{ value, error, isLoading, reload }`. The last value stays until the next one is there; with
// `every` it is asked for again after that many milliseconds, as long as the page can be seen.
export const useAsked = (path, query = {}, every = 0) => {
  const key = path && `${path}?${new URLSearchParams(Object.entries(query).filter(([, value]) => value ?? false))}`;
  const [state, setState] = useState({ value: null, error: null, isLoading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!path) return undefined;
    let isWanted = true;
    let timer = 0;
    const load = async () => {
      try {
        const value = await get(path, query);
        if (isWanted) setState({ value, error: null, isLoading: false });
      } catch (error) {
        if (isWanted) setState((old) => ({ ...old, error, isLoading: false }));
      }
      if (isWanted && every) timer = setTimeout(() => (document.hidden ? (timer = setTimeout(load, every)) : load()), every);
    };
    setState((old) => ({ ...old, isLoading: true }));
    load();
    return () => { isWanted = false; clearTimeout(timer); };
  }, [key, turn, every]);
  return { ...state, reload: () => setTurn((old) => old + 1) };
};

// Addresses within the app.
export const route = (...parts) => {
  const query = typeof parts.at(-1) === "object" && parts.at(-1) !== null ? parts.pop() : {};
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  return `#/${parts.map(encodeURIComponent).join("/")}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
};
export const go = (...parts) => { location.hash = route(...parts); };
// Change the query of the open page; the way back does not lead through every letter that was typed.
export const setQuery = (changes) => {
  const { page, path, query } = readPlace();
  const next = { ...Object.fromEntries(query), ...changes };
  history.replaceState(null, "", route(...(page ? [page, ...path] : []), next));
  dispatchEvent(new HashChangeEvent("hashchange"));
};
export const Link = ({ to, children, ...rest }) => html`<a href=${route(...[].concat(to))} ...${rest}>${children}</a>`;

const readPlace = () => {
  const [address, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page, ...path] = address.split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  return { page, path, query: new URLSearchParams(query) };
};

// Parts that several pages use.
export const Text = ({ children, tag = "bdi", ...rest }) => html`<${tag} dir="auto" ...${rest}>${children}<//>`;
export const Fault = ({ error }) => error && html`<p class="alarm" role="alert"><strong>${error.message}</strong></p>`;

const Frame = ({ page, children }) => html`
  <header class="top">
    <${Link} to=${[]} class="home">ProRubric<//>
    <nav aria-label="Pages">${links.map(([to, name]) => html`<${Link} to=${[to]} aria-current=${page === to ? "page" : undefined}>${name}<//>`)}</nav>
  </header>
  <main id="main" tabindex="-1">${children}</main>`;
const links = [["", "Runs"], ["review", "Review"], ["ask", "Try an answer"]];

const Guard = ({ children }) => {
  const [error] = useErrorBoundary((caught) => console.error(caught));
  return error ? html`<${Fault} error=${error} />` : children;
};

// A page that has something to lose says here whether it may be left; null if nothing holds it.
let mayLeave = null;
export const guardLeaving = (ask) => { mayLeave = ask; };

const App = () => {
  const [place, setPlace] = useState(readPlace);
  const [loaded, setLoaded] = useState({ name: null, module: null });
  useEffect(() => {
    const look = () => { if (!mayLeave || mayLeave()) setPlace(readPlace()); };
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  useEffect(() => {
    const name = pages[place.page];
    if (!name) { setLoaded({ name: place.page, module: null }); return; }
    import(name).then((module) => setLoaded({ name: place.page, module }), (error) => setLoaded({ name: place.page, error }));
  }, [place.page]);
  const isReady = loaded.name === place.page;
  let shown = html`<p class="note">Loading …</p>`;
  if (isReady && loaded.module) shown = html`<${loaded.module.default} key=${place.page} path=${place.path} query=${place.query} />`;
  else if (isReady) shown = html`<p class="warn">There is no such page. <${Link} to=${[]}>All runs<//></p>`;
  return html`<${Frame} page=${place.page}><${Guard} key=${location.hash.split("?")[0]}>${shown}<//><//>`;
};

const box = document.getElementById("app");
box.replaceChildren();
render(html`<${App} />`, box);
