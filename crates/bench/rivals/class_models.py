"""Other people's learners of many classes with their defaults, and their probabilities before they learn.

Rows are pairs of a class, counted from 0, and features by number from 1 on. Every row gets the probability
of its class and the likeliest class, which are made when the rows before it were learned from. No row is
looked at twice. Each model runs twice: on the features as they are, and behind its own StandardScaler,
which may look at the features of a row, but not at its class, before the row is predicted.
"""

from collections.abc import Iterator

Row = tuple[int, dict[int, float]]
Said = tuple[float, int]

# River keeps weights by name for every class, and its time follows. Sets of more cells are left out.
RIVER_CELLS = 150_000_000
# scikit-learn takes milliseconds for a call, whatever it is given. Rows of large sets come in chunks.
LARGE = 5_000
CHUNK = 8
# The scaler of River must see absent features as zeros, and there may not be more of them than this.
MOST_SCALED = 1_000


def shape(rows: list[Row]) -> tuple[int, int]:
    """The number of classes, and the largest number of a feature."""
    return 1 + max(label for label, _ in rows), max(max(x, default=0) for _, x in rows)


def is_for_river(rows: list[Row], is_scaled: bool) -> bool:
    classes, features = shape(rows)
    cells = classes * sum(len(x) for _, x in rows)
    return cells <= RIVER_CELLS and (features <= MOST_SCALED or not is_scaled)


def river(rows: list[Row], is_scaled: bool) -> Iterator[Said]:
    """The softmax regression of river, one row at a time."""
    from river import linear_model, preprocessing

    _, features = shape(rows)
    zeros = dict.fromkeys(range(1, features + 1), 0.0)
    model, scaler = linear_model.SoftmaxRegression(), preprocessing.StandardScaler()
    for label, x in rows:
        if is_scaled:
            full = zeros | x
            scaler.learn_one(full)
            x = scaler.transform_one(full)
        shares = model.predict_proba_one(x)
        yield shares.get(label, 0.0), max(shares, key=shares.get, default=-1)
        model.learn_one(x, label)


def scikit_learn(rows: list[Row], is_scaled: bool) -> Iterator[Said]:
    """Stochastic gradient descent of scikit-learn in the logistic loss, one class against the rest."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    classes, features = shape(rows)
    model, scaler = SGDClassifier(loss="log_loss", random_state=0), StandardScaler(with_mean=False)
    step = CHUNK if len(rows) > LARGE else 1
    for start in range(0, len(rows), step):
        part = rows[start:start + step]
        cells = [(row, index - 1, value) for row, (_, x) in enumerate(part) for index, value in x.items()]
        where, values = ([c[0] for c in cells], [c[1] for c in cells]), [c[2] for c in cells]
        matrix = csr_matrix((values, where), shape=(len(part), features))
        if is_scaled:
            scaler.partial_fit(matrix)
            matrix = scaler.transform(matrix)
        labels = [label for label, _ in part]
        if start == 0:
            yield from ((1.0 / classes, 0) for _ in part)
        else:
            for shares, label in zip(model.predict_proba(matrix), labels):
                yield float(shares[label]), int(shares.argmax())
        model.partial_fit(matrix, labels, classes=range(classes))
