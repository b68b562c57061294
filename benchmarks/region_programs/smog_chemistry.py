"""Compute the production, the loss and one step of nine species of the chemistry of ozone and nitrogen oxides.

Source: the reactions of Seinfeld and Pandis, Atmospheric Chemistry and Physics, 3rd edition (2016), chapter 6; rate
constants in the Arrhenius and Troe forms of the JPL evaluation 19-5; step by the two-step idea of Verwer (1994).
"""


def inputs(n, rng):
    """Return temperature, cosine of the zenith angle and nine concentrations in molecules per cubic centimetre."""
    scales = (1e12, 2e10, 5e10, 1e6, 2e8, 3e12, 4e13, 5e10, 2e8)  # O3 NO NO2 OH HO2 CO CH4 HCHO CH3O2
    return (rng.uniform(260, 305, n), rng.uniform(0.05, 1, n), *(s * rng.uniform(0.5, 1.5, n) for s in scales))


def compute(np, t, mu, o3, no, no2, oh, ho2, co, ch4, hcho, ch3o2):
    air, step = 2.5e19, 1.0
    water = 4e17
    inverse = 1 / t
    cold = 300 * inverse

    j_no2 = 1.45e-2 * np.exp(-0.4 / mu)
    j_o3 = 5e-5 * np.exp(-1.3 / mu)
    j_hcho = 5e-5 * np.exp(-0.8 / mu)
    k_no_o3 = 3.0e-12 * np.exp(-1500 * inverse)
    k_oh_o3 = 1.7e-12 * np.exp(-940 * inverse)
    k_ho2_o3 = 1.0e-14 * np.exp(-490 * inverse)
    k_ho2_no = 3.3e-12 * np.exp(270 * inverse)
    k_ho2_ho2 = 3.0e-13 * np.exp(460 * inverse) + 2.1e-33 * air * np.exp(920 * inverse)
    k_oh_ho2 = 4.8e-11 * np.exp(250 * inverse)
    k_ch4 = 2.45e-12 * np.exp(-1775 * inverse)
    k_hcho = 5.5e-12 * np.exp(125 * inverse)
    k_ch3o2_no = 2.8e-12 * np.exp(300 * inverse)
    k_ch3o2_ho2 = 4.1e-13 * np.exp(750 * inverse)
    low = 1.8e-30 * cold**3.0 * air
    high = 2.8e-11
    ratio = np.log10(low / high)
    k_oh_no2 = low / (1 + low / high) * 0.6 ** (1 / (1 + ratio * ratio))
    low_co = 5.9e-33 * cold * air
    ratio = np.log10(low_co / 1.1e-12)
    k_co = low_co / (1 + low_co / 1.1e-12) * 0.6 ** (1 / (1 + ratio * ratio)) + 1.5e-13

    # The excited oxygen atom reacts with water or is quenched by air.
    k_water = 1.63e-10 * np.exp(60 * inverse) * water
    k_quench = 0.79 * air * 2.15e-11 * np.exp(110 * inverse) + 0.21 * air * 3.3e-11 * np.exp(55 * inverse)
    yield_oh = k_water / (k_water + k_quench)

    r_no_o3 = k_no_o3 * no * o3
    r_no2 = j_no2 * no2
    r_o3 = j_o3 * o3 * yield_oh
    r_oh_o3 = k_oh_o3 * oh * o3
    r_ho2_o3 = k_ho2_o3 * ho2 * o3
    r_ho2_no = k_ho2_no * ho2 * no
    r_oh_no2 = k_oh_no2 * oh * no2
    r_co = k_co * oh * co
    r_ch4 = k_ch4 * oh * ch4
    r_hcho = k_hcho * oh * hcho
    r_hcho_light = j_hcho * hcho
    r_ch3o2_no = k_ch3o2_no * ch3o2 * no
    r_ho2_ho2 = k_ho2_ho2 * ho2 * ho2
    r_oh_ho2 = k_oh_ho2 * oh * ho2
    r_ch3o2_ho2 = k_ch3o2_ho2 * ch3o2 * ho2

    def advance(c, production, loss):
        rate = loss / c
        return (c + step * production) / (1 + step * rate)

    new_o3 = advance(o3, r_no2, r_no_o3 + r_o3 + r_oh_o3 + r_ho2_o3)
    new_no = advance(no, r_no2, r_no_o3 + r_ho2_no + r_ch3o2_no)
    new_no2 = advance(no2, r_no_o3 + r_ho2_no + r_ch3o2_no, r_no2 + r_oh_no2)
    new_oh = advance(oh, 2 * r_o3 + r_ho2_o3 + r_ho2_no, r_oh_o3 + r_oh_no2 + r_co + r_ch4 + r_hcho + r_oh_ho2)
    new_ho2 = advance(
        ho2,
        r_oh_o3 + r_co + r_hcho + 2 * r_hcho_light + r_ch3o2_no,
        r_ho2_o3 + r_ho2_no + 2 * r_ho2_ho2 + r_oh_ho2 + r_ch3o2_ho2,
    )
    new_co = advance(co, r_hcho + r_hcho_light, r_co)
    new_ch4 = advance(ch4, 0.0, r_ch4)
    new_hcho = advance(hcho, r_ch3o2_no, r_hcho + r_hcho_light)
    new_ch3o2 = advance(ch3o2, r_ch4, r_ch3o2_no + r_ch3o2_ho2)
    return new_o3, new_no, new_no2, new_oh, new_ho2, new_co, new_ch4, new_hcho, new_ch3o2
