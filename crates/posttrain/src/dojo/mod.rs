//! Raw data that agents make training data from.

mod describe;

pub use describe::{
    ColumnInfo, Content, DatasetInfo, DescribeError, FileInfo, SourceInfo, Spread, describe,
};
