//! Distances that are written as places on a map.
//!
//! The Earth is a sphere here, and distances go along great circles: the haversine formula and its
//! inverse (Sinnott, "Virtues of the Haversine", Sky and Telescope 68, 1984).

use crate::numeric::draws::Draws;
use crate::numeric::rounding::round;
use crate::spec::structure::{
    COORDINATE_DECIMALS, COORDINATES, PlaceSpec, There, coordinate_columns,
};
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};
use tasks::stream::Stream;

/// The mean radius of the Earth in kilometres.
pub const RADIUS: f64 = 6371.0088;
/// How far rows lie around the middle at most, in kilometres.
const AROUND: f64 = 12.0;

/// Latitude and longitude in degrees.
pub type Point = [f64; 2];

/// The distance of two points in kilometres.
pub fn haversine(one: Point, other: Point) -> f64 {
    let [(lat, lon), (to_lat, to_lon)] =
        [one, other].map(|[lat, lon]| (lat.to_radians(), lon.to_radians()));
    let half = |angle: f64| {
        let sine = libm::sin(angle / 2.0);
        sine * sine
    };
    let h = half(to_lat - lat) + libm::cos(lat) * libm::cos(to_lat) * half(to_lon - lon);
    2.0 * RADIUS * libm::asin(libm::sqrt(h.clamp(0.0, 1.0)))
}

/// The point at a distance in kilometres, in a direction in radians from north over east.
pub fn toward(from: Point, distance: f64, direction: f64) -> Point {
    let ([lat, lon], angle) = (from.map(f64::to_radians), distance / RADIUS);
    let (sin_lat, cos_lat) = (libm::sin(lat), libm::cos(lat));
    let (sin_angle, cos_angle) = (libm::sin(angle), libm::cos(angle));
    let sin_to = sin_lat * cos_angle + cos_lat * sin_angle * libm::cos(direction);
    let to_lat = libm::asin(sin_to.clamp(-1.0, 1.0));
    let turn =
        libm::atan2(libm::sin(direction) * sin_angle * cos_lat, cos_angle - sin_lat * sin_to);
    // Longitudes go from -180 to 180.
    let to_lon = (lon + turn + 3.0 * PI).rem_euclid(TAU) - PI;
    [to_lat.to_degrees(), to_lon.to_degrees()]
}

/// The columns of the rows' places, in the order of [`PlaceSpec::columns`], from their distances in
/// units of the column that is not written.
pub(super) fn coordinates(spec: &PlaceSpec, distances: &[f64], stream: Stream) -> Vec<Vec<f64>> {
    let mut draws = Draws::new(stream.child("places"));
    let mut columns = vec![Vec::with_capacity(distances.len()); spec.columns().len()];
    for distance in distances {
        let kilometres = distance * spec.unit;
        let points = match &spec.there {
            There::Written { .. } => {
                // Spread evenly over a disc.
                let away = AROUND * libm::sqrt(draws.unit());
                let here = toward(spec.middle, away, draws.between(0.0, TAU));
                vec![here, toward(here, kilometres, draws.between(0.0, TAU))]
            }
            There::Unwritten { places } => {
                let from = *draws.pick(places);
                vec![toward(from, kilometres, draws.between(0.0, TAU))]
            }
        };
        for (column, value) in columns.iter_mut().zip(points.into_iter().flatten()) {
            column.push(round(value, COORDINATE_DECIMALS));
        }
    }
    columns
}

/// The distances that are not written, from a table's number columns; `None` if one of the places is
/// not among them.
pub fn distances(spec: &PlaceSpec, numbers: &BTreeMap<String, Vec<f64>>) -> Option<Vec<f64>> {
    let here = points(&spec.here, numbers)?;
    let far: Vec<f64> = match &spec.there {
        There::Written { name } => {
            let there = points(name, numbers)?;
            here.into_iter().zip(there).map(|(one, other)| haversine(one, other)).collect()
        }
        There::Unwritten { places } => {
            let nearest = |one: Point| {
                let far = places.iter().map(|other| haversine(one, *other));
                far.fold(f64::INFINITY, f64::min)
            };
            here.into_iter().map(nearest).collect()
        }
    };
    Some(far.into_iter().map(|kilometres| kilometres / spec.unit).collect())
}

/// What is usually computed of places: how far any two of a row are apart, in kilometres. Columns are
/// taken for a place by the ends of their names.
pub fn usual(numbers: &BTreeMap<String, Vec<f64>>) -> Vec<Vec<f64>> {
    let [lat, _] = COORDINATES;
    let stems = numbers.keys().filter_map(|name| name.strip_suffix(lat));
    let places: Vec<Vec<Point>> = stems.filter_map(|stem| points(stem, numbers)).collect();
    let mut columns = Vec::new();
    for (place, one) in places.iter().enumerate() {
        for other in &places[place + 1..] {
            columns.push(one.iter().zip(other).map(|(a, b)| haversine(*a, *b)).collect());
        }
    }
    columns
}

/// The points of a place, row by row; `None` without both of its columns.
fn points(name: &str, numbers: &BTreeMap<String, Vec<f64>>) -> Option<Vec<Point>> {
    let [lat, lon] = coordinate_columns(name).map(|column| numbers.get(&column));
    Some(lat?.iter().zip(lon?).map(|(lat, lon)| [*lat, *lon]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(there: There, unit: f64) -> PlaceSpec {
        let middle = [45.76, 4.84];
        PlaceSpec { of: "way".to_owned(), unit, here: "home".to_owned(), there, middle }
    }

    #[test]
    fn distances_are_those_of_known_cities() {
        // Paris to London, and half around the Earth.
        let far = haversine([48.8566, 2.3522], [51.5074, -0.1278]);
        assert!((far - 343.556).abs() < 0.01, "{far}");
        let half = haversine([0.0, 0.0], [0.0, 180.0]);
        assert!((half - PI * RADIUS).abs() < 1e-6, "{half}");
    }

    #[test]
    fn points_lie_as_far_away_as_asked() {
        for (from, distance) in
            [([45.0, 179.9], 40.0), ([-33.0, 151.0], 9000.0), ([89.0, 0.0], 300.0)]
        {
            for step in 0..12 {
                let to = toward(from, distance, f64::from(step) * TAU / 12.0);
                assert!((haversine(from, to) - distance).abs() < 1e-6, "{from:?} {step}");
                assert!(to[0].abs() <= 90.0 && to[1].abs() <= 180.0, "{to:?}");
            }
        }
        let [lat, lon] = toward([10.0, 20.0], 100.0, TAU / 4.0);
        assert!((lat - 10.0).abs() < 0.01 && lon > 20.9, "east is to the right: {lat} {lon}");
    }

    #[test]
    fn distances_are_read_back_from_places() {
        let written = There::Written { name: "clinic".to_owned() };
        let unwritten =
            There::Unwritten { places: vec![[45.76, 4.84], toward([45.76, 4.84], 250.0, 1.0)] };
        for (there, unit, columns) in [(written, 0.001, 4), (unwritten, 1.0, 2)] {
            let spec = spec(there, unit);
            let known: Vec<f64> = (1..=200).map(|row| f64::from(row) / 2.0).collect();
            let written = coordinates(&spec, &known, Stream::root(3));
            assert_eq!(written.len(), columns);
            let numbers: BTreeMap<String, Vec<f64>> =
                spec.columns().into_iter().zip(written).collect();
            let found = distances(&spec, &numbers).unwrap();
            for (found, known) in found.iter().zip(&known) {
                assert!((found - known).abs() < 0.002 / unit, "{found}, not {known}");
            }
            assert_eq!(usual(&numbers).len(), usize::from(columns == 4));
        }
    }
}
