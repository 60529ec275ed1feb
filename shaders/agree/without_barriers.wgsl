// What the lanes of a contact agree on where they share no barrier: what each has, as they come to the same.
fn agreed(v: u32) -> u32 {
    return v;
}
