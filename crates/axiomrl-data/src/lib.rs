//! Recorded data: files of episodes, there and back.
//!
//! Every format is read episode by episode ([`EpisodeReader`]) in the environment's own units, and whatever reads episodes can
//! be loaded into a store to learn from ([`load`]), kept as it is ([`Recording`]), looked over ([`describe`]), mixed with others
//! ([`mix`]) or written in another format ([`npz::write`], [`minari::write`]). So there is no path from one format to another
//! that is not the path through all.
//!
//! | format | read | written |
//! |---|---|---|
//! | `.npz` with `obs`, `actions`, … or with D4RL's `observations`, `terminals`, … | yes | yes, the former |
//! | D4RL's flat HDF5 | yes | |
//! | Minari folders, HDF5 and Arrow | yes | HDF5 |

mod describe;
mod element;
mod episode;
mod error;
mod files;
mod fit;
mod flat;
mod hdf5;
mod load;
pub mod minari;
mod mix;
pub mod npz;
mod open;
mod recording;
mod rows;
#[cfg(test)]
mod testing;

pub use describe::{ActionColumn, Column, Description, Histogram, NotFinite, Spread, describe};
pub use episode::{Ending, EpisodeBuf, EpisodeReader, Metadata};
pub use error::DataError;
pub use load::{Endings, LoadOptions, Report, load};
pub use mix::{MixOptions, Share, mix};
pub use open::{OpenOptions, open};
pub use recording::Recording;
