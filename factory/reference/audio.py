"""Measures recordings: pitch and its course, loudness and its course, knocks, bands."""
import wave

from scipy import fft, ndimage, signal


def recording(path):
    with wave.open(f"input/{path}") as file:
        return file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0


def smoothed(values, size):
    """The running median along the last axis."""
    return ndimage.median_filter(values, size=(1, size))


def measured(sound, rate):
    """Measures of several recordings at once, one per row of `sound`."""
    out = {"loudness": np.log(sound.std(axis=1) + 1e-6), "peak": np.abs(sound).max(axis=1)}
    # Mains hum is a steady line at 50 or 60 Hz and stays out.
    sound = signal.sosfiltfilt(signal.butter(4, 120, "highpass", fs=rate, output="sos"), sound)
    size, step, fine = 256, 64, 512
    windows = np.lib.stride_tricks.sliding_window_view(sound, size, axis=1)[:, ::step]
    windows = windows.astype(np.float32) * np.hanning(size).astype(np.float32)
    spectrum = fft.rfft(windows, fine)
    power = (spectrum.real**2 + spectrum.imag**2) / size  # recording, time, frequency
    f, t = np.fft.rfftfreq(fine, 1 / rate), np.arange(power.shape[1]) * step / rate
    floor = np.median(power[:, ::3, ::4], axis=(1, 2)) + 1e-12
    out["floor"] = np.log(floor)
    edges = np.geomspace(120, rate / 2, 13)
    for i, (low, high) in enumerate(zip(edges, edges[1:])):
        band = power[:, :, (f >= low) & (f < high)]
        if band.shape[2]:
            out[f"band {i}"] = np.log(band.mean(axis=(1, 2)) + 1e-12)
            out[f"band course {i}"] = np.log(band.mean(axis=2) + 1e-12).std(axis=1)
    mean = power.mean(axis=1)
    out["centre"] = (f * mean).sum(axis=1) / mean.sum(axis=1)
    out["width"] = np.sqrt(((f - out["centre"][:, None]) ** 2 * mean).sum(axis=1) / mean.sum(axis=1))
    # Loudness over time: beats, their rate and depth.
    envelope = np.abs(signal.hilbert(sound, axis=1))
    every = max(1, rate // 400)
    envelope = signal.decimate(envelope, every, ftype="fir", axis=1) if every > 1 else envelope
    pace = rate / every
    calm = smoothed(signal.sosfiltfilt(signal.butter(2, 30, fs=pace, output="sos"), envelope), 9)
    swing = signal.detrend(calm) * np.hanning(calm.shape[1])
    beat = np.abs(np.fft.rfft(swing, 4096)) ** 2
    paces = np.fft.rfftfreq(4096, 1 / pace)
    inside = (paces > 1.5) & (paces < 30)
    beat, paces = beat[:, inside], paces[inside]
    out["beat"] = paces[beat.argmax(axis=1)]
    out["beat mean"] = (paces * beat).sum(axis=1) / beat.sum(axis=1)
    out["beat clarity"] = beat.max(axis=1) / beat.sum(axis=1)
    out["depth"] = calm.std(axis=1) / (calm.mean(axis=1) + 1e-9)
    thirds = [part.mean(axis=1) for part in np.array_split(calm, 3, axis=1)]
    out["swells"] = np.log((thirds[2] + 1e-6) / (thirds[0] + 1e-6))
    # Knocks: short bursts over a wide band, against what is usual around them.
    def peaks(values, height):
        return [len(signal.find_peaks(row, height=h, distance=4)[0]) for row, h in zip(values, height)]

    logarithms = np.log(power[:, :, : len(f) // 4 * 4].reshape(*power.shape[:2], -1, 4).mean(axis=3) + floor[:, None, None])
    for low in (120, rate / 4):
        flux = logarithms[:, :, f[2 : len(f) // 4 * 4 : 4] >= low].mean(axis=2)
        flux = flux - smoothed(flux, 31)
        noise = 1.48 * np.median(np.abs(flux), axis=1) + 1e-6
        for height in (4, 8):
            out[f"knocks {low:.0f} {height}"] = peaks(flux, height * noise)
        out[f"knock strength {low:.0f}"] = np.sort(flux, axis=1)[:, -5:].mean(axis=1) / noise
    fast = envelope - smoothed(envelope, 15)
    out["bursts"] = peaks(fast, 6 * (1.48 * np.median(np.abs(fast), axis=1) + 1e-9))
    # The strongest tone over time: where it is, where it goes, how it wavers.
    tones = []
    at = np.clip(power.argmax(axis=2), 1, len(f) - 2)[:, :, None]
    below, strength, above = (np.take_along_axis(power, at + side, 2)[:, :, 0] for side in (-1, 0, 1))
    # A parabola through the highest bin and its neighbours finds the pitch between bins.
    bend = (below - above) / (2 * (below - 2 * strength + above) - 1e-12)
    highest = (at[:, :, 0] + np.clip(bend, -0.5, 0.5)) * f[1]
    for peak, strong, whole, quiet in zip(highest, strength, mean, floor):
        held = strong >= np.quantile(strong, 0.3)
        middle = np.median(peak[held])
        course = np.where(np.abs(np.log2((peak + 1) / (middle + 1))) < 0.8, peak, middle)
        course = ndimage.median_filter(course, 5)
        slope, start = np.polyfit(t[held], course[held], 1, w=np.sqrt(strong[held]))
        tone = {"tone": middle, "glide": slope, "rising": float(slope > 0)}
        tone["octaves"] = np.log2((max(0, start + slope * t[-1]) + 50) / (max(0, start + slope * t[0]) + 50))
        tone["waver"] = np.std(course[held] - start - slope * t[held])
        tone["tone strength"] = np.log(np.median(strong) / quiet + 1)
        near = lambda k: whole[max(0, k - 3) : k + 4].sum()
        lowest = int(np.clip(round(middle / f[1]), 1, len(f) - 1))
        for factor in (2, 3, 4):
            at = int(np.clip(round(middle * factor / f[1]), 0, len(f) - 1))
            tone[f"overtone {factor}"] = np.log(near(at) / near(lowest) + 1e-6)
        tones.append(tone)
    return pd.concat([pd.DataFrame(out), pd.DataFrame(tones)], axis=1)


for name in files:
    paths = [path for path in x[name] if isinstance(path, str)]
    sounds = [recording(path) for path in paths]
    rate, length = sounds[0][0], min(len(sound) for _, sound in sounds)
    sounds = np.stack([sound[:length] for _, sound in sounds])
    # Some at a time, for memory's sake.
    heard = pd.concat([measured(sounds[at : at + 64], rate) for at in range(0, len(sounds), 64)])
    heard = heard.set_index(pd.Index(paths)).groupby(level=0).first().reindex(x[name]).reset_index(drop=True)
    heard = heard.replace([np.inf, -np.inf], np.nan)
    heard = heard.fillna(heard[:N].median())
    columns.update({f"{name}: {key}": heard[key] for key in heard})

