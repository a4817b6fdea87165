// What the server answers. `docs/GUIDANCE.md` has the protocol.

/** A text, or where a long one is. */
export type StoredText = string | { blob: string; bytes: number };

export type RunState = "open" | "working" | "holding" | "lost" | "ended";
export type Concern = "failures" | "repeats" | "nearly_over";

export interface Headline {
    id: string;
    task: string;
    agent: string;
    attempt: number;
    state: RunState;
    turns: number;
    budget: number;
    last: string | null;
    told: string | null;
    queued: number;
    guidance: number;
    held_by: string | null;
    ending: string | null;
    concerns: Concern[];
    opened_at: number;
    seq: number;
}

export interface Outcome {
    outcome: string;
    exception?: string;
    code?: number;
    signal?: number;
}

export interface Turn {
    turn: number;
    thought: StoredText;
    action: StoredText;
    observation: StoredText | null;
    record: {
        tool: string;
        has_thought: boolean;
        outcome: Outcome | null;
        seconds: number;
        cached?: boolean;
    };
    left_out?: number[];
    /** What the agent wrote of earlier turns since the turn before, to read it in their place. */
    summaries?: { replaces: number[]; request: StoredText; text: StoredText }[];
}

export interface What {
    text: string;
    about?: number;
    drop?: { from: number; to: number };
}

export type PieceState = "queued" | "sent" | "acknowledged" | "late" | "retracted";

export interface Piece {
    id: string;
    seq: number;
    by: string;
    at: number;
    what: What;
    state: PieceState;
}

export type VerdictWord = "keep" | "drop" | "undecided";
export type Part = "turn" | "thought" | "action";

export interface Verdict {
    by: string;
    seq: number;
    turn: number;
    part?: Part;
    verdict: VerdictWord;
    reason?: string;
}

/** What a rule or a judge says of a turn. */
export interface Proposal {
    turn: number;
    verdict: VerdictWord;
    by: { rule: string } | { judge: string };
    reason: string;
}

/** What is proposed on the turns below `turns`, but for those that are judged blind. */
export interface Proposals {
    turns: number;
    blind: number[];
    proposals: Proposal[];
}

export interface Mark {
    by: string;
    turn: number;
    note: string;
}

export interface End {
    ending: string;
    grade: { score: number } | null;
    refusal: string | null;
}

export interface Opening {
    task: string;
    agent: string;
    attempt: number;
    turns: number;
    seconds: number;
    feedback: string | null;
    prompt: { role: string; text: StoredText }[];
}

export interface Snapshot {
    headline: Headline;
    opening: Opening;
    from: number;
    turns: Turn[];
    guidance: Piece[];
    heard: Record<string, number[]>;
    marks: Mark[];
    verdicts: Verdict[];
    end: End | null;
    draft: string | null;
}

export interface Line {
    version: number;
    seq: number;
    at: number;
    by?: string;
    event: { kind: string } & Record<string, any>;
}

export interface ContextPart {
    source: "prompt" | "model" | "environment" | "guide";
    turn: number | null;
    text: string;
    /** It was written by the agent, of turns that are no longer shown. */
    is_summary?: boolean;
}

export interface Me {
    name: string;
    advises: boolean;
    leads: boolean;
    /** A recorded run is told again, and nobody can change anything. */
    replays: boolean;
}

/** What a person does with a key or a button. */
export type Action =
    | "next"
    | "previous"
    | "first"
    | "last"
    | "search"
    | "found-next"
    | "found-previous"
    | "run-previous"
    | "run-next"
    | "context"
    | "files"
    | "output"
    | "mark"
    | "input"
    | "advise"
    | "drop"
    | "keep"
    | "undecided"
    | "hold"
    | "help";

/** A screen: what it shows, what keys do on it, and what it does with what the stream brings. */
export interface Screen {
    root: HTMLElement;
    title: string;
    actions: Partial<Record<Action, () => void>>;
    /** The conversation whose events it follows. */
    watch: string | null;
    /** The last event that it has. */
    from: () => number;
    headline?: (headline: Headline) => void;
    change?: (line: Line) => void;
    /** Whether the stream stays open in a hidden tab. */
    staysOpen?: () => boolean;
    opened?: () => void;
    close?: () => void;
}
