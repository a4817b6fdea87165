// Requests to the server.

/** What the server refused, or that it did not answer (`status` 0). */
export class ApiError extends Error {
    /**
     * @param {number} status
     * @param {string} code
     * @param {string} text
     * @param {import("./types").Piece} [piece] as it is, where it could not be changed or came too late
     */
    constructor(status, code, text, piece) {
        super(text);
        this.status = status;
        this.code = code;
        this.piece = piece;
    }
}

/**
 * @param {string} method
 * @param {string} path below `/api/v1`
 * @param {unknown} [body]
 * @returns {Promise<Response>}
 */
async function request(method, path, body) {
    /** @type {Response} */
    let answer;
    try {
        answer = await fetch(`/api/v1${path}`, {
            method,
            headers: body === undefined ? {} : { "content-type": "application/json" },
            body: body === undefined ? undefined : JSON.stringify(body),
        });
    } catch {
        throw new ApiError(0, "unreachable", "the server does not answer");
    }
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    if (answer.status === 401 && path !== "/session") window.dispatchEvent(new Event("signed-out"));
    const text = said.error ?? `the server answered ${answer.status}`;
    throw new ApiError(answer.status, said.code ?? "failed", text, said.guidance);
}

/**
 * Sends a request and reads its JSON; `null` if the answer is empty.
 * @param {string} method
 * @param {string} path below `/api/v1`
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
export async function call(method, path, body) {
    const answer = await request(method, path, body);
    try {
        const text = await answer.text();
        return text === "" ? null : JSON.parse(text);
    } catch {
        throw new ApiError(0, "unreachable", "the answer broke off");
    }
}

/**
 * Path of a conversation.
 * @param {string} id
 * @param {string} [rest]
 */
export function at(id, rest = "") {
    return `/conversations/${encodeURIComponent(id)}${rest}`;
}

/** @type {Map<string, string>} Long texts that were shown last. */
const texts = new Map();

/**
 * A text of a conversation, fetched if it is a long one.
 * @param {string} id
 * @param {import("./types").StoredText | null} text
 * @returns {Promise<string>}
 */
export async function whole(id, text) {
    if (text === null) return "";
    if (typeof text === "string") return text;
    const known = texts.get(text.blob);
    if (known !== undefined) return known;
    const answer = await request("GET", at(id, `/files/${text.blob}`));
    const read = await answer.text();
    texts.set(text.blob, read);
    // A map keeps the order of insertion: the oldest goes first.
    for (const key of texts.keys()) {
        if (texts.size <= 100) break;
        texts.delete(key);
    }
    return read;
}

/** A name that nobody else draws. `crypto.randomUUID` is missing on plain HTTP. */
export function draw() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
