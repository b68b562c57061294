"""A classifier of scikit-learn's."""
import numpy as np
from numpy.random import default_rng
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

rng = default_rng(0)
X = rng.normal(size=(300, 4))
y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(X_train)
clf = LogisticRegression().fit(scaler.transform(X_train), y_train)
pred = clf.predict(scaler.transform(X_test))
print("accuracy", np.mean(pred == y_test), X_train.shape, np.unique(pred))
print(np.round(clf.coef_, 3))
