// For laws whose step is no collocation.

const COLLOCATES = false;

fn collocate() {}
