"""Primes by the sieve of Eratosthenes."""
import numpy as np


def primes(n):
    sieve = np.ones(n + 1, dtype=bool)
    sieve[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if sieve[i]:
            sieve[i * i :: i] = False
    return np.nonzero(sieve)[0]


p = primes(100_000)
print(len(p), p[:10], p[-3:], np.diff(p).max())
print(np.gcd(12, 18), np.lcm.reduce([4, 6, 10]), np.gcd.reduce(np.array([12, 18, 30])))
