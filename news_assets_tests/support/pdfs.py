"""PDFs made by code: plain ones, scans, and hostile ones."""

import zlib
from collections.abc import Sequence

GREY = bytes(range(256)) * 40


class Pdf:
    """Objects in the order of their numbers; the catalog is object 1 and the root of
    the pages object 2.
    """

    def __init__(self) -> None:
        self.objects: list[bytes] = [b"<</Type/Catalog/Pages 2 0 R>>", b""]

    def add(self, text: str | bytes) -> int:
        """Add an object and return its number."""
        self.objects.append(text.encode("latin-1") if isinstance(text, str) else text)
        return len(self.objects)

    def stream(self, data: bytes, entries: str = "") -> int:
        head = f"<<{entries}/Length {len(data)}>>stream\n".encode("latin-1")
        return self.add(head + data + b"\nendstream")

    def page(
        self, content: int, resources: str = "", entries: str = "/MediaBox[0 0 595 842]"
    ) -> int:
        return self.add(
            f"<</Type/Page/Parent 2 0 R{entries}/Contents {content} 0 R/Resources<<{resources}>>>>"
        )

    def pages(self, numbers: Sequence[int], count: int | None = None) -> None:
        kids = " ".join(f"{number} 0 R" for number in numbers)
        counted = len(numbers) if count is None else count
        self.objects[1] = f"<</Type/Pages/Kids[{kids}]/Count {counted}>>".encode()

    def bytes(self, trailer: str = "") -> bytes:
        out, offsets = bytearray(b"%PDF-1.7\n"), []
        for number, body in enumerate(self.objects, start=1):
            offsets.append(len(out))
            out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
        out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        out += f"trailer<</Size {len(offsets) + 1}/Root 1 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n".encode(
            "latin-1"
        )
        return bytes(out)


FONT = "/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>>>"


def shown(text: str) -> bytes:
    """Return the content of a page with these lines."""
    lines = (
        line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        for line in text.split("\n")
    )
    return (
        "BT /F 11 Tf 14 TL 60 780 Td "
        + " ".join(f"({line}) Tj T*" for line in lines)
        + " ET"
    ).encode("cp1252")


def pdf_of(*pages: str, title: str = "", catalog: str = "") -> bytes:
    """Return a PDF with a page for each text; `\\n` ends a line."""
    made = Pdf()
    numbers = [made.page(made.stream(shown(text)), FONT) for text in pages]
    made.pages(numbers)
    made.objects[0] = f"<</Type/Catalog/Pages 2 0 R{catalog}>>".encode()
    return made.bytes(f"/Info {made.add(f'<</Title({title})>>')} 0 R" if title else "")


def scan_of(*images: tuple[int, int, bytes]) -> bytes:
    """Return a PDF with a page for each grey image of width, height and pixels."""
    made = Pdf()
    numbers = []
    for width, height, pixels in images:
        entries = f"/Type/XObject/Subtype/Image/Width {width}/Height {height}/ColorSpace/DeviceGray/BitsPerComponent 8"
        image = made.stream(zlib.compress(pixels), f"{entries}/Filter/FlateDecode")
        content = made.stream(b"q 595 0 0 842 0 0 cm /I Do Q")
        numbers.append(made.page(content, f"/XObject<</I {image} 0 R>>"))
    made.pages(numbers)
    return made.bytes()


# --- hostile --------------------------------------------------------------------------


def _deflated_zeros(megabytes: int) -> bytes:
    """Return a deflate stream of so many MB, made of one block again and again."""
    packer = zlib.compressobj(9)
    head = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * (megabytes - 1) + packer.flush()


def bomb(megabytes: int = 4000, beside: str = "") -> bytes:
    """Return a PDF whose first page unpacks to so many MB; the only one without a text
    `beside` it.
    """
    made = Pdf()
    first = made.page(
        made.stream(_deflated_zeros(megabytes), "/Filter/FlateDecode"), FONT
    )
    made.pages(
        [first, made.page(made.stream(shown(beside)), FONT)] if beside else [first]
    )
    return made.bytes()


def nested_bomb() -> bytes:
    """Return a PDF whose page unpacks twice, to 16 GB."""
    made = Pdf()
    twice = zlib.compress(_deflated_zeros(16_000), 9)
    made.pages(
        [made.page(made.stream(twice, "/Filter[/FlateDecode/FlateDecode]"), FONT)]
    )
    return made.bytes()


def many_pages(count: int = 100_000) -> bytes:
    """Return a PDF in which one page stands so many times."""
    made = Pdf()
    made.pages([made.page(made.stream(shown("Agenda")), FONT)] * count)
    return made.bytes()


def endless_tree() -> bytes:
    """Return a PDF whose page tree holds itself."""
    made = Pdf()
    first = made.page(made.stream(shown("Agenda")), FONT)
    other = made.add("<</Type/Pages/Parent 2 0 R/Kids[2 0 R 2 0 R]/Count 500>>")
    made.pages([other, first], count=900)
    return made.bytes()


def endless_xref() -> bytes:
    """Return a PDF whose cross-reference table has itself as its predecessor."""
    made = Pdf()
    made.pages([made.page(made.stream(shown("Agenda")), FONT)])
    start = made.bytes().rindex(b"xref\n0 ")
    return made.bytes(f"/Prev {start}")


def deep_tree(depth: int = 20_000) -> bytes:
    """Return a PDF whose page tree has so many levels."""
    made = Pdf()
    page = made.page(made.stream(shown("Agenda")), FONT)
    for _ in range(depth):
        page = made.add(f"<</Type/Pages/Kids[{page} 0 R]/Count 1>>")
    made.pages([page])
    return made.bytes()


def deep_arrays(depth: int = 1_000_000) -> bytes:
    """Return a PDF with arrays within arrays."""
    made = Pdf()
    deep = made.add("[" * depth + "]" * depth)
    made.pages(
        [made.page(made.stream(shown("Agenda")), f"{FONT}/Properties {deep} 0 R")]
    )
    return made.bytes()


def doubling_forms(levels: int = 12) -> bytes:
    """Return a PDF whose page draws a form that draws the next one ten times, and so
    on.
    """
    made = Pdf()
    form = made.stream(
        shown("Agenda"), f"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<<{FONT}>>"
    )
    for _ in range(levels):
        resources = f"/Resources<</XObject<</X {form} 0 R>>>>"
        form = made.stream(
            b"/X Do " * 10, f"/Type/XObject/Subtype/Form/BBox[0 0 9 9]{resources}"
        )
    made.pages([made.page(made.stream(b"/X Do"), f"/XObject<</X {form} 0 R>>")])
    return made.bytes()


def broken_xref() -> bytes:
    """Return a PDF whose offsets are wrong."""
    body = pdf_of("The council will meet on Tuesday at nine.")
    start = body.rindex(b"xref\n0 ")
    return body[:start] + body[start:].replace(b"00000 n", b"00007 n").replace(
        b"0000000", b"0999999"
    )


def huge_page() -> bytes:
    """Return a PDF with an image on a page of a kilometre by a kilometre."""
    made = Pdf()
    image = made.stream(
        GREY,
        "/Type/XObject/Subtype/Image/Width 128/Height 80/ColorSpace/DeviceGray/BitsPerComponent 8",
    )
    content = made.stream(b"q 2800000 0 0 2800000 0 0 cm /I Do Q")
    made.pages(
        [
            made.page(
                content, f"/XObject<</I {image} 0 R>>", "/MediaBox[0 0 2800000 2800000]"
            )
        ]
    )
    return made.bytes()


HOSTILE = {
    make.__name__: make
    for make in (
        bomb,
        nested_bomb,
        many_pages,
        endless_tree,
        endless_xref,
        deep_tree,
        deep_arrays,
        doubling_forms,
        broken_xref,
        huge_page,
    )
}
