"""Compute correlation, regression line, errors and efficiency of a model's values against observations.

Source: Wilks, Statistical Methods in the Atmospheric Sciences, chapter 8; Nash and Sutcliffe (1970), Journal of
Hydrology 10; Gupta et al. (2009), Journal of Hydrology 377.
"""


def inputs(n, rng):
    """Return observations and a model's values."""
    x = rng.gamma(2.0, 3.0, n)
    return x, 0.8 * x + rng.normal(1, 2, n)


def compute(np, x, y):
    mean_x, mean_y = x.mean(), y.mean()
    dx, dy = x - mean_x, y - mean_y
    var_x, var_y = (dx * dx).mean(), (dy * dy).mean()
    covariance = (dx * dy).mean()
    std_x, std_y = np.sqrt(var_x), np.sqrt(var_y)
    r = covariance / (std_x * std_y)
    slope = covariance / var_x
    intercept = mean_y - slope * mean_x
    error = y - x
    bias = error.mean()
    rmse = np.sqrt((error * error).mean())
    mae = np.abs(error).mean()
    nse = 1 - (error * error).sum() / (dx * dx).sum()
    kge = 1 - np.sqrt((r - 1) ** 2 + (std_y / std_x - 1) ** 2 + (mean_y / mean_x - 1) ** 2)
    residual = y - (intercept + slope * x)
    return r, slope, intercept, bias, rmse, mae, nse, kge, residual
