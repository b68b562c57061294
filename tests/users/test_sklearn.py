"""scikit-learn with array_api_dispatch: its own checks of estimators, and its functions beside NumPy's answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

sklearn = pytest.importorskip("sklearn")

from sklearn import discriminant_analysis, linear_model, metrics, model_selection, preprocessing  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.metrics import pairwise  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402

ESTIMATORS = [
    PCA(n_components=2, svd_solver="full"),
    PCA(n_components=2, svd_solver="covariance_eigh", whiten=True),
    PCA(n_components=2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    linear_model.Ridge(),
    linear_model.RidgeCV(),
    linear_model.LogisticRegression(max_iter=5),
    preprocessing.Binarizer(),
    preprocessing.KernelCenterer(),
    preprocessing.MaxAbsScaler(),
    preprocessing.MinMaxScaler(),
    preprocessing.Normalizer("l1"),
    preprocessing.PolynomialFeatures(2),
    preprocessing.StandardScaler(),
    model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1.0]}, cv=2, error_score="raise"),
]

_random = np.random.default_rng(0)
TRUE, FOUND = _random.integers(0, 2, (2, 40))
TRUE_OF_3, FOUND_OF_3 = _random.integers(0, 3, (2, 40))
X, Y = _random.random((2, 12, 5), dtype="float32")
TARGETS, PREDICTED, WEIGHTS = _random.random((3, 40), dtype="float32")
PROBABILITIES = _random.random((40, 3), dtype="float32")
PROBABILITIES /= PROBABILITIES.sum(1, keepdims=True)


@pytest.fixture(autouse=True)
def dispatch() -> Iterator[None]:
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(scope="module", autouse=True)
def _on_a_device_with_float64() -> None:
    """scikit-learn chooses dtypes by itself: default ones on the host, and those of ours."""
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


def name_of(estimator) -> str:
    return f"{type(estimator).__name__}-{getattr(estimator, 'svd_solver', '')}".strip("-")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_scikit_learns_own_check(estimator) -> None:
    """Attributes and results are device arrays of the dtype, shape and values that NumPy's arrays give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers stop early, and classes of the check's data have few members
        estimator_checks.check_array_api_input(name_of(estimator), clone(estimator), "clarray", check_values=True)


def test_fitted_on_the_device_used_with_ndarrays() -> None:
    estimator_checks.check_array_api_same_namespace("Ridge", linear_model.Ridge(solver="svd"), "clarray")


PAIRWISE = [
    *("additive_chi2_kernel", "chi2_kernel", "cosine_distances", "cosine_similarity", "euclidean_distances"),
    *("linear_kernel", "pairwise_distances", "pairwise_kernels", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel"),
]
CLASSIFIED = [
    *("accuracy_score", "balanced_accuracy_score", "cohen_kappa_score", "confusion_matrix", "f1_score"),
    *("hamming_loss", "jaccard_score", "precision_recall_fscore_support", "zero_one_loss"),
]
REGRESSED = [
    *("d2_tweedie_score", "explained_variance_score", "max_error", "mean_absolute_error", "mean_pinball_loss"),
    *("mean_absolute_percentage_error", "mean_gamma_deviance", "mean_poisson_deviance", "mean_squared_error"),
    *("mean_squared_log_error", "r2_score", "root_mean_squared_error"),
]
RANKED = [
    *("average_precision_score", "brier_score_loss", "det_curve"),
    *("precision_recall_curve", "roc_auc_score", "roc_curve"),
]
FUNCTIONS: dict[str, Callable] = {
    **{n: lambda xp, n=n: getattr(pairwise, n)(xp.asarray(X), xp.asarray(Y)) for n in PAIRWISE},
    **{n: lambda xp, n=n: getattr(metrics, n)(xp.asarray(TRUE), xp.asarray(FOUND)) for n in CLASSIFIED},
    **{n: lambda xp, n=n: getattr(metrics, n)(xp.asarray(TARGETS), xp.asarray(PREDICTED)) for n in REGRESSED},
    **{n: lambda xp, n=n: getattr(metrics, n)(xp.asarray(TRUE), xp.asarray(PREDICTED)) for n in RANKED},
    "f1_macro": lambda xp: metrics.f1_score(xp.asarray(TRUE_OF_3), xp.asarray(FOUND_OF_3), average="macro"),
    "accuracy_weighted": lambda xp: metrics.accuracy_score(
        xp.asarray(TRUE), xp.asarray(FOUND), sample_weight=xp.asarray(WEIGHTS)
    ),
    "log_loss": lambda xp: metrics.log_loss(xp.asarray(TRUE_OF_3), xp.asarray(PROBABILITIES)),
    "v_measure_score": lambda xp: metrics.v_measure_score(xp.asarray(TRUE_OF_3), xp.asarray(FOUND_OF_3)),
    "calinski_harabasz_score": lambda xp: metrics.calinski_harabasz_score(
        xp.asarray(PROBABILITIES), xp.asarray(TRUE_OF_3)
    ),
    "train_test_split": lambda xp: model_selection.train_test_split(xp.asarray(X), xp.arange(12), random_state=0),
    "LabelEncoder": lambda xp: preprocessing.LabelEncoder().fit_transform(xp.asarray(TRUE_OF_3 * 5)),
    "LabelBinarizer": lambda xp: preprocessing.LabelBinarizer().fit_transform(xp.asarray(TRUE_OF_3 * 5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    ours, theirs = FUNCTIONS[name](clarray), FUNCTIONS[name](np)
    for one, other in zip(*((r if isinstance(r, tuple | list) else [r]) for r in (ours, theirs)), strict=True):
        if isinstance(other, np.ndarray) and other.ndim:
            assert isinstance(one, clarray.DeviceArray)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-6)


def test_a_users_program() -> None:
    """Scaling, a projection and a classifier, fitted and asked on the device; the labels are NumPy's."""
    data, labels = make_classification(200, 8, n_informative=5, n_redundant=0, random_state=0)

    def predicted(xp):
        x, y = xp.asarray(data), xp.asarray(labels)
        model = make_pipeline(
            preprocessing.StandardScaler(), PCA(5), discriminant_analysis.LinearDiscriminantAnalysis()
        )
        return model.fit(x[:150], y[:150]).predict(x[150:])

    found = predicted(clarray)
    assert isinstance(found, clarray.DeviceArray)
    np.testing.assert_array_equal(found, predicted(np))


def test_logistic_regression_with_its_own_search() -> None:
    """scikit-learn makes its paths (`scores_`, `n_iter_` ...) as ndarrays of any arrays, which its check refuses."""
    data, labels = make_classification(90, 6, n_classes=3, n_informative=4, random_state=0)
    search = linear_model.LogisticRegressionCV(
        Cs=3, l1_ratios=(0,), cv=2, scoring="neg_log_loss", use_legacy_attributes=False, max_iter=200
    )
    x, y = clarray.asarray(data), clarray.asarray(labels)
    ours, theirs = clone(search).fit(x, y), clone(search).fit(data, labels)
    assert (ours.C_, ours.l1_ratio_) == (theirs.C_, theirs.l1_ratio_)
    for name in ("coef_", "intercept_", "classes_", "Cs_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        assert isinstance(found, clarray.DeviceArray)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    for method in ("predict", "predict_proba", "decision_function"):
        found, expected = getattr(ours, method)(x), getattr(theirs, method)(data)
        assert isinstance(found, clarray.DeviceArray)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.score(x, y), theirs.score(data, labels), rtol=1e-9)


def test_elementwise_steps_copy_nothing_to_the_host() -> None:
    x = clarray.array(X)
    scaler = preprocessing.StandardScaler().fit(x)
    with clarray.profile() as record:
        scaler.transform(x).evaluate()
    copied = [transfer.nbytes for transfer in record.records if transfer.name == "to host"]
    assert max(copied, default=0) <= 8  # scikit-learn asks whether all of it is finite
