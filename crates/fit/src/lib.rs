//! Friction identified from recordings: which values of a scenario's numbers explain what sensors measured,
//! how well each is known, and what the recording cannot tell.

pub mod recording;
