// Signing in, where the server has a list of people.

import { call } from "./api.js";
import { el } from "./dom.js";

/**
 * @param {() => void} done when the person is known
 * @returns {HTMLElement}
 */
export function signIn(done) {
    const name = el("input", { name: "name", autocomplete: "username", required: true });
    const token = el("input", {
        name: "token",
        type: "password",
        autocomplete: "current-password",
        required: true,
    });
    const said = el("p", { class: "bad", role: "alert" });
    const form = el(
        "form",
        { class: "card signin", "aria-label": "Sign in" },
        el("h1", {}, "Sign in"),
        el("label", {}, "Name", name),
        el("label", {}, "Token", token),
        el("button", { type: "submit", class: "primary" }, "Sign in"),
        said,
        el(
            "p",
            { class: "note" },
            "A token is made by whoever runs the server: ",
            el("code", {}, "agents guide token NAME --role annotator"),
            ".",
        ),
    );
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        said.textContent = "";
        try {
            await call("POST", "/session", { name: name.value.trim(), token: token.value.trim() });
        } catch (error) {
            said.textContent = `${/** @type {Error} */ (error).message}.`;
            return;
        }
        done();
    });
    queueMicrotask(() => name.focus());
    return el("div", { class: "screen plain" }, form);
}
