//! The words of claims and documents.

/// What is claimed.
pub(super) const DEVICES: [&str; 16] = [
    "pump", "lamp", "lock", "drill", "scale", "heater", "filter", "camera", "printer", "valve",
    "engine", "cutter", "sensor", "battery", "mixer", "crane",
];

/// The fields that documents are of.
pub(super) const FIELDS: [&str; 8] =
    ["medicine", "farming", "mining", "aviation", "textiles", "kitchens", "railways", "toys"];

/// An element of a device: its name in claims, and the same in other words.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: &'static str,
    pub(super) other: &'static str,
}

const fn element(name: &'static str, other: &'static str) -> Element {
    Element { name, other }
}

pub(super) const ELEMENTS: [Element; 40] = [
    element("spring", "elastic coil"),
    element("rotor", "turning wheel"),
    element("seal", "tight ring"),
    element("handle", "grip"),
    element("hinge", "folding joint"),
    element("fan", "air blower"),
    element("lens", "curved glass"),
    element("timer", "small clock"),
    element("switch", "toggle"),
    element("magnet", "pulling iron"),
    element("chain", "row of links"),
    element("belt", "endless strap"),
    element("lever", "lifting bar"),
    element("piston", "sliding plug"),
    element("nozzle", "narrow outlet"),
    element("mirror", "shiny plate"),
    element("cable", "long wire"),
    element("gear", "toothed wheel"),
    element("brake", "stopping shoe"),
    element("cover", "closing lid"),
    element("wheel", "rolling disc"),
    element("tube", "hollow pipe"),
    element("tank", "liquid vessel"),
    element("blade", "sharp edge"),
    element("clamp", "holding jaw"),
    element("hook", "bent pin"),
    element("frame", "rigid support"),
    element("display", "picture screen"),
    element("antenna", "radio mast"),
    element("alarm", "warning bell"),
    element("fuse", "melting strip"),
    element("motor", "electric drive"),
    element("bearing", "ring of balls"),
    element("screw", "threaded rod"),
    element("funnel", "pouring cone"),
    element("sieve", "fine mesh"),
    element("roller", "round bar"),
    element("wick", "burning cord"),
    element("bellows", "folded bag"),
    element("float", "floating body"),
];
