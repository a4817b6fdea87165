"""Measures soundscapes: the background between calls, and the calls note by note."""
import wave

from scipy import ndimage, signal


def spectrum(path):
    """Power by time and frequency in frames of 16 ms, half of each shared with the next, and the rate
    of the frames."""
    with wave.open(f"input/{path}") as file:
        rate = file.getframerate()
        sound = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0
    size = 2 * round(rate * 0.008)
    halves = sound[: len(sound) // (size // 2) * (size // 2)].reshape(-1, size // 2)
    frames = np.hstack([halves[:-1], halves[1:]]) * np.hanning(size + 1)[:-1]
    power = np.abs(np.fft.rfft(frames)) ** 2 / (0.375 * size**2 / 2)
    return power, 2 * rate / size, np.fft.rfftfreq(size, 1 / rate)


def measured(path):
    """Numbers of one soundscape."""
    power, pace, f = spectrum(path)
    power, f = power[:, f >= 250], f[f >= 250]
    usual = np.quantile(power, 0.33, axis=0) + 1e-12
    above = power / usual
    # What the loudest moments are made of, whichever of them is louder.
    level = np.log(above.mean(axis=1))
    loud = level > np.median(level) + 0.4 * (np.sort(level)[-8] - np.median(level))
    weights = np.sqrt(np.maximum(above[loud].mean(axis=0) - above.mean(axis=0), 0))
    course = above @ (weights + 0.03 * weights.max())
    course = 10 * np.log10(np.convolve(course, [0.25, 0.5, 0.25], "same") + 1e-12)
    base, top = np.quantile(course, 0.25), np.sort(course)[-8]
    notes, _ = signal.find_peaks(course, base + max(4, 0.45 * (top - base)), prominence=5, distance=5)
    # Echoes are weaker than what they follow.
    notes = notes[course[notes] > ndimage.maximum_filter1d(course, 25)[notes] - 7]
    out = {"notes": len(notes), "base": base, "top": top}
    quiet = np.ones(len(power), bool)
    for note in notes:
        quiet[max(0, note - 10) : note + 20] = False
    quiet = quiet if quiet.sum() > 20 else ~quiet | True
    rest = np.median(power[quiet], axis=0) + 1e-12
    out["background"] = 10 * np.log10(rest.sum())
    for i, part in enumerate(np.array_split(rest, 8)):
        out[f"background {i}"] = 10 * np.log10(part.mean()) - out["background"]
    swell = 10 * np.log10((power[quiet][:, :36] / rest[:36]).mean(axis=1))
    out["swell"] = np.sqrt(max(0, swell.var() - 0.5 * np.mean((swell[2:] - swell[:-2]) ** 2)))
    out["swells"] = np.subtract(*np.quantile(swell, [0.95, 0.05]))
    if len(notes) < 3:
        return out
    gaps = np.diff(notes)
    calls = np.split(np.arange(len(notes)), np.flatnonzero(gaps > 1.5 * np.quantile(gaps, 0.25)) + 1)
    pitch, strength = [], []
    for note in notes:
        some = power[max(0, note - 2) : note + 3]
        more = np.maximum(some.sum(axis=0) - 1.5 * len(some) * rest, 0) + 1e-15
        at = f[np.convolve(more, [0.5, 1, 0.5], "same").argmax()]
        near = (f > 0.7 * at - 32) & (f < 1.4 * at + 32)
        pitch.append(12 * np.log2((f[near] * more[near]).sum() / more[near].sum()))
        strength.append(10 * np.log10(some.sum(axis=1).max() + 1e-12))
    pitch, strength = np.array(pitch), np.array(strength)
    begin = notes[[call[0] for call in calls]] / pace
    means = np.array([strength[call].mean() for call in calls])
    place = np.array([notes[call].mean() for call in calls]) / len(power) - 0.5
    out |= {"calls": len(calls), "per call": len(notes) / len(calls), "pace": np.median(gaps) / pace}
    out["approach"], out["loudness"] = np.polyfit(place, means, 1) if len(calls) > 1 else (0, means[0])
    slides = [np.polyfit(np.linspace(0, 1, len(call)), pitch[call], 1)[0] for call in calls if len(call) > 1]
    out["slide"] = np.mean(slides) if slides else 0.0
    if len(begin) > 2:
        every = np.log2(np.diff(begin))
        out["quickening"] = np.polyfit(np.linspace(0, 1, len(every)), every, 1)[0]
        out["unevenness"] = every.std()
    heights = np.sort([pitch[call].mean() for call in calls])
    out["pitch"] = heights.mean()
    if len(calls) > 1:
        step = 1 + np.diff(heights).argmax()
        out["interval"] = heights[step:].mean() - heights[:step].mean()
    return out


for name in files:
    known = {path: measured(path) for path in x[name].dropna().unique()}
    heard = pd.DataFrame([known.get(path, {}) for path in x[name]])
    heard = heard.replace([np.inf, -np.inf], np.nan)
    heard = heard.fillna(heard[:N].median()).fillna(0.0)
    columns.update({f"{name}: {key}": heard[key] for key in heard})
