"""Decoded records as Python objects."""
from __future__ import annotations

import base64
from typing import Any


_FEATURES = {"features": "feature", "context": "feature", "feature_lists": "feature_list"}  # of Examples and SequenceExamples


def are_features(members: dict[str, set[str]]) -> bool:
    """Returns whether members with members of these names are those of an Example or a SequenceExample."""
    return bool(members) and all(name in _FEATURES and inside <= {_FEATURES[name]} for name, inside in members.items())


def typed(value: Any) -> Any:
    """Returns a value with bytes where the core has marked them by a lone surrogate."""
    if isinstance(value, str):
        return base64.b64decode(value[1:]) if value[:1] == "\ud800" else value
    if isinstance(value, list):
        return [typed(item) for item in value]
    if isinstance(value, dict):
        return {name: typed(item) for name, item in value.items()}
    return value


def flat(decoded: Any) -> dict[str, Any]:
    """Returns the features of an Example or a SequenceExample by name, and any other message as it is."""
    if not isinstance(decoded, dict):
        return {"record": decoded}
    if not are_features({name: set(value) if isinstance(value, dict) else {""} for name, value in decoded.items()}):
        return decoded
    features = {}
    for member in decoded.values():
        features |= {name: _values_of(feature) for name, feature in member.get("feature", {}).items()}
        features |= {name: [_values_of(feature) for feature in one.get("feature", [])]
                     for name, one in member.get("feature_list", {}).items()}
    return features


def _values_of(feature: dict[str, Any]) -> list[Any]:
    return next((values.get("value", []) for values in feature.values()), [])
