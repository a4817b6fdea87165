// Elements. Whatever is shown of a model, a script or a person becomes a text node here and nothing
// else: no text is ever read as markup.

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 */

/**
 * An element with attributes, listeners (`onclick`) and children. `class` names classes.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [attributes] `null`, `undefined` and `false` leave one out
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (typeof value === "function") element.addEventListener(name.slice(2), value);
        else element.setAttribute(name, value === true ? "" : String(value));
    }
    fill(element, ...children);
    return element;
}

/**
 * Replaces what is in an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
    /** @type {(Node | string)[]} */
    const kept = [];
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        kept.push(child instanceof Node ? child : String(child));
    }
    element.replaceChildren(...kept);
}

/**
 * A button with the key that does the same.
 * @param {string} label
 * @param {string | null} key
 * @param {() => void} does
 * @param {Record<string, any>} [attributes]
 */
export function button(label, key, does, attributes = {}) {
    const shown = key && el("kbd", { "aria-hidden": "true" }, key);
    const aria = key ? { "aria-keyshortcuts": key === "Ctrl+Enter" ? "Control+Enter" : key } : {};
    return el("button", { type: "button", onclick: does, ...aria, ...attributes }, label, shown);
}

/**
 * Bytes for people.
 * @param {number} bytes
 */
export function size(bytes) {
    if (bytes < 1024) return `${bytes} B`;
    if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
    return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/**
 * A number of things.
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
    return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/**
 * Says something to screen readers without moving anything.
 * @param {string} text
 */
export function announce(text) {
    const live = document.getElementById("live");
    if (live) live.textContent = text;
}

/** @type {number | undefined} */
let fades;

/**
 * Shows what went wrong, or was done, for some seconds.
 * @param {string} text
 * @param {"bad" | "good"} [kind]
 */
export function notice(text, kind = "bad") {
    const place = document.getElementById("notice");
    if (!place) return;
    place.className = kind;
    place.textContent = text;
    place.hidden = false;
    clearTimeout(fades);
    fades = window.setTimeout(() => (place.hidden = true), 8000);
}

/** Whether keys go to a field of text now. */
export function isTyping() {
    const active = document.activeElement;
    if (active instanceof HTMLTextAreaElement || active instanceof HTMLSelectElement) return true;
    if (!(active instanceof HTMLInputElement)) return false;
    return !["checkbox", "radio", "button", "range"].includes(active.type);
}
