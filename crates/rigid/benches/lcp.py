"""Times `lemkelcp` and a projected Gauss-Seidel compiled by numba on the problems of a CSV file: each line A, row after row, then q."""
import sys
import time

import numba
import numpy as np
from lemkelcp import lemkelcp as package

# The package of 2018 assigns to the elements of a range, as Python 2 let it.
package.range = lambda *bounds: list(range(*bounds))
lemkelcp = package.lemkelcp


@numba.njit
def gauss_seidel(a, q, sweeps):
    """Projected Gauss-Seidel with a small multiple of the identity, as rows of s have no diagonal."""
    z = np.zeros_like(q)
    for _ in range(sweeps):
        for i in range(q.size):
            w = q[i]
            for j in range(q.size):
                w += a[i, j] * z[j]
            z[i] = max(0.0, z[i] - w / (a[i, i] + 1e-3))
    return z


def residual(a, q, z):
    return np.abs(np.minimum(z, a @ z + q)).max()


rows = np.loadtxt(sys.argv[1], delimiter=",", ndmin=2)
n = int((np.sqrt(1 + 4 * rows.shape[1]) - 1) / 2)
problems = [(row[: n * n].reshape(n, n).copy(), row[n * n :].copy()) for row in rows]

start, worst, failed = time.perf_counter(), 0.0, 0
for a, q in problems:
    z, code, _ = lemkelcp(a, q, 2000)
    failed += code != 0
    worst = max(worst, residual(a, q, z)) if code == 0 else worst
seconds = time.perf_counter() - start
print(f"lemkelcp (Python)            {len(problems) / seconds:12.3e} per s   residual {worst:.1e}   failed {failed}")

gauss_seidel(*problems[0], 1)
for sweeps in (100, 1000):
    start = time.perf_counter()
    worst = max(residual(a, q, gauss_seidel(a, q, sweeps)) for a, q in problems)
    seconds = time.perf_counter() - start
    print(f"numba, {sweeps:4} sweeps           {len(problems) / seconds:12.3e} per s   residual {worst:.1e}")
