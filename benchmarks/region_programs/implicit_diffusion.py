"""Solve the tridiagonal system of implicit vertical diffusion in each column, level by level.

Source: the Thomas algorithm, as in Press et al., Numerical Recipes, section 2.4; backward Euler in time.
"""

LEVELS = 8


def inputs(n, rng):
    """Return a tracer on 8 levels, and the diffusivity at the 7 interfaces between them."""
    columns = n // LEVELS
    return rng.normal(10, 3, (LEVELS, columns)), rng.uniform(1e-5, 1e-2, (LEVELS - 1, columns))


def compute(np, tracer, diffusivity):
    step, spacing = 3600.0, 5.0
    coupling = diffusivity * (step / spacing**2)
    above = [0.0] + [-coupling[k] for k in range(LEVELS - 1)]
    below = [-coupling[k] for k in range(LEVELS - 1)] + [0.0]
    upper, value = [], []
    for k in range(LEVELS):
        diagonal = 1 - above[k] - below[k]
        if k == 0:
            pivot = 1 / diagonal
            value.append(tracer[k] * pivot)
        else:
            pivot = 1 / (diagonal - above[k] * upper[k - 1])
            value.append((tracer[k] - above[k] * value[k - 1]) * pivot)
        upper.append(below[k] * pivot)
    for k in range(LEVELS - 2, -1, -1):
        value[k] = value[k] - upper[k] * value[k + 1]
    heat = value[0] * spacing
    for k in range(1, LEVELS):
        heat = heat + value[k] * spacing
    return (*value, heat)
