// Parameters and inputs of a contact are read from their buffers where they are used: as copies they would
// take registers in every pass.

// The contact of this lane is known.
fn take_contact() {
}

// Its interval is another.
fn take_interval() {
}
