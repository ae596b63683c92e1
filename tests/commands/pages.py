"""Reads the page of recordfs report, and checks what holds for every page."""
import re
from html.parser import HTMLParser

EMPTY = {"meta", "rect", "line", "path", "img"}  # elements of a page that have no end tag
# Nothing that loads a file, runs a script, or leads elsewhere.
ELEMENTS = EMPTY | {"html", "head", "title", "style", "body", "main", "header", "section", "footer", "h1", "h2", "h3", "p", "code", "bdi",
                    "dl", "div", "dt", "dd", "small", "figure", "svg", "text", "ul", "ol", "li", "span", "b", "i", "pre", "details",
                    "summary", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "style", "viewbox", "role", "aria-label", "x", "y", "x1",
              "x2", "y1", "y2", "d", "width", "height", "text-anchor", "scope", "start", "alt", "src"}
MOST_BYTES = 1000000


class Page(HTMLParser):
    """A parsed page: `tags` has (element, {attribute: value}) in order, `texts` the text of each element by name."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.errors, self._open = [], {}, [], []
        self.feed(page.decode())
        self.close()
        self.errors += [f"<{name}> is not closed" for name, _ in self._open]

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._open.append((tag, []))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in EMPTY:
            return
        if not self._open or self._open[-1][0] != tag:
            self.errors.append(f"</{tag}> closes no <{tag}>")
            return
        _, parts = self._open.pop()
        self.texts.setdefault(tag, []).append("".join(parts))

    def handle_data(self, data):
        for _, parts in self._open:
            parts.append(data)

    def having(self, name, **attributes):
        """Returns the attributes of the elements of a name that have these attributes."""
        return [found for tag, found in self.tags if tag == name and attributes.items() <= found.items()]

    def violations(self, size):
        """Returns what no page may have: unknown elements and attributes, references, missing text alternatives."""
        found = list(self.errors)
        found += [f"element <{tag}>" for tag, _ in self.tags if tag not in ELEMENTS]
        found += [f"attribute {name}" for _, attributes in self.tags for name in attributes if name not in ATTRIBUTES]
        found += [f"reference in {value}" for _, attributes in self.tags for value in attributes.values()
                  if re.search(r"url\(|javascript:|https?:", value or "")]
        found += [f"reference in a style sheet: {text}" for text in self.texts["style"] if re.search(r"url\(|@import|https?:", text)]
        found += [f"reference to {image.get('src', '')[:100]}" for image in self.having("img")
                  if not re.fullmatch(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*", image.get("src", "")) or not image.get("alt")]
        found += ["source of something else" for tag, attributes in self.tags if tag != "img" and "src" in attributes]
        found += ["picture without a text" for svg in self.having("svg") if svg.get("role") != "img" or not svg.get("aria-label")]
        if len(self.having("figure")) != len(self.having("svg")):
            found.append("figure without a picture")
        if self.texts["figure"] if "figure" in self.texts else []:
            found += ["figure without its numbers" for text in self.texts["figure"] if "Numbers" not in text]
        if size >= MOST_BYTES:
            found.append(f"{size} bytes")
        return found
