// Python, coloured by a small tokenizer. What it does not know stays plain.

/** Longest text that is coloured, in characters. */
const LONGEST = 60_000;

const KEYWORDS = new Set(
    (
        "False None True and as assert async await break class continue def del elif else except finally for " +
        "from global if import in is lambda nonlocal not or pass raise return try while with yield match case"
    ).split(" "),
);

const TOKEN = new RegExp(
    [
        "(?<comment>#[^\\n]*)",
        "(?<string>\\b[rbfuRBFU]{0,2}(?:\"\"\"[\\s\\S]*?(?:\"\"\"|$)|'''[\\s\\S]*?(?:'''|$))" +
            "|[rbfuRBFU]{0,2}(?:\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?))",
        "(?<number>\\b(?:0[xob][\\da-fA-F_]+|\\d[\\d_]*(?:\\.[\\d_]*)?(?:e[+-]?\\d+)?))",
        "(?<name>[\\p{L}_][\\p{L}\\p{N}_]*)",
    ].join("|"),
    "gu",
);

/**
 * The tokens of a program: kind (`""` of plain text) and text. Joined, they are the program.
 * @param {string} code
 * @returns {{ kind: string, text: string }[]}
 */
export function tokens(code) {
    if (code.length > LONGEST) return [{ kind: "", text: code }];
    /** @type {{ kind: string, text: string }[]} */
    const found = [];
    let plain = "";
    let end = 0;
    for (const match of code.matchAll(TOKEN)) {
        const [text] = match;
        const groups = match.groups ?? {};
        let kind = Object.keys(groups).find((name) => groups[name] !== undefined) ?? "";
        if (kind === "name") kind = KEYWORDS.has(text) ? "keyword" : "";
        plain += code.slice(end, match.index);
        end = match.index + text.length;
        if (kind === "") {
            plain += text;
            continue;
        }
        if (plain) found.push({ kind: "", text: plain });
        found.push({ kind, text });
        plain = "";
    }
    plain += code.slice(end);
    if (plain) found.push({ kind: "", text: plain });
    return found;
}

/**
 * The program as nodes.
 * @param {string} code
 * @returns {Node[]}
 */
export function coloured(code) {
    return tokens(code).map(({ kind, text }) => {
        if (!kind) return document.createTextNode(text);
        const span = document.createElement("span");
        span.className = `t-${kind}`;
        span.textContent = text;
        return span;
    });
}

/**
 * The script in an action, and the rest if the action is no script.
 * @param {string} action
 * @returns {{ code: string | null, rest: string }}
 */
export function script(action) {
    const match = /^\s*<tool_call>\s*python\s*<code>\r?\n?([\s\S]*?)\s*<\/code>\s*<\/tool_call>\s*$/.exec(
        action,
    );
    return match ? { code: match[1], rest: "" } : { code: null, rest: action.trim() };
}
