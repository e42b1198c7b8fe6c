"""The reference of the package, which is written out of its documentation."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import bulkhead
from bulkhead import generate

from pages import assert_current

HEAD = """# The Python package

What `help(bulkhead)` says of each function and class; [how to use the package](../how-to/python.md) begins with examples. All
functions raise `KeyboardInterrupt` on Ctrl-C, and compute without the interpreter lock.
"""


def words(text: str | None) -> str:
    """Documentation as Markdown: references become code, examples blocks, and sections of arguments lists."""
    assert text, "everything public is documented"
    text = re.sub(r":[a-z]+:`~?([^`]*)`", r"`\1`", inspect.cleandoc(text))
    text = text.replace("``", "`").replace("\\ ", "")
    lines, section, example = [], False, False
    for line in text.splitlines():
        if line.startswith(">>>") and not example:
            lines.append("```python")
            example = True
        if example and not line:
            lines.append("```")
            example = False
        if re.fullmatch(r"(Args|Raises|Returns|Yields):", line):
            section = True
            lines += [f"*{line[:-1]}*", ""]
        elif section and (entry := re.fullmatch(r"    (\w+): (.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif section and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            section &= not line
            lines.append(line)
    if example:
        lines.append("```")
    return "\n".join(lines).strip()


def attributes(kind: type) -> list[str]:
    """The attributes of a class, in the order of its source, each with the text below it."""
    found = []
    source = inspect.getsource(kind)
    for name, annotation, text in re.findall(
        r'^    (\w+): ([^\n]+)\n    """(.*?)"""', source, re.MULTILINE | re.DOTALL
    ):
        found.append(f"- `{name}: {annotation.split(' = ')[0]}` — {' '.join(words(text).split())}")
    return found


def signature(name: str, function: object) -> str:
    """A call, as people write it."""
    assert callable(function)
    text = str(inspect.signature(function)).replace("'", "").replace("(self, ", "(").replace("(self)", "()")
    return f"```python\n{name}{text}\n```"


def members(kind: type) -> list[str]:
    """The documented methods and properties that a class itself has."""
    parts = []
    for name, member in vars(kind).items():
        documented = member.__func__ if isinstance(member, classmethod) else member
        if name.startswith("_") or not getattr(documented, "__doc__", None):
            continue
        if isinstance(documented, property):
            parts.append(f"- `.{name}` — {' '.join(words(documented.__doc__).split())}")
        elif inspect.isfunction(documented):
            call = str(inspect.signature(documented)).replace("'", "")
            call = re.sub(r"\((self|cls)(, )?", "(", call)
            parts.append(f"- `.{name}{call}` — {' '.join(words(documented.__doc__).split())}")
    return parts


def described(name: str, thing: object) -> str:
    """The section of a function or class."""
    parts = [f"### {name}"]
    if isinstance(thing, type):
        parts.append(words(thing.__doc__))
        lists = attributes(thing) + members(thing)
        if lists:
            parts.append("\n".join(lists))
    else:
        parts += [signature(name, thing), words(inspect.getdoc(thing))]
    return "\n\n".join(parts)


def public(module: ModuleType) -> list[tuple[str, object]]:
    """The functions and classes that a module itself defines for others."""
    things = inspect.getmembers(module)
    return [
        (name, thing)
        for name, thing in things
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def test_everything_public_is_in_the_reference() -> None:
    things = [(name, getattr(bulkhead, name)) for name in bulkhead.__all__]
    functions = [it for it in things if inspect.isroutine(it[1])]
    classes = [it for it in things if isinstance(it[1], type)]
    sections = [
        HEAD,
        "## Functions",
        *(described(*it) for it in functions),
        "## Random task sets: `bulkhead.generate`",
        *(described(f"generate.{name}", thing) for name, thing in public(generate)),
        "## Classes",
        *(described(*it) for it in classes),
    ]
    names = {name for name, _ in functions + classes} | {"generate", "__version__"}
    assert names == set(bulkhead.__all__)
    assert_current("reference/python.md", "\n\n".join(part.strip() for part in sections) + "\n")
