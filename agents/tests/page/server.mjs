// The guide server as a process of its own, on a store of its own.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** The program: `AGENTS` names another one. */
const PROGRAM =
    process.env.AGENTS ??
    join(process.env.CARGO_TARGET_DIR ?? resolve(import.meta.dirname, "../../../target"), "debug/agents");

if (!existsSync(PROGRAM)) {
    throw new Error(
        `there is no ${PROGRAM}; build it with \`cargo build -p agents-cli\`, or name one with AGENTS`,
    );
}

/** A port that is free now, and stays the same when a server is started again. */
async function freePort() {
    const probe = createServer();
    await new Promise((done) => probe.listen(0, "127.0.0.1", done));
    const { port } = probe.address();
    await new Promise((done) => probe.close(done));
    return port;
}

export class Server {
    /** @param {(store: string) => void} [fill] puts conversations into the store before it is served */
    static async start(fill = () => {}) {
        const server = new Server();
        server.store = mkdtempSync(join(tmpdir(), "guide-page-"));
        server.port = await freePort();
        server.url = `http://127.0.0.1:${server.port}`;
        fill(server.store);
        await server.spawn();
        return server;
    }

    /** From now on, in place of the store: a recorded run of it, told again with these flags. */
    async replay(id, ...flags) {
        await this.kill();
        await this.spawn(["replay", id, ...flags]);
    }

    async spawn(what = ["serve"]) {
        const listen = `127.0.0.1:${this.port}`;
        const args = ["guide", ...what, "--store", this.store, "--listen", listen];
        this.child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "pipe"] });
        createInterface({ input: this.child.stderr }).on("line", (line) => {
            // That a server for a test is open to the machine is no news.
            if (!/may do everything|is read-only|is complete/.test(line)) console.error(line);
        });
        const lines = createInterface({ input: this.child.stdout });
        await new Promise((done, failed) => {
            lines.once("line", done);
            this.child.once("exit", (code) => failed(new Error(`the server ended with ${code}`)));
        });
    }

    /** `kill -9`. */
    async kill() {
        if (this.child.exitCode !== null || this.child.signalCode !== null) return;
        const ended = new Promise((done) => this.child.once("exit", done));
        this.child.kill("SIGKILL");
        await ended;
    }

    async close() {
        await this.kill();
        rmSync(this.store, { recursive: true });
    }

    /** A new token of a person. From the next start on, the server knows only people with one. */
    token(name, role) {
        return addToken(this.store, name, role);
    }

    /** Sends a request and reads its JSON. */
    async call(method, path, body, headers = {}) {
        const answer = await fetch(`${this.url}/api/v1${path}`, {
            method,
            body: body === undefined ? undefined : JSON.stringify(body),
            headers,
        });
        const text = await answer.text();
        return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
    }
}

export function addToken(store, name, role) {
    const args = ["guide", "token", name, "--role", role, "--store", store];
    return execFileSync(PROGRAM, args, { stdio: ["ignore", "pipe", "ignore"] })
        .toString()
        .trim();
}
