// The turns of a conversation, one below the other. Only those near the view are in the document:
// turns are in chunks, and a chunk out of view is an empty box of the height that it had.

import { el, fill } from "./dom.js";

/** Turns in a chunk. */
const CHUNK = 10;
/** Turns in an answer of the server. */
const PAGE = 200;
/** Time that a chunk is near before its turns are asked for, in milliseconds: many fly past. */
const REST = 40;
/** Height of a turn that was never drawn, in pixels. */
const GUESS = 260;

/**
 * @typedef {object} Source
 * @property {() => number} count
 * @property {(turn: number) => boolean} has whether the turn is loaded
 * @property {(from: number, to: number) => Promise<void>} load
 * @property {(turn: number) => HTMLElement} draw
 * @property {(made: HTMLElement, turn: number) => void} refresh
 */

export class Steps {
    /**
     * @param {Source} source
     * @param {() => void} onMove when the current turn, or what was seen, is another
     */
    constructor(source, onMove) {
        this.source = source;
        this.onMove = onMove;
        this.current = -1;
        /** The last turn that was in view. */
        this.seen = -1;
        /** @type {HTMLElement[]} */
        this.chunks = [];
        /** @type {Set<HTMLElement>} Chunks near the view. */
        this.nearby = new Set();
        /** @type {Map<number, Promise<void>>} Pages on their way. */
        this.loading = new Map();
        this.list = el("div", { class: "feed", role: "feed", "aria-label": "Turns" });
        this.empty = el("p", { class: "faint empty" }, "The agent has not taken a turn yet.");
        this.root = el("div", { class: "steps", tabindex: "-1" }, this.list, this.empty);
        this.near = new IntersectionObserver((entries) => this.onNear(entries), {
            root: this.root,
            rootMargin: "700px 0px",
        });
        let isWaiting = false;
        this.root.addEventListener("scroll", () => {
            if (isWaiting) return;
            isWaiting = true;
            requestAnimationFrame(() => {
                isWaiting = false;
                this.look();
            });
        });
        this.list.addEventListener("click", (event) => {
            const clicked = event.target instanceof Element ? event.target.closest(".step") : null;
            if (clicked instanceof HTMLElement) this.choose(Number(clicked.dataset.turn), false);
        });
    }

    /** Takes up that there are more turns, or fewer. */
    grow() {
        const count = this.source.count();
        this.empty.hidden = count > 0;
        const chunks = Math.ceil(count / CHUNK);
        while (this.chunks.length > chunks) {
            const last = this.chunks.pop();
            if (last) {
                this.near.unobserve(last);
                last.remove();
            }
        }
        const made = [];
        while (this.chunks.length < chunks) {
            const chunk = el("div", { class: "chunk", "data-chunk": this.chunks.length });
            chunk.style.height = `${CHUNK * GUESS}px`;
            this.chunks.push(chunk);
            made.push(chunk);
        }
        this.list.append(...made);
        for (const chunk of made) this.near.observe(chunk);
        const last = this.chunks.at(-1);
        // The last chunk may have more turns, or fewer, than are drawn.
        if (last?.childElementCount) this.draw(last, true);
        if (this.current >= count) this.current = count - 1;
        this.seen = Math.min(this.seen, count - 1);
        this.onMove();
    }

    /** @param {IntersectionObserverEntry[]} entries */
    onNear(entries) {
        for (const { target, isIntersecting } of entries) {
            const chunk = /** @type {HTMLElement} */ (target);
            if (isIntersecting) {
                this.nearby.add(chunk);
                this.draw(chunk);
            } else {
                this.nearby.delete(chunk);
                this.clear(chunk);
            }
        }
    }

    /** @param {HTMLElement} chunk */
    clear(chunk) {
        // What has the focus stays: it would go to nowhere.
        if (!chunk.childElementCount || chunk.contains(document.activeElement)) return;
        chunk.style.height = `${chunk.offsetHeight}px`;
        fill(chunk);
    }

    /**
     * Draws a chunk. What flew past while its turns were on their way stays empty.
     * @param {HTMLElement} chunk
     * @param {boolean} [isWanted] whether it is drawn though it is not near yet
     */
    async draw(chunk, isWanted = false) {
        const from = Number(chunk.dataset.chunk) * CHUNK;
        const to = Math.min(from + CHUNK, this.source.count());
        const missing = [];
        for (let turn = from; turn < to; turn++) if (!this.source.has(turn)) missing.push(turn);
        if (missing.length) {
            if (!isWanted) await new Promise((done) => setTimeout(done, REST));
            if (!isWanted && !this.nearby.has(chunk)) return;
            try {
                await this.page(Math.floor(missing[0] / PAGE));
            } catch (error) {
                const again = () => this.draw(chunk, true);
                const said = `These turns could not be loaded: ${/** @type {Error} */ (error).message} `;
                fill(
                    chunk,
                    el(
                        "p",
                        { class: "bad" },
                        said,
                        el("button", { type: "button", onclick: again }, "Try again"),
                    ),
                );
                return;
            }
            if (!isWanted && !this.nearby.has(chunk)) return;
        }
        // Turns that there are no more, as in a replay, and what was said instead of turns.
        for (const made of [...chunk.children]) {
            const turn = made instanceof HTMLElement ? made.dataset.turn : undefined;
            if (turn === undefined || Number(turn) >= to) made.remove();
        }
        const made = [];
        for (let turn = from + chunk.childElementCount; turn < to; turn++) {
            const step = this.source.draw(turn);
            step.setAttribute("aria-posinset", String(turn + 1));
            step.setAttribute("aria-setsize", String(this.source.count()));
            if (turn === this.current) this.emphasise(step, true);
            made.push(step);
        }
        chunk.append(...made);
        chunk.style.height = "";
        this.look();
    }

    /** @param {number} number */
    page(number) {
        let coming = this.loading.get(number);
        if (!coming) {
            coming = this.source.load(number * PAGE, (number + 1) * PAGE);
            this.loading.set(number, coming);
            coming.finally(() => this.loading.delete(number)).catch(() => {});
        }
        return coming;
    }

    /** Notes which turns are in view. */
    look() {
        const bottom = this.root.getBoundingClientRect().bottom;
        const before = this.seen;
        for (const chunk of this.chunks.slice(Math.max(0, Math.floor(this.seen / CHUNK)))) {
            if (chunk.getBoundingClientRect().top > bottom) break;
            for (const step of chunk.children) {
                if (!(step instanceof HTMLElement) || step.dataset.turn === undefined) continue;
                // Its head is in view.
                if (step.getBoundingClientRect().top + 30 < bottom)
                    this.seen = Math.max(this.seen, Number(step.dataset.turn));
            }
        }
        if (this.seen !== before) this.onMove();
    }

    /** @param {HTMLElement} step @param {boolean} isCurrent */
    emphasise(step, isCurrent) {
        step.classList.toggle("current", isCurrent);
        if (isCurrent) step.setAttribute("aria-current", "true");
        else step.removeAttribute("aria-current");
    }

    /** @param {number} turn @returns {HTMLElement | null} */
    drawn(turn) {
        return this.chunks[Math.floor(turn / CHUNK)]?.querySelector(`[data-turn="${turn}"]`) ?? null;
    }

    /**
     * Makes a turn the current one.
     * @param {number} turn
     * @param {boolean} moves whether it is brought into view and gets the focus
     */
    async choose(turn, moves) {
        const count = this.source.count();
        if (count === 0) return;
        const chosen = Math.max(0, Math.min(turn, count - 1));
        const before = this.drawn(this.current);
        if (before) this.emphasise(before, false);
        this.current = chosen;
        this.onMove();
        const chunk = this.chunks[Math.floor(chosen / CHUNK)];
        if (moves && !this.drawn(chosen)) {
            chunk.scrollIntoView();
            await this.draw(chunk, true);
        }
        const step = this.drawn(chosen);
        if (!step || this.current !== chosen) return;
        this.emphasise(step, true);
        if (moves) {
            step.focus({ preventScroll: true });
            this.bring(step);
            // Chunks around it are drawn now, and may be higher than they were thought to be.
            for (const delay of [60, 250])
                setTimeout(() => this.current === chosen && step.isConnected && this.bring(step), delay);
        }
    }

    /** @param {HTMLElement} step */
    bring(step) {
        const view = this.root.getBoundingClientRect();
        const box = step.getBoundingClientRect();
        const isIn = box.top >= view.top && box.bottom <= view.bottom;
        if (!isIn) this.root.scrollTop += box.top - view.top - 8;
        this.look();
    }

    /** @param {number} turn */
    refresh(turn) {
        const step = this.drawn(turn);
        if (step) this.source.refresh(step, turn);
    }

    /** Turns after the last one that was in view. */
    get unseen() {
        return Math.max(0, this.source.count() - 1 - this.seen);
    }

    close() {
        this.near.disconnect();
    }
}
