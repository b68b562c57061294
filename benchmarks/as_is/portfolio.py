"""Random portfolios and their Sharpe ratios."""
import numpy as np
import numpy.random as npr

npr.seed(101)
returns = npr.multivariate_normal(
    [0.0008, 0.0005, 0.001], [[1e-4, 2e-5, 1e-5], [2e-5, 8e-5, 3e-5], [1e-5, 3e-5, 2e-4]], 1000
)
mean = returns.mean(axis=0)
cov = np.cov(returns.T)
best = None
for _ in range(500):
    w = npr.random(3)
    w /= np.sum(w)
    ret = np.sum(mean * w) * 252
    vol = np.sqrt(np.dot(w.T, np.dot(cov * 252, w)))
    if best is None or ret / vol > best[0]:
        best = (ret / vol, w)
print(f"{best[0]:.6f}", best[1].round(5))
