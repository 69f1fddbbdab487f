"""Reports of runs and audits."""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._rueful import AuditSnapshot, Snapshot


class Report(Mapping[str, Any]):
    """A report of a run or an audit: the keys are those of ``rueful run --json``.

    A notebook shows it as a page with pictures, if the program makes one, and ``print`` as the text of
    the program.

    >>> import rueful
    >>> model = rueful.OnlineRegressor().fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    >>> report = model.report()
    >>> report["examples"]
    3
    >>> report.to_dict() == dict(report)
    True
    >>> report.metrics()["rueful.examples"]
    3.0
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        text: str | None = None,
        page: Callable[[], str] | None = None,
        picture: Callable[[], str] | None = None,
    ) -> None:
        self._values = dict(values)
        self._text = text
        self._page = page
        self._picture = picture

    @classmethod
    def _of(cls, snapshot: Snapshot | AuditSnapshot) -> Report:
        return cls(json.loads(snapshot.json()), snapshot.text(), snapshot.html, snapshot.svg)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def to_json(self, indent: int | None = None) -> str:
        """Returns the report as JSON, with all digits."""
        return json.dumps(self._values, indent=indent)

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as a dict, which may be changed without changing the report."""
        return copy.deepcopy(self._values)

    def to_frame(self, part: str | None = None) -> Any:
        """Returns the numbers of the report as a DataFrame of pandas with one row.

        Parameters
        ----------
        part : str, optional
            The key of a list in the report, such as ``"curve"``: the frame has a row for each of its
            members.
        """
        import pandas as pd

        if part is None:
            return pd.DataFrame([self.metrics(prefix="")])
        if not isinstance(self[part], list):
            raise ValueError(f"part: {part!r} is no list of the report")
        return pd.DataFrame(self[part])

    def to_html(self) -> str:
        """Returns the report as a page of its own, as ``rueful run --report`` writes it."""
        if self._page is not None:
            return self._page()
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_svg(self) -> str:
        """Returns the picture of the risk over time, as ``rueful run --plot`` writes it."""
        if self._picture is None:
            raise ValueError("there is no picture of this report: runs and audits have one")
        return self._picture()

    def metrics(self, prefix: str = "rueful.") -> dict[str, float]:
        """Returns the numbers of the report by name, as trackers such as MLflow take them.

        Numbers within other parts are joined by points; the curve and lists are left out.
        """
        return dict(_numbers(prefix, self._values))

    def __str__(self) -> str:
        return self._text if self._text is not None else self.to_json(indent=2)

    def __repr__(self) -> str:
        risk, certificate = self.get("sequential_risk"), self.get("certificate")
        return (
            f"<rueful report: {self.get('examples')} examples, "
            f"sequential risk {risk}, certificate {certificate}>"
        )

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        style = "width:100%;height:48em;border:0"
        return f'<iframe srcdoc="{page}" style="{style}" sandbox></iframe>'

    def __getstate__(self) -> dict[str, Any]:
        page = self.to_html() if self._page is not None else None
        picture = self.to_svg() if self._picture is not None else None
        return {"values": self._values, "text": self._text, "page": page, "picture": picture}

    def __setstate__(self, state: dict[str, Any]) -> None:
        page, picture = state["page"], state["picture"]
        self._values, self._text = state["values"], state["text"]
        self._page = None if page is None else (lambda: str(page))
        self._picture = None if picture is None else (lambda: str(picture))


def _numbers(prefix: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers within a part of a report, by name."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key not in ("spec", "comparators", "loss"):
                point = "." if isinstance(part, Mapping) else ""
                yield from _numbers(f"{prefix}{key}{point}", part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield prefix, float(value)
