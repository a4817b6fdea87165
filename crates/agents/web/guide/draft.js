// What somebody is writing, kept on this machine at once and on the server soon after.

import { at, call, draw } from "./api.js";

/** Time without a key after which the server gets the text, in milliseconds. */
const PAUSE = 600;

/**
 * @typedef {object} Kept
 * @property {string} text
 * @property {number | null} about
 * @property {boolean} drop
 * @property {string} piece name under which the text is sent, however often
 * @property {boolean} saved whether the server has the text
 */

export class Draft {
    /**
     * @param {string} id of the conversation
     * @param {string} name of the person
     * @param {string | null} server what the server has
     */
    constructor(id, name, server) {
        this.id = id;
        this.key = `guide-draft ${name} ${id}`;
        /** @type {number | undefined} */
        this.timer = undefined;
        /** @type {Kept} */
        this.kept = { text: server ?? "", about: null, drop: false, piece: draw(), saved: true };
        const local = this.local();
        // The server's is newer where this machine's had reached it.
        if (local && (!local.saved || local.text === this.kept.text)) this.kept = local;
        if (!this.kept.saved) this.save();
    }

    /** @returns {Kept | null} */
    local() {
        try {
            const kept = JSON.parse(localStorage.getItem(this.key) ?? "null");
            return kept && typeof kept.text === "string" && typeof kept.piece === "string" ? kept : null;
        } catch {
            return null;
        }
    }

    store() {
        try {
            if (this.kept.text === "" && this.kept.saved) localStorage.removeItem(this.key);
            else localStorage.setItem(this.key, JSON.stringify(this.kept));
        } catch {
            // Storage may be full or forbidden; the server still gets the text.
        }
    }

    /**
     * @param {string} text
     * @param {number | null} about
     * @param {boolean} drop
     */
    set(text, about, drop) {
        const { kept } = this;
        if (kept.text === text && kept.about === about && kept.drop === drop) return;
        // Another text is another piece.
        this.kept = { text, about, drop, piece: draw(), saved: kept.saved && kept.text === text };
        this.store();
        if (!this.kept.saved) this.save();
    }

    save(delay = PAUSE) {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(async () => {
            const { kept } = this;
            try {
                await call("PUT", at(this.id, "/draft"), { text: kept.text });
            } catch {
                // It is kept here, and tried again.
                if (this.kept === kept) this.save(3000);
                return;
            }
            if (this.kept !== kept) return;
            kept.saved = true;
            this.store();
        }, delay);
    }

    close() {
        clearTimeout(this.timer);
    }
}
