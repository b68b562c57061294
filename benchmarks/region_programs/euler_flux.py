"""Compute the fluxes of mass, momentum and energy of a gas between cells by the HLLC solver.

Source: Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, 3rd edition (2009), sections 10.4 to 10.6.
"""


def inputs(n, rng):
    """Return density, velocity and pressure of cells in a line."""
    return rng.uniform(0.5, 2, n), rng.normal(0, 1, n), rng.uniform(0.5, 2, n)


def compute(np, rho, u, p):
    gamma = 1.4
    rl, rr = rho[:-1], rho[1:]
    ul, ur = u[:-1], u[1:]
    pl, pr = p[:-1], p[1:]
    energy = p / (gamma - 1) + 0.5 * rho * u * u
    el, er = energy[:-1], energy[1:]
    sound = np.sqrt(gamma * p / rho)
    cl, cr = sound[:-1], sound[1:]
    weight_l, weight_r = np.sqrt(rl), np.sqrt(rr)
    total = weight_l + weight_r
    enthalpy = (weight_l * (el + pl) / rl + weight_r * (er + pr) / rr) / total
    mean = (weight_l * ul + weight_r * ur) / total
    mean_c = np.sqrt((gamma - 1) * (enthalpy - 0.5 * mean * mean))
    sl = np.minimum(ul - cl, mean - mean_c)
    sr = np.maximum(ur + cr, mean + mean_c)
    ml, mr = rl * (sl - ul), rr * (sr - ur)
    middle = (pr - pl + ul * ml - ur * mr) / (ml - mr)

    factor_l = ml / (sl - middle)
    factor_r = mr / (sr - middle)
    star_el = factor_l * (el / rl + (middle - ul) * (middle + pl / ml))
    star_er = factor_r * (er / rr + (middle - ur) * (middle + pr / mr))
    mass_l, mass_r = rl * ul, rr * ur
    momentum_l, momentum_r = mass_l * ul + pl, mass_r * ur + pr
    power_l, power_r = ul * (el + pl), ur * (er + pr)

    left, right, middle_left = sl >= 0, sr <= 0, middle >= 0

    def select(flux_l, flux_r, star_l, star_r, state_l, state_r):
        inside_l = flux_l + sl * (star_l - state_l)
        inside_r = flux_r + sr * (star_r - state_r)
        return np.where(left, flux_l, np.where(right, flux_r, np.where(middle_left, inside_l, inside_r)))

    mass = select(mass_l, mass_r, factor_l, factor_r, rl, rr)
    momentum = select(momentum_l, momentum_r, factor_l * middle, factor_r * middle, mass_l, mass_r)
    power = select(power_l, power_r, star_el, star_er, el, er)
    fastest = np.maximum(np.abs(sl), np.abs(sr)).max()
    return mass, momentum, power, fastest
