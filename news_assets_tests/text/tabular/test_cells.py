from news_assets.text.tabular.cells import cell_of, json_of


def test_json_says_the_same_without_controls() -> None:
    value = {"title": "\x1b[2J\x9b\x7f\u2028\u202e\ud800 ção"}
    assert (
        json_of(value)
        == '{"title": "\\u001b[2J\\u009b\\u007f\\u2028\\u202e\\ud800 ção"}'
    )


def test_a_number_stays_a_number_and_no_text_is_a_formula() -> None:
    assert [
        cell_of(value) for value in (-1, 1.5, None, "=A1", b"\xf8", ("a", "-b"))
    ] == [
        *(-1, 1.5, None, "'=A1", "'+A=="),
        '["a", "-b"]',
    ]
