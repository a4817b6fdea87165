// The stream of events: one at a time, resumed after the last event, closed in a hidden tab.

import { ApiError, at, call } from "./api.js";

/** Time between two tries to reach a server that is gone, in milliseconds. */
const RETRY = 1000;

/** @typedef {"connecting" | "live" | "gone" | "paused" | "unknown"} StreamState */

export class Stream {
    /** @param {(state: StreamState) => void} onState */
    constructor(onState) {
        this.onState = onState;
        /** @type {EventSource | null} */
        this.source = null;
        /** @type {import("./types").Screen | null} */
        this.screen = null;
        /** @type {(headline: import("./types").Headline) => void} */
        this.onHeadline = () => {};
        /** @type {number | undefined} */
        this.timer = undefined;
        document.addEventListener("visibilitychange", () => {
            if (document.hidden) {
                if (!this.screen?.staysOpen?.()) this.stop("paused");
            } else if (!this.source) {
                this.start();
            }
        });
    }

    /**
     * Follows what a screen watches, from the last event that it has.
     * @param {import("./types").Screen | null} screen
     */
    follow(screen) {
        this.stop("connecting");
        this.screen = screen;
        if (screen) this.start();
    }

    /** @param {StreamState} state */
    stop(state) {
        clearTimeout(this.timer);
        this.source?.close();
        this.source = null;
        this.onState(state);
    }

    start() {
        const screen = this.screen;
        if (!screen) return;
        this.stop("connecting");
        const query = screen.watch ? `?watch=${encodeURIComponent(screen.watch)}&from=${screen.from()}` : "";
        const source = new EventSource(`/api/v1/events${query}`);
        this.source = source;
        source.addEventListener("open", () => {
            this.onState("live");
            screen.opened?.();
        });
        source.addEventListener("headline", (event) => {
            const headline = JSON.parse(event.data);
            this.onHeadline(headline);
            screen.headline?.(headline);
        });
        source.addEventListener("change", (event) => screen.change?.(JSON.parse(event.data)));
        source.addEventListener("error", () => {
            // The browser's own pause before it tries again is longer, and it does not say what is wrong.
            this.stop("gone");
            this.timer = window.setTimeout(() => this.probe(), RETRY);
        });
    }

    /** Asks what is wrong before the stream is opened again. */
    async probe() {
        const screen = this.screen;
        if (!screen || (document.hidden && !screen.staysOpen?.())) return;
        try {
            await call("GET", screen.watch ? at(screen.watch, "?from=0&to=0") : "/me");
        } catch (error) {
            if (this.screen !== screen || !(error instanceof ApiError) || error.status === 401) return;
            this.onState(error.status === 404 ? "unknown" : "gone");
            this.timer = window.setTimeout(() => this.probe(), RETRY);
            return;
        }
        if (this.screen === screen && !this.source) this.start();
    }
}
