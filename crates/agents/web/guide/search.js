// Search in the turns of a run: the server looks, also through what is not loaded.

import { at, call } from "./api.js";
import { button, counted, el } from "./dom.js";

export class Search {
    /**
     * @param {string} id of the conversation
     * @param {(turn: number) => void} go
     * @param {() => number} current
     */
    constructor(id, go, current) {
        this.id = id;
        this.go = go;
        this.current = current;
        /** @type {number[]} */
        this.found = [];
        this.sought = "";
        this.field = el("input", {
            type: "search",
            "aria-label": "Search in the turns",
            placeholder: "Search",
            maxlength: 100,
        });
        this.said = el("small", { class: "faint", role: "status" });
        this.root = el(
            "form",
            { class: "search", role: "search" },
            this.field,
            el("kbd", { "aria-hidden": "true" }, "/"),
            button("Next", "n", () => this.move(1)),
            button("Previous", "N", () => this.move(-1)),
            this.said,
        );
        this.root.addEventListener("submit", (event) => {
            event.preventDefault();
            this.look();
        });
        this.field.addEventListener("keydown", (event) => {
            if (event.key === "Escape") this.field.blur();
        });
    }

    async look() {
        const q = this.field.value.trim();
        this.sought = q;
        this.found = [];
        if (q === "") {
            this.said.textContent = "";
            this.highlight();
            return;
        }
        this.said.textContent = "Searching …";
        try {
            const { turns } = await call("GET", at(this.id, `/search?q=${encodeURIComponent(q)}`));
            if (this.sought !== q) return;
            this.found = turns;
        } catch (error) {
            this.said.textContent = /** @type {Error} */ (error).message;
            return;
        }
        this.said.textContent = this.found.length ? `in ${counted(this.found.length, "turn")}` : "not found";
        if (this.found.length) {
            this.field.blur();
            const current = this.current();
            this.go(this.found.find((turn) => turn >= current) ?? this.found[0]);
        }
        this.highlight();
    }

    /** @param {1 | -1} way */
    move(way) {
        if (!this.found.length) return;
        const current = this.current();
        const next =
            way > 0
                ? (this.found.find((turn) => turn > current) ?? this.found[0])
                : (this.found.findLast((turn) => turn < current) ?? this.found[this.found.length - 1]);
        const place = this.found.indexOf(next) + 1;
        this.said.textContent = `${place} of ${counted(this.found.length, "turn")}`;
        this.go(next);
    }

    /** Marks the text where it stands in what is drawn, if the browser can without new elements. */
    highlight() {
        if (!("highlights" in CSS)) return;
        CSS.highlights.delete("found");
        if (this.sought === "") return;
        const wanted = this.sought.toLowerCase();
        /** @type {Range[]} */
        const ranges = [];
        for (const step of document.querySelectorAll(".step")) {
            const walker = document.createTreeWalker(step, NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node && ranges.length < 2000; node = walker.nextNode()) {
                const text = (node.nodeValue ?? "").toLowerCase();
                // Lower case may have another length; then there is no saying where the text is.
                if (text.length !== node.nodeValue?.length) continue;
                for (
                    let from = text.indexOf(wanted);
                    from >= 0;
                    from = text.indexOf(wanted, from + wanted.length)
                ) {
                    const range = new Range();
                    range.setStart(node, from);
                    range.setEnd(node, from + wanted.length);
                    ranges.push(range);
                }
            }
        }
        CSS.highlights.set("found", new Highlight(...ranges));
    }
}
