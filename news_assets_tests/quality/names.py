"""The people, bodies and places that the local enricher finds in texts written for this,
in Portuguese and English.

    python -m news_assets_tests.quality.names

Each text is labelled with its names, their kinds, and the short forms of them. A name is
right with its kind; a form is right with its name. Prints precision and recall by
kind and language, and how many forms were put to the right and to a wrong name. Exits 1
below the limits.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from news_assets.pipeline.enrich.names import names_of

MIN_PRECISION, MIN_RECALL = 0.9, 0.7
_KINDS: Final = {"person": "person", "organisation": "body", "place": "place"}


@dataclass(frozen=True)
class Labelled:
    """A text with its names by kind; `forms` leads from another form to the name."""

    language: str
    text: str
    person: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    place: tuple[str, ...] = ()
    forms: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> set[tuple[str, str]]:
        found = {(name, "person") for name in self.person}
        found |= {(name, "body") for name in self.body}
        return found | {(name, "place") for name in self.place}


TEXTS: Final = (
    Labelled(
        "pt",
        "A ministra Helena Prado anunciou nesta terça-feira, em Brasília, o novo programa do"
        " Ministério da Educação. Segundo Prado, as bolsas começam em março. O reitor da"
        " Universidade Federal do Ceará (UFC), João Batista Moreira, elogiou a medida. A UFC terá"
        " 300 vagas.",
        person=("Helena Prado", "João Batista Moreira"),
        body=("Ministério da Educação", "Universidade Federal do Ceará"),
        place=("Brasília",),
        forms={"Prado": "Helena Prado", "UFC": "Universidade Federal do Ceará"},
    ),
    Labelled(
        "pt",
        "O prefeito de Recife, Carlos Menezes, assinou o decreto na quinta-feira. Menezes disse que"
        " as obras na Avenida Boa Viagem terminam em julho. A Câmara Municipal do Recife ainda"
        " discute o orçamento, e a vereadora Lúcia Ferraz pediu mais tempo.",
        person=("Carlos Menezes", "Lúcia Ferraz"),
        body=("Câmara Municipal do Recife",),
        place=("Recife", "Avenida Boa Viagem"),
        forms={"Menezes": "Carlos Menezes"},
    ),
    Labelled(
        "pt",
        "O Instituto Brasileiro de Geografia e Estatística (IBGE) divulgou os dados de maio. A"
        " pesquisadora Mariana Duarte explica que a renda subiu em São Paulo e caiu no Rio de"
        " Janeiro. Para o IBGE, o resultado é provisório.",
        person=("Mariana Duarte",),
        body=("Instituto Brasileiro de Geografia e Estatística",),
        place=("São Paulo", "Rio de Janeiro"),
        forms={"IBGE": "Instituto Brasileiro de Geografia e Estatística"},
    ),
    Labelled(
        "pt",
        "A chuva da madrugada alagou ruas de Porto Alegre e de Canoas. A Defesa Civil retirou"
        " quarenta famílias. O governador Eduardo Sampaio sobrevoou a região ao lado do senador"
        " Paulo Vieira. Sampaio prometeu ajuda federal.",
        person=("Eduardo Sampaio", "Paulo Vieira"),
        body=("Defesa Civil",),
        place=("Porto Alegre", "Canoas"),
        forms={"Sampaio": "Eduardo Sampaio"},
    ),
    Labelled(
        "pt",
        "O Supremo Tribunal Federal (STF) julga amanhã a ação. A relatora é a ministra Cármen"
        " Siqueira. O advogado Rafael Toledo representa o Partido Verde. O STF decide por maioria.",
        person=("Cármen Siqueira", "Rafael Toledo"),
        body=("Supremo Tribunal Federal", "Partido Verde"),
        forms={"STF": "Supremo Tribunal Federal"},
    ),
    Labelled(
        "pt",
        "Quem passa pela Praça da Matriz vê o mercado novo. Dona Célia Ramos vende bolos ali há"
        " vinte anos. A feira é da Associação dos Artesãos, que paga pela luz à Companhia de"
        " Energia do Norte.",
        person=("Célia Ramos",),
        body=("Associação dos Artesãos", "Companhia de Energia do Norte"),
        place=("Praça da Matriz",),
    ),
    Labelled(
        "pt",
        "Em Lisboa, o primeiro-ministro António Carvalho recebeu o presidente da Comissão Europeia."
        " Os dois falaram da Ucrânia e da Alemanha. Carvalho viaja na sexta-feira a Paris.",
        person=("António Carvalho",),
        body=("Comissão Europeia",),
        place=("Lisboa", "Ucrânia", "Alemanha", "Paris"),
        forms={"Carvalho": "António Carvalho"},
    ),
    Labelled(
        "pt",
        "A Polícia Federal prendeu três pessoas em Manaus na Operação Águas Claras. O delegado Tiago"
        " Nunes afirmou que o grupo vendia madeira. O Ministério Público Federal acompanha o caso.",
        person=("Tiago Nunes",),
        body=("Polícia Federal", "Ministério Público Federal"),
        place=("Manaus",),
    ),
    Labelled(
        "pt",
        "O livro de estreia de Beatriz Lemos chega às lojas na segunda. Lemos nasceu em Goiânia e"
        " mora em Belo Horizonte. A Editora Horizonte imprimiu dez mil exemplares.",
        person=("Beatriz Lemos",),
        body=("Editora Horizonte",),
        place=("Goiânia", "Belo Horizonte"),
        forms={"Lemos": "Beatriz Lemos"},
    ),
    Labelled(
        "pt",
        "Bom dia! Nesta Semana Santa, o trânsito muda. Natal e Páscoa são feriados. O preço do"
        " ovo subiu, e o Brasil exporta menos.",
        place=("Brasil",),
    ),
    Labelled(
        "en",
        "Mayor Angela Whitfield opened the new library in Oakford on Monday. Whitfield thanked the"
        " Oakford City Council and the Carver Foundation. \"It took ten years,\" said Daniel Okoye, who"
        " leads the Friends of the Library.",
        person=("Angela Whitfield", "Daniel Okoye"),
        body=(
            "Oakford City Council",
            "Carver Foundation",
            "Friends of the Library",
        ),
        place=("Oakford",),
        forms={"Whitfield": "Angela Whitfield"},
    ),
    Labelled(
        "en",
        "The National Weather Service (NWS) warned of floods along the Ohio River. Gov. Martin Hale"
        " declared an emergency for Cook County. The NWS expects rain until Friday, and Hale asked"
        " people to stay at home.",
        person=("Martin Hale",),
        body=("National Weather Service",),
        place=("Ohio River", "Cook County"),
        forms={"NWS": "National Weather Service", "Hale": "Martin Hale"},
    ),
    Labelled(
        "en",
        "The European Commission fined the company on Tuesday. Commissioner Ingrid Solberg said the"
        " ruling protects small shops in France and Germany. The company, based in London, will"
        " appeal, its lawyer Peter Grant said.",
        person=("Ingrid Solberg", "Peter Grant"),
        body=("European Commission",),
        place=("France", "Germany", "London"),
    ),
    Labelled(
        "en",
        "Dr. Priya Raman of Stanford University found the gene by accident. The Department of Health"
        " paid for the study. Raman grew up in India and came to California as a student.",
        person=("Priya Raman",),
        body=("Stanford University", "Department of Health"),
        place=("India", "California"),
        forms={"Raman": "Priya Raman"},
    ),
    Labelled(
        "en",
        "Police in Chicago arrested two men near Lake Street. Sgt. Robert Delgado said nobody was"
        " hurt. The Chicago Transit Authority (CTA) closed a station; the CTA reopened it at noon.",
        person=("Robert Delgado",),
        body=("Chicago Transit Authority",),
        place=("Chicago", "Lake Street"),
        forms={"CTA": "Chicago Transit Authority"},
    ),
    Labelled(
        "en",
        "Sarah Lindqvist won the race in Boston. It was the third win for Lindqvist this year. The"
        " Swedish Athletics Association sent flowers.",
        person=("Sarah Lindqvist",),
        body=("Swedish Athletics Association",),
        place=("Boston",),
        forms={"Lindqvist": "Sarah Lindqvist"},
    ),
    Labelled(
        "en",
        "The school board will vote on December 3 whether Lincoln High School gets a new roof."
        " Superintendent Maria Gonzalez told the Rotary Club that the money is there.",
        person=("Maria Gonzalez",),
        body=("Lincoln High School", "Rotary Club"),
    ),
    Labelled(
        "en",
        "Sen. John Barrow and Rep. Alice Chen wrote the bill. Barrow wants it passed by Easter. Chen"
        " told reporters in Washington that the House of Representatives may wait.",
        person=("John Barrow", "Alice Chen"),
        body=("House of Representatives",),
        place=("Washington",),
        forms={"Barrow": "John Barrow", "Chen": "Alice Chen"},
    ),
    Labelled(
        "en",
        "Merry Christmas from all of us. The Monday Night Special is sold out, and Black Friday was"
        " quiet. New Year's Eve will be cold.",
    ),
    Labelled(
        "en",
        "When the Bank of England raised rates, Prime Minister Thomas Ashdown was in Canada. Ashdown"
        " called the chancellor, Fiona McBride, at once.",
        person=("Thomas Ashdown", "Fiona McBride"),
        body=("Bank of England",),
        place=("Canada",),
        forms={"Ashdown": "Thomas Ashdown"},
    ),
)  # fmt: skip


def main() -> None:
    """Print the figures."""
    right: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    missing: Counter[tuple[str, str]] = Counter()
    forms: Counter[str] = Counter()
    for one in TEXTS:
        found = names_of("", one.text, one.language)
        named = {(row["name"], _KINDS[row["kind"]]) for row in found}
        expected = one.names()
        _count(right, one.language, named & expected)
        _count(wrong, one.language, named - expected)
        _count(missing, one.language, expected - named)
        for name, kind in sorted(named ^ expected):
            sign = "wrong" if (name, kind) in named else "missing"
            print(f"  {sign}: {name} ({kind}), {one.language}")
        for row in found:
            forms += _judged(one.forms, row["name"], row["forms"])
    for language in ("pt", "en"):
        for kind in _KINDS.values():
            key = (language, kind)
            line = _figures(right[key], wrong[key], missing[key])
            print(f"{language} {kind}: {line}")
    print("all:", _figures(right.total(), wrong.total(), missing.total()))
    expected_forms = sum(len(one.forms) for one in TEXTS)
    print(f"forms: {forms['right']} of {expected_forms}, {forms['wrong']} wrong")
    precision = right.total() / (right.total() + wrong.total())
    recall = right.total() / (right.total() + missing.total())
    if precision < MIN_PRECISION or recall < MIN_RECALL or forms["wrong"]:
        sys.exit(1)


def _count(
    counts: Counter[tuple[str, str]], language: str, names: Iterable[tuple[str, str]]
) -> None:
    for _, kind in names:
        counts[language, kind] += 1


def _judged(
    expected: Mapping[str, str], name: str, forms: Iterable[str]
) -> Counter[str]:
    """Return how many forms of a name are its own, and how many those of others."""
    counts: Counter[str] = Counter()
    for form in forms:
        counts["right" if expected.get(form) == name else "wrong"] += 1
    return counts


def _figures(right: int, wrong: int, missing: int) -> str:
    precision = right / max(1, right + wrong)
    recall = right / max(1, right + missing)
    return f"{right} right, precision {precision:.3f}, recall {recall:.3f}"


if __name__ == "__main__":
    main()
