#!/usr/bin/env python3
"""Type names are unique: type_names.py ROOT prints each type that headers of core/ and fusefs/ define twice in a namespace.

Neither the compiler nor the linker reports such types.
"""
import re
import sys

import sources

_NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
_TYPE = re.compile(r"^(?:class|struct|union|enum(?: class)?) (\w+)(?!::|\w)[^;{]*\{", re.M)


def types(cxx):
    """Yields (line, qualified name) of each type directly in a namespace, which is not indented."""
    bare = sources.code(cxx)
    namespaces = [(match.start(), match.group(1)) for match in _NAMESPACE.finditer(bare)]
    for match in _TYPE.finditer(bare):
        around = [name for begin, name in namespaces if begin < match.start()]
        yield bare.count("\n", 0, match.start()) + 1, "::".join(around[-1:] + [match.group(1)])


def errors(root):
    first = {}
    for path in sources.files(root, "core", "fusefs", suffixes=(".h",)):
        for line, name in types(sources.text(root, path)):
            place = f"{path}:{line}"
            if name in first:
                yield f"{place}: {name} is also defined in {first[name]}"
            first.setdefault(name, place)


if __name__ == "__main__":
    sys.exit(sources.report(errors, "type names are unique"))
