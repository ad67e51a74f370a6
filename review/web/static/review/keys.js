// Single-key shortcuts over what the page already has: links, buttons, checkboxes and rows.
// A page marks its elements, and needs no script of its own:
//   data-row            an entry of a list (tabindex="-1"); j and k move between them
//   data-open           the link of a row that Enter follows
//   data-key="f"        a link, button or checkbox that the key f stands for: the one in the current
//                       row, else the first one outside of rows
//   data-go="q"         a link that "g q" follows
//   data-filter         the field that / goes to (else the search)
//   data-live="5"       a part of what is in motion: the page is read again every 5 s while it is there
//   data-announce       a message that is said once the page is there
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const current = () => document.activeElement?.closest("[data-row]") ?? null;
  const off = () => document.documentElement.dataset.keys === "off";
  let went = 0; // when g was pressed, in ms

  const typing = (target) =>
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches("textarea, select, input:not([type=checkbox]):not([type=radio]):not([type=submit]):not([type=button])"));

  const focus = (row) => {
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };

  const move = (step) => {
    const all = rows();
    if (!all.length) return false;
    const at = all.indexOf(current());
    focus(all[Math.min(Math.max(at === -1 ? (step > 0 ? 0 : all.length - 1) : at + step, 0), all.length - 1)]);
    return true;
  };

  const visible = (element) => element.checkVisibility?.() ?? true;

  const act = (key) => {
    const selector = `[data-key="${CSS.escape(key)}"]`;
    const inRow = current()?.querySelector(selector);
    const found = inRow ?? [...document.querySelectorAll(selector)].find((e) => !e.closest("[data-row]") && visible(e));
    if (!found || found.disabled) return false;
    found.click();
    return true;
  };

  const open = () => {
    const row = current();
    if (!row || document.activeElement !== row) return false;
    const link = row.querySelector("[data-open]");
    link?.click();
    return Boolean(link);
  };

  const find = () => {
    const field = document.querySelector("[data-filter]") ?? document.querySelector("[data-search]");
    field?.focus();
    field?.select?.();
    return Boolean(field);
  };

  const go = (key) => {
    const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    link?.click();
    return Boolean(link);
  };

  const help = () => {
    document.getElementById("keys")?.togglePopover();
    return true;
  };

  const press = (key) => {
    if (Date.now() - went < 1500) {
      went = 0;
      return go(key);
    }
    switch (key) {
      case "j": return move(1);
      case "k": return move(-1);
      case "Enter": return open();
      case "/": return find();
      case "?": return help();
      case "g":
        went = Date.now();
        return true;
      default: return key.length === 1 && act(key);
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "Escape" && typing(event.target)) {
      (event.target.closest("[data-row]") ?? document.getElementById("main")).focus();
      return;
    }
    if (off() || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.repeat && !"jk".includes(event.key)) return;
    if (press(event.key)) event.preventDefault();
  });

  // The address names what gets the focus after an action: the next row.
  const arrive = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = name ? document.getElementById(name) : null;
    if (target?.matches("[data-row], [tabindex]")) focus(target);
  };

  // Back from a thing leads to the list as it was: its filters, and the row that was opened.
  const kept = (path, place) => {
    try {
      if (place === undefined) return sessionStorage.getItem(`list ${path}`);
      sessionStorage.setItem(`list ${path}`, place);
    } catch { /* this browser keeps nothing */ }
    return null;
  };

  document.addEventListener("click", (event) => {
    const row = event.target.closest?.("[data-open]")?.closest("[data-row]");
    if (row) kept(location.pathname, `${location.search}${row.id ? `#${row.id}` : ""}`);
  });

  const leadBack = () => {
    for (const link of document.querySelectorAll('a[data-key="u"]')) {
      const there = new URL(link.href);
      const place = there.search || there.hash ? null : kept(there.pathname);
      if (place) link.href = there.pathname + place;
    }
  };

  // Text that is there when the page loads is not announced; text that comes later is.
  const announce = () => {
    const said = [...document.querySelectorAll("[data-announce]")].map((e) => e.textContent.trim());
    const place = document.getElementById("announce");
    if (said.length && place) setTimeout(() => { place.textContent = said.join(". "); }, 150);
  };

  // What is in motion is fetched again and put in place, while somebody looks and nothing in it is
  // in use; it stops by itself, since what is at rest has no data-live.
  const busy = (part) =>
    document.hidden || part.contains(document.activeElement) || part.querySelector("details[open]") !== null;

  const refresh = async (part) => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = fresh.getElementById("main");
    if (main && !busy(part)) {
      document.getElementById("main").replaceWith(main);
      leadBack();
    }
  };

  const live = () => {
    const part = document.querySelector("[data-live]");
    if (!part) return;
    setTimeout(async () => {
      if (!busy(part)) await refresh(part).catch(() => {});
      live();
    }, Number(part.dataset.live) * 1000);
  };

  // A form is not given to a server that does not answer: the browser would show a page of its own,
  // and what was typed would be gone. It stays, says so, and is sent when there is an answer again.
  const isThere = async () => {
    const address = document.querySelector("link[rel=icon]").href;
    try {
      return (await fetch(address, { method: "HEAD", cache: "no-store" })).ok;
    } catch {
      return false;
    }
  };

  const showUnsaved = (place) => {
    const note = place.querySelector(".unsaved") ?? document.createElement("p");
    note.className = "unsaved";
    note.setAttribute("role", "alert");
    note.textContent = "Not saved: the server does not answer. Trying again.";
    place.append(note);
  };

  document.addEventListener("submit", async (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented || form.dataset.answered || !form.matches("#main form[method=post]:not([data-triage])")) return;
    event.preventDefault();
    if (await isThere()) {
      form.dataset.answered = "yes";
      form.requestSubmit(submitter);
      delete form.dataset.answered;
    } else {
      showUnsaved(submitter?.closest("[data-row]")?.querySelector(".body, .what") ?? form);
      setTimeout(() => form.requestSubmit(submitter), 2000);
    }
  });

  leadBack();
  arrive();
  announce();
  live();
})();
