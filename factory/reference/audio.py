"""Measures recordings: pitch and its course, loudness and its course, knocks, bands."""
import wave

from scipy import signal


def recording(path):
    with wave.open(f"input/{path}") as file:
        rate = file.getframerate()
        sound = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0
    out = {"loudness": np.log(sound.std() + 1e-6), "peak": np.abs(sound).max()}
    # Mains hum is a steady line at 50 or 60 Hz and stays out.
    sos = signal.butter(4, 120, "highpass", fs=rate, output="sos")
    sound = signal.sosfiltfilt(sos, sound)
    size = 256
    f, t, power = signal.spectrogram(sound, rate, nperseg=size, noverlap=size * 3 // 4, nfft=1024)
    floor = np.median(power)
    out["floor"] = np.log(floor + 1e-12)
    edges = np.geomspace(120, rate / 2, 13)
    for i, (a, b) in enumerate(zip(edges, edges[1:])):
        band = power[(f >= a) & (f < b)]
        if len(band):
            out[f"band {i}"] = np.log(band.mean() + 1e-12)
            out[f"band course {i}"] = np.log(band.mean(axis=0) + 1e-12).std()
    mean = power.mean(axis=1)
    out["centre"] = (f * mean).sum() / mean.sum()
    out["width"] = np.sqrt(((f - out["centre"]) ** 2 * mean).sum() / mean.sum())
    # The strongest tone over time: where it is, where it goes, how it wavers.
    peak = f[power.argmax(axis=0)]
    strength = power.max(axis=0)
    strong = strength >= np.quantile(strength, 0.3)
    middle = np.median(peak[strong])
    track = signal.medfilt(np.where(np.abs(np.log2((peak + 1) / (middle + 1))) < 0.8, peak, middle), 5)
    line = np.polyfit(t[strong], track[strong], 1, w=np.sqrt(strength[strong]))
    out["tone"], out["glide"] = middle, line[0]
    out["octaves"] = np.log2((np.polyval(line, t[-1]) + 50) / (np.polyval(line, t[0]) + 50))
    out["rising"] = float(line[0] > 0)
    out["waver"] = np.std(track[strong] - np.polyval(line, t[strong]))
    out["tone strength"] = np.log(np.median(strength) / (floor + 1e-12) + 1)
    for factor in (2, 3, 4):
        at = np.clip(np.round(middle * factor / f[1]).astype(int), 0, len(f) - 1)
        low = np.clip(np.round(middle / f[1]).astype(int), 1, len(f) - 1)
        near = lambda k: mean[max(0, k - 3) : k + 4].sum()
        out[f"overtone {factor}"] = np.log(near(at) / near(low) + 1e-6)
    # Loudness over time: beats, their rate and depth.
    envelope = np.abs(signal.hilbert(sound))
    step = max(1, rate // 400)
    envelope = signal.decimate(envelope, step, ftype="fir") if step > 1 else envelope
    pace = rate / step
    calm = signal.sosfiltfilt(signal.butter(2, 30, fs=pace, output="sos"), envelope)
    calm = signal.medfilt(calm, 9)
    swing = signal.detrend(calm) * np.hanning(len(calm))
    beat = np.abs(np.fft.rfft(swing, 4096)) ** 2
    bf = np.fft.rfftfreq(4096, 1 / pace)
    inside = (bf > 1.5) & (bf < 30)
    out["beat"] = bf[inside][beat[inside].argmax()]
    out["beat mean"] = (bf[inside] * beat[inside]).sum() / beat[inside].sum()
    out["beat clarity"] = beat[inside].max() / beat[inside].sum()
    out["depth"] = calm.std() / (calm.mean() + 1e-9)
    thirds = [part.mean() for part in np.array_split(calm, 3)]
    out["swells"] = np.log((thirds[2] + 1e-6) / (thirds[0] + 1e-6))
    # Knocks: short bursts over a wide band, against what is usual around them.
    for low in (120, rate / 4):
        flux = np.log(power[f >= low] + floor + 1e-12).mean(axis=0)
        flux = flux - signal.medfilt(flux, 31)
        noise = 1.48 * np.median(np.abs(flux)) + 1e-6
        for height in (4, 8):
            found = signal.find_peaks(flux, height=height * noise, distance=4)[0]
            out[f"knocks {low:.0f} {height}"] = len(found)
        out[f"knock strength {low:.0f}"] = np.sort(flux)[-5:].mean() / noise
    fast = envelope - signal.medfilt(envelope, 15)
    burst = 1.48 * np.median(np.abs(fast)) + 1e-9
    out["bursts"] = len(signal.find_peaks(fast, height=6 * burst, distance=4)[0])
    return out


for name in files:
    heard = pd.DataFrame([recording(path) if isinstance(path, str) else {} for path in x[name]])
    heard = heard.fillna(heard[:N].median())
    columns.update({f"{name}: {key}": heard[key] for key in heard})

