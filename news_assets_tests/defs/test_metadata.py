from markdown_it import MarkdownIt

from news_assets.defs.metadata import markdown_table

HOSTILE = "[x](javascript:alert(1)) ![](http://tracker.example/p.png) <img src=http://tracker.example> | b\n\n# c\n\x1b[2J"


def test_titles_in_a_table_of_the_ui_are_text() -> None:
    table = markdown_table(
        ("title", "reasons"),
        [(HOSTILE[:80], [HOSTILE[:30], "`x` **bold**"]), (HOSTILE[40:], "\\|")],
    )
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(table)
    assert not any(
        tag in html for tag in ("<a", "<img", "<h1", "<strong", "<code", "\x1b")
    )
    assert html.count("<td>") == 4
    assert "[x](javascript:alert(1)) ![](http://tracker.example/p.png)" in html
