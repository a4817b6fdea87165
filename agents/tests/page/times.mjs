// Waiting, and what waits took.

export const pause = (time) => new Promise((done) => setTimeout(done, time));

/** The value, of these in order, below which a share of them is; `null` of none. */
export function quantile(times, share) {
    const sorted = times.toSorted((one, other) => one - other);
    return sorted[Math.floor(sorted.length * share)] ?? null;
}
