// Parameters and inputs of a contact are copied to the memory of its lane, where software drivers read them
// without the checks of a buffer's bounds: `read_from` in gpu/shader.rs turns every `&contacts[contact]` and
// `&intervals[now_at]` to them.

var<private> own_contact: Contact;
var<private> own_interval: Interval;

// The contact of this lane is known.
fn take_contact() {
    own_contact = contacts[contact];
}

// Its interval is another.
fn take_interval() {
    own_interval = intervals[now_at];
}
