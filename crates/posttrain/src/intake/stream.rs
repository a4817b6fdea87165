//! Writes the weights of a snapshot, and looks at every value on the way.

use super::adapter::{Adapter, LowRank};
use super::admit::IntakeError;
use super::base::BaseModel;
use super::compare::{Comparison, Distance};
use super::header::TensorPlace;
use super::output_folder::shown;
use super::values::WeightType;
use crate::fault::Fault;
use crate::refusal::{Refusal, RefusalCode};
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;

/// Values that are looked at at a time.
const PIECE: usize = 1 << 18;

/// Where the weights of a snapshot come from.
#[derive(Debug)]
pub(super) enum Source<'a> {
    /// They are the base's.
    Base,
    /// A whole model, of the base's names.
    Whole { files: &'a [File], tensors: &'a BTreeMap<String, TensorPlace> },
    /// The base with an adapter.
    Adapted { file: &'a File, adapter: &'a Adapter },
}

impl Source<'_> {
    /// Type and shape of a weight in the snapshot. Shapes were compared with the base's before.
    fn form(&self, name: &str, base: &TensorPlace) -> (Dtype, Vec<usize>) {
        match self {
            Self::Whole { tensors, .. } => {
                let place = tensors.get(name).unwrap_or(base);
                (place.dtype, place.shape.clone())
            }
            Self::Base | Self::Adapted { .. } => (base.dtype, base.shape.clone()),
        }
    }

    /// The one type of all weights, if there is one.
    pub(super) fn weight_type(&self, base: &BaseModel) -> Option<WeightType> {
        let mut types = base.tensors.iter().map(|(name, place)| self.form(name, place).0);
        let first = types.next()?;
        types.all(|dtype| dtype == first).then(|| WeightType::of(first)).flatten()
    }
}

/// Writes the weights into `out` as one safetensors file, in the order of the base's names, and
/// compares them with the base's.
///
/// # Errors
/// A [`Refusal`] if a weight is not finite or a file changes while it is read.
pub(super) fn write(
    out: &mut impl Write,
    base: &BaseModel,
    source: &Source<'_>,
) -> Result<Distance, IntakeError> {
    out.write_all(&header(base, source)?)?;
    let mut distance = Distance::default();
    for (name, place) in &base.tensors {
        let (dtype, shape) = source.form(name, place);
        let mut tensor = Copying {
            name,
            kind: weight_type(dtype, name)?,
            values: shape.iter().product(),
            base: (&base.files[place.file], place, weight_type(place.dtype, name)?),
            comparison: Comparison::default(),
        };
        match source {
            Source::Base => tensor.copy(out, None)?,
            Source::Whole { files, tensors } => {
                let place = tensors.get(name);
                tensor.copy(out, place.map(|place| (&files[place.file], place)))?;
            }
            Source::Adapted { file, adapter } => match adapter.targets.get(name) {
                Some(factors) => tensor.merge(out, file, factors, adapter.scale)?,
                None => tensor.copy(out, None)?,
            },
        }
        let is_longer = tensor.values > place.values();
        distance.take(&tensor.comparison, shape.len() > 1, is_longer);
    }
    Ok(distance)
}

fn weight_type(dtype: Dtype, name: &str) -> Result<WeightType, Refusal> {
    WeightType::of(dtype).ok_or_else(|| {
        let message = format!(
            "`{}` has the type {dtype}: save the weights as bfloat16, float16 or float32",
            shown(name)
        );
        Refusal::new(RefusalCode::Shape, message)
    })
}

/// The header of the snapshot's file.
fn header(base: &BaseModel, source: &Source<'_>) -> Result<Vec<u8>, IntakeError> {
    let (mut infos, mut end) = (Vec::new(), 0);
    for (name, place) in &base.tensors {
        let (dtype, shape) = source.form(name, place);
        let length = shape.iter().product::<usize>() * weight_type(dtype, name)?.bytes();
        let info = TensorInfo { dtype, shape, data_offsets: (end, end + length) };
        infos.push((name.clone(), info));
        end += length;
    }
    let format = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let metadata = Metadata::new(Some(format), infos).map_err(io::Error::other)?;
    let mut text = serde_json::to_vec(&metadata).map_err(io::Error::other)?;
    // The data begin at a multiple of eight.
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.append(&mut text);
    Ok(header)
}

/// One weight on its way into the snapshot.
struct Copying<'a> {
    name: &'a str,
    /// The type that is written.
    kind: WeightType,
    /// Number of values that are written; the base has as many or fewer.
    values: usize,
    base: (&'a File, &'a TensorPlace, WeightType),
    comparison: Comparison,
}

impl Copying<'_> {
    /// Writes the values at `from`, or the base's own.
    fn copy(
        &mut self,
        out: &mut impl Write,
        from: Option<(&File, &TensorPlace)>,
    ) -> Result<(), IntakeError> {
        let (mut bytes, mut values, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..self.values).step_by(PIECE) {
            let last = (first + PIECE).min(self.values);
            self.read_base(first, last, &mut bytes, &mut others)?;
            if let Some((file, place)) = from {
                read(file, place, self.kind, first..last, &mut bytes)
                    .map_err(|_| changed(self.name))?;
            }
            self.kind.decode(&bytes, &mut values);
            self.look_at(&values, &others)?;
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Writes the base's values with `scale · B A` added, row by row.
    fn merge(
        &mut self,
        out: &mut impl Write,
        file: &File,
        factors: &LowRank,
        scale: f64,
    ) -> Result<(), IntakeError> {
        let (rank, columns) = (factors.a.shape[0], factors.a.shape[1]);
        let whole = |place: &TensorPlace| -> Result<Vec<f32>, IntakeError> {
            let kind = weight_type(place.dtype, self.name)?;
            let (mut bytes, mut values) = (Vec::new(), Vec::new());
            read(file, place, kind, 0..place.values(), &mut bytes)
                .map_err(|_| changed(self.name))?;
            kind.decode(&bytes, &mut values);
            Ok(values)
        };
        let (a, b) = (whole(&factors.a)?, whole(&factors.b)?);
        let (mut bytes, mut values, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut sums = vec![0.0_f64; columns];
        for row in 0..factors.b.shape[0] {
            self.read_base(row * columns, (row + 1) * columns, &mut bytes, &mut others)?;
            sums.fill(0.0);
            for (of_b, of_a) in b[row * rank..(row + 1) * rank].iter().zip(a.chunks_exact(columns))
            {
                let weight = scale * f64::from(*of_b);
                for (sum, value) in sums.iter_mut().zip(of_a) {
                    *sum += weight * f64::from(*value);
                }
            }
            let merged: Vec<f32> = others
                .iter()
                .zip(&sums)
                .map(|(base, sum)| narrow(f64::from(*base) + sum))
                .collect();
            self.kind.encode(&merged, &mut bytes);
            self.kind.decode(&bytes, &mut values);
            self.look_at(&values, &others)?;
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Reads the base's values from `first` to `last`, or to its end.
    fn read_base(
        &self,
        first: usize,
        last: usize,
        bytes: &mut Vec<u8>,
        values: &mut Vec<f32>,
    ) -> Result<(), Fault> {
        let (file, place, kind) = self.base;
        let end = place.values();
        read(file, place, kind, first.min(end)..last.min(end), bytes)?;
        kind.decode(bytes, values);
        Ok(())
    }

    fn look_at(&mut self, values: &[f32], base: &[f32]) -> Result<(), Refusal> {
        if !values.iter().all(|value| value.is_finite()) {
            let message = format!(
                "`{}` has NaN or infinite weights: the training diverged; submit an earlier checkpoint",
                self.name
            );
            return Err(Refusal::new(RefusalCode::NotFinite, message));
        }
        self.comparison.take(values, base);
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "weights are f32; what overflows is found")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// Reads the values of a range into `bytes`.
fn read(
    file: &File,
    place: &TensorPlace,
    kind: WeightType,
    range: std::ops::Range<usize>,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    bytes.resize(range.len() * kind.bytes(), 0);
    file.read_exact_at(bytes, place.offset + (range.start * kind.bytes()) as u64)
}

/// The refusal of a file that is shorter than it was a moment ago.
fn changed(name: &str) -> Refusal {
    let message = format!(
        "the file with `{name}` changed while it was read: submit a model after it was written \
         completely, and do not write to its folder until the answer is there"
    );
    Refusal::new(RefusalCode::Damaged, message)
}
