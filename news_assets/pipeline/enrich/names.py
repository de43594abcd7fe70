"""The people, bodies and places that a text names, found by rules: names are runs of words
with a capital, and what they name is decided by their words and those around them.

Names in one word are found where they are known places, short forms of a longer name of
the text, or acronyms that the text explains.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from news_assets.text.fingerprint import name_id
from news_assets.text.prose import prose
from news_assets.text.words import fold, stopwords


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _names(text: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in text.split(","))


_GIVEN_NAMES: Final = _words(
    """
    abel abigail adam adao ademir adriana adriano afonso agnes aida alan albert alberto
    alessandra alessandro alex alexander alexandra alexandre alexia alfredo alice aline
    alison allan aloizio aloysio altair alvaro amanda amelia amy ana anabela anderson
    andre andrea andreia andressa andrew angela anielle anita ann anna anne anthony
    antonia antonio ariel armando arnaldo arthur artur ashley augusto barack barbara
    beatriz ben benedita benedito benjamin bento bernardo beth betty bia bianca bill bob
    boris brad brandon brenda brian bruce bruna bruno caetano caio camila camilo carla
    carlo carlos carmen carol carolina caroline catarina catherine cecilia celia celso
    cesar charles charlotte chelsea chico chris christian christina christine
    christopher ciro claire clara claudia claudio cleber colin cristiane cristiano
    cristina cynthia daniel daniela daniele danilo darcy davi david debora deborah denis
    denise dennis diana diane diego dilma diogo donald donna douglas duarte edgar edinho
    edison edmundo edson eduarda eduardo edward elaine elena eleonora eliana eliane
    elias elisa elizabeth ellen eloisa elon elza emanuel emerson emily emma emmanuel
    eric erica erick erika ernesto esther eugenia eva evandro eve fabiana fabiano fabio
    fatima felipe felix fernanda fernando filipa filipe flavia flavio francisca
    francisco frank fred frederico gabriel gabriela gareth gary geoffrey george geraldo
    gerson gilberto gilmar giovanna giovanni gisele gleisi gloria gonzalo graca grace
    graham greg guilherme gustavo hannah harold harry heitor helen helena helio heloisa
    henrique henry hilda hillary hugo humberto iago ian ines ingrid iris isaac isabel
    isabela isadora ivan ivana ivete ivone jack jackson jacob jacqueline jaime jair jake
    james jamil jane janet janio janja jaques jason jean jeff jefferson jeffrey jennifer
    jeremy jessica jim joana joao joaquim jobson joe joel john johnny jonas jonathan
    jorge jose joseph josh joshua josue joyce juan judith julia juliana juliano julie
    julio justin karen karina kate katherine keir keith kelly ken kenneth kevin kim kyle
    lais lara larissa laura laurence lea leandro leila leo leonardo leonor leticia lewis
    lidia lilian liliana linda lisa livia liz lorena louis louise lourdes luan luana
    lucas lucia luciana luciano lucio lucy luis luisa luiz luiza luke lula lygia magda
    maicon manoel manuel manuela mara marc marcela marcelo marcia marcio marco marcos
    marcus margaret margareth maria mariana marilene marilia marina mario marisa mark
    marlene marta martha martin mary mateus matheus matilde matt matthew mauricio mauro
    max maya megan melissa mia michael michel michele michelle miguel mike milton miriam
    moacir moises monica murilo nadia nancy natalia natasha neil nelson neusa newton
    nicholas nick nicola nicolas nicole nilson nilton nisia noah nuno octavio olga
    olivia orlando oscar osvaldo otavio otto pablo pamela patricia patrick paul paula
    paulo pedro penelope peter philip pietra priscila rachel rafael rafaela raimundo
    ralph ramon raquel raul ray rebeca rebecca regina reginaldo renan renata renato
    ricardo richard rick rishi rita robert roberta roberto robin rodolfo rodrigo roger
    rogerio roland romario romeu ronald ronaldo rosa rosana rosane rosangela rose
    roseana rosemary ross ruben rui ruth ryan sabrina sally salvador sam samanta
    samantha samuel sandra sandro sara sarah scott sean sebastian sebastiao sergio
    severino sharon sheila sidney silas silvana silvia silvio simon simone sofia sonia
    sophia sophie stella stephanie stephen steve steven stuart sue suely susan susana
    suzana sylvia tabata tadeu taina tamara tania tarcisio tatiana telma teresa tereza
    thais theo theresa thiago thomas tiago tim tom tomas tony tracy ursula vagner valdir
    valeria valter vanda vanderlei vanessa vera veronica vicente victor victoria vilma
    vinicius virginia vitor vitoria vivian viviane vladimir volodymyr wagner walace
    waldir wallace walter wanda wanderley washington wellington wesley will william
    wilson yasmin yuri yvonne zeca zelia zilda
    """
)
_TITLES: Final = _words(
    """
    advogada advogado ambassador atacante ator atriz attorney bishop bispo cantor
    cantora capitao captain cardeal cardinal chairman chairwoman chanceler chancellor
    chief coach colonel comissaria comissario commissioner congressman congresswoman
    coordenador coordenadora coronel councillor councilman councilmember councilwoman
    delegada delegado deputada deputado desembargador desembargadora detective director
    diretor diretora dom dona doutor doutora dr dra economista embaixador embaixadora
    father general gov governador governadora governor jornalista judge juiz juiza
    justice king lady lord major mayor medica medico minister ministra ministro miss mr
    mrs ms officer padre papa pesquisador pesquisadora pope prof profa prefeita prefeito
    president presidenta presidente prince princess procurador procuradora professor
    professora queen reitor reitora rep representative sargento secretaria secretario
    secretary senador senadora senator sen sergeant sgt sheriff sir spokesman
    spokesperson spokeswoman sr sra superintendent superintendente supervisor tecnico
    tenente treinador vereador vereadora vice
    """
)
# the first word of a Portuguese body
_BODIES: Final = _words(
    """
    academia agencia arquivo assembleia associacao autarquia banco batalhao biblioteca
    bolsa brigada caixa camara centro clube colegio comando comissao comite companhia
    confederacao congresso conselho consorcio controladoria cooperativa coordenacao
    corpo corregedoria defensoria delegacia departamento diretoria empresa escola
    estaleiro exercito faculdade federacao forca forum frente fundacao fundo gabinete
    grupo guarda hospital igreja imprensa instituto juizado justica laboratorio liga
    maternidade ministerio museu nucleo observatorio organizacao orquestra ouvidoria
    parlamento partido policia prefeitura presidencia procuradoria promotoria receita
    rede secretaria senado servico sindicato sociedade superintendencia supremo tribunal
    uniao unidade universidade vara
    """
)
# one of the last words of an English body
_ENGLISH_BODIES: Final = _words(
    """
    academy administration agency airlines army assembly association authority bank
    board bureau cabinet center centre church club college commission committee company
    congress corporation corps council court department federation force forum
    foundation fund group hospital house inc institute institution league library ltd
    ministry museum network office organisation organization parliament parliamentary
    party police registry rights school senate service services society trust union
    university watch
    """
)
# the first word of a place
_PLACE_WORDS: Final = _words(
    """
    aeroporto avenida baia bairro cidade distrito estado estrada ilha jardim lagoa lake
    largo mount municipio parque ponte porto praca praia rodovia rua serra terminal vale
    viaduto vila
    """
)
# the last word of an English place
_ENGLISH_PLACE_ENDS: Final = _words(
    """
    airport avenue bay beach bridge county forest island islands lake mountain mountains
    park river road square street valley
    """
)
# places by their names alone; not those that name other things more often
_PLACES: Final = _names(
    """
    acre, africa, africa do sul, alagoas, alemanha, algeria, amapa, amazonas, amazonia,
    america do sul, america latina, angola, arabia saudita, aracaju, argelia, argentina,
    armenia, asia, assuncao, australia, austria, azerbaijao, bagda, baghdad, bahia,
    bangladesh, barcelona, beijing, belem, belgica, belgium, belo horizonte, berlim,
    berlin, boa vista, bogota, bolivia, boston, brasil, brasilia, brazil, brussels,
    bruxelas, buenos aires, bulgaria, cabo verde, cairo, california, camaroes, campinas,
    campo grande, canada, caracas, catar, cazaquistao, ceara, chicago, chile, china,
    colombia, coreia do norte, coreia do sul, costa do marfim, costa rica, croacia,
    croatia, cuba, cuiaba, curitiba, denmark, dinamarca, distrito federal, doha, dubai,
    ecuador, egito, egypt, el salvador, emirados arabes unidos, england, equador,
    escocia, eslovaquia, eslovenia, espanha, espirito santo, estados unidos, estonia,
    ethiopia, etiopia, europa, europe, faixa de gaza, filipinas, finland, finlandia,
    florianopolis, florida, fortaleza, franca, france, gana, gaza, georgia, germany,
    ghana, goiania, goias, grecia, greece, guarulhos, guatemala, guiana, guine-bissau,
    haiti, havana, holanda, honduras, hong kong, hungary, hungria, iceland, iemen,
    india, indonesia, inglaterra, iran, iraq, iraque, ireland, irlanda, islandia,
    israel, italia, italy, jamaica, japan, japao, jerusalem, joao pessoa, jordania,
    kenya, kiev, kosovo, kuwait, kyiv, la paz, latin america, lebanon, letonia, libano,
    libia, libya, lisboa, lisbon, lituania, london, londres, los angeles, macapa,
    maceio, madri, madrid, malasia, malaysia, manaus, maranhao, marrocos, mato grosso,
    mato grosso do sul, melbourne, mexico, miami, mianmar, minas gerais, mocambique,
    montevideu, morocco, moscou, moscow, mozambique, mumbai, myanmar, namibia, nepal,
    netherlands, new delhi, new york, new zealand, nicaragua, nigeria, niteroi, north
    korea, noruega, norway, nova delhi, nova york, nova zelandia, osasco, pakistan,
    palestina, palestine, palmas, panama, paquistao, paraguai, paraguay, paraiba,
    parana, paris, pequim, pernambuco, peru, philippines, piaui, poland, polonia, porto
    alegre, porto velho, portugal, qatar, quenia, quito, recife, reino unido, republica
    dominicana, republica tcheca, ribeirao preto, rio branco, rio de janeiro, rio grande
    do norte, rio grande do sul, roma, romania, rome, romenia, rondonia, roraima,
    russia, san francisco, santa catarina, santiago, sao bernardo do campo, sao luis,
    sao paulo, saudi arabia, scotland, seattle, senegal, serbia, sergipe, servia,
    shanghai, siria, somalia, sorocaba, south africa, south america, south korea, spain,
    sudan, sudao, suecia, suica, sweden, switzerland, sydney, syria, tailandia, taiwan,
    tanzania, teera, tehran, teresina, texas, thailand, timor-leste, tocantins, tokyo,
    toquio, toronto, tunisia, turquia, uberlandia, ucrania, uganda, ukraine, united
    kingdom, united states, uruguai, uruguay, venezuela, viena, vienna, vietna, vietnam,
    washington, xangai, yemen, zambia, zimbabue, zimbabwe
    """
)
# that join the words of one name
_CONNECTORS: Final = ("da", "das", "de", "del", "di", "do", "dos", "for", "of", "the")
# what a person does who is quoted
_SPEECH: Final = _words(
    """
    afirma afirmou avalia avaliou comenta comentou conta contou declara declarou defende
    defendeu destaca destacou disse diz explica explicou fala falou informou lembra
    lembrou ressalta ressaltou said says told
    """
)


_TEXT_CHARS: Final = 20_000  # that names are looked for in
_MAX_NAMES: Final = 20
_MAX_WORDS: Final = 8  # of a name
_MAX_PERSON_WORDS: Final = 6
_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’-]{0,40}"
_JOIN = "|".join(_CONNECTORS)
_BETWEEN = rf"(?:(?:{_JOIN})(?:\ the)?|and|e(?:\ d[aeo]s?)?)"
_RUN = re.compile(
    rf"\b{_WORD}(?:\ (?:{_BETWEEN}\ )?{_WORD}){{0,{_MAX_WORDS - 1}}}",
)
_ACRONYM = re.compile(r"\s?\(([A-Z][A-Za-z-]{1,9})\)")
_BEFORE = re.compile(r"\b(\w++)[.,]?\s?$")
_AFTER = re.compile(r",?\s(\w+)")
_AND: Final = ("e", "and")
_OF_NO_PERSON: Final = frozenset(("for", "of", "the", *_AND))


_POSSESSIVE = re.compile(r"['’]s?$")


class _Run(NamedTuple):
    """Words with a capital, one after the other, and the words beside them."""

    words: tuple[str, ...]
    before: str
    after: str
    acronym: str


@dataclass(slots=True)
class _Name:
    """A name of the text with its shorter forms; `count` counts all of them."""

    words: tuple[str, ...]
    kind: str
    count: int = 0
    forms: dict[str, None] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def names_of(title: str, text: str, language: str | None) -> list[dict[str, Any]]:
    """Return the names of a text, most frequent first, each with `name`, `forms`, `kind`
    (person, organisation or place) and `salience`, 0 to 1.
    """
    plain = prose(text[:_TEXT_CHARS])
    stop = stopwords(language)
    runs = [one for run in _runs(plain) for one in _trimmed(run, stop)]
    names = _full_names(runs)
    singles = Counter(run.words[0] for run in runs if len(run.words) == 1)
    _add_short_forms(names, singles)
    found = sorted(_merged(names), key=lambda name: -name.count)[:_MAX_NAMES]
    most = max((name.count for name in found), default=1)
    return [
        {
            "name": name.text,
            "forms": list(name.forms),
            "kind": name.kind,
            "salience": round(_salience(name, most, title), 2),
        }
        for name in found
    ]


def _salience(name: _Name, most: int, title: str) -> float:
    in_title = any(form in title for form in (name.text, *name.forms))
    return 0.6 * name.count / most + (0.4 if in_title else 0.0)


def _runs(text: str) -> Iterator[_Run]:
    for match in _RUN.finditer(text):
        start, end = match.span()
        before = _BEFORE.search(text, max(0, start - 30), start)
        after = _AFTER.match(text, end)
        acronym = _ACRONYM.match(text, end)
        yield _Run(
            words=tuple(_POSSESSIVE.sub("", match[0]).split(" ")),
            before=_folded(before[1]) if before else "",
            after=_folded(after[1]) if after else "",
            acronym=acronym[1] if acronym else "",
        )


def _trimmed(run: _Run, stop: frozenset[str]) -> Iterator[_Run]:
    """Yield the names of a run: without stop words and titles before them, and the parts
    before and after `and` where it is no body's.
    """
    words, before = _without_titles(run, stop)
    if not words or _is_in_capitals(words):
        return
    if rest := _body_of_person(words, before):
        person = tuple(words[: -len(rest) - 1])
        yield run._replace(words=person, before=before, after="", acronym="")
        yield run._replace(words=tuple(rest), before="")
        return
    ands = [n for n, word in enumerate(words) if word in _AND]
    if ands and not _is_body(words):
        first = ands[0]
        yield run._replace(
            words=tuple(words[:first]), before=before, after="", acronym=""
        )
        yield from _trimmed(
            run._replace(words=tuple(words[first + 1 :]), before=""), stop
        )
        return
    yield run._replace(words=tuple(words), before=before)


def _without_titles(run: _Run, stop: frozenset[str]) -> tuple[list[str], str]:
    """Return the words of a run from the first that may begin a name, and the word
    before it.
    """
    words = list(run.words)
    before = run.before
    titles = [n for n, word in enumerate(words[:-1]) if _folded(word) in _TITLES]
    if titles and not _is_body(words) and _folded(words[0]) not in _PLACE_WORDS:
        before = _folded(words[titles[-1]])
        words = words[titles[-1] + 1 :]
    while words and _is_no_name(words[0], stop) and not _is_saint(words):
        before = _folded(words.pop(0))
    return words, before


def _is_in_capitals(words: Sequence[str]) -> bool:
    """Return whether words are part of a heading in capitals."""
    return len(words) > 1 and all(word.isupper() for word in words[:2])


def _body_of_person(words: Sequence[str], before: str) -> Sequence[str]:
    """Return the body in the name of a person and a body: "Stanford University" of "Priya
    Raman of Stanford University"; empty for another name.
    """
    is_person = _folded(words[0]) in _GIVEN_NAMES or before in _TITLES
    if not is_person:
        return ()
    for n, word in enumerate(words):
        rest = words[n + 1 :]
        if n > 1 and word in _CONNECTORS and rest and _is_body(rest):
            return rest
    return ()


def _is_saint(words: Sequence[str]) -> bool:
    """Return whether words begin like "São Paulo", whose first word is a verb too."""
    return len(words) > 1 and words[0] == "São"


def _is_no_name(word: str, stop: frozenset[str]) -> bool:
    folded = _folded(word)
    if word.lower() in stop or folded in _TITLES:
        return folded not in _BODIES
    return folded in _CONNECTORS or folded in _AND


def _full_names(runs: Sequence[_Run]) -> dict[str, _Name]:
    """Return the names whose kind is known, by their folded text."""
    names: dict[str, _Name] = {}
    for run in runs:
        key = _folded(" ".join(run.words))
        kind = _kind(run, key)
        if key not in names and kind:
            names[key] = _Name(run.words, kind)
        if key in names:
            names[key].count += 1
            if run.acronym and names[key].kind == "organisation":
                names[key].forms[run.acronym] = None
    return names


def _kind(run: _Run, key: str) -> str:
    """Return what a run names; empty where that is not known."""
    words = [_folded(word) for word in run.words]
    if key in _PLACES:
        return "place"
    if len(words) == 1:
        return ""
    if _is_body(run.words):
        return "organisation"
    if words[0] in _PLACE_WORDS or words[-1] in _ENGLISH_PLACE_ENDS:
        return "place"
    if _is_person(run, words):
        return "person"
    return "organisation" if _is_acronym_of(run.acronym, run.words) else ""


def _is_person(run: _Run, words: Sequence[str]) -> bool:
    if len(words) > _MAX_PERSON_WORDS or not _OF_NO_PERSON.isdisjoint(words):
        return False
    if any(map(str.isdigit, "".join(words))):
        return False
    return words[0] in _GIVEN_NAMES or run.before in _TITLES or run.after in _SPEECH


def _is_body(words: Sequence[str]) -> bool:
    folded = [_folded(word) for word in words]
    return folded[0] in _BODIES or not _ENGLISH_BODIES.isdisjoint(folded[-3:])


def _is_acronym_of(acronym: str, words: Sequence[str]) -> bool:
    """Return whether an acronym has the first letters of a name in their order."""
    initials = "".join(word[0] for word in words if word[0].isupper())
    return len(acronym) > 1 and fold(acronym).upper() == fold(initials)


def _add_short_forms(names: dict[str, _Name], singles: Counter[str]) -> None:
    """Count single words that are the acronym of one name, or the last word of one
    person.
    """
    for word, count in singles.items():
        of_word = [name for name in names.values() if _may_be_called(name, word)]
        if len(of_word) == 1:
            of_word[0].forms[word] = None
            of_word[0].count += count


def _may_be_called(name: _Name, word: str) -> bool:
    if word in name.forms:
        return True
    return name.kind == "person" and word == name.words[-1]


def _merged(names: dict[str, _Name]) -> list[_Name]:
    """Return the names without persons whose words are a part of one longer name."""
    kept = list(names.values())
    for name in sorted(names.values(), key=lambda one: len(one.words)):
        longer = [one for one in kept if _is_part(name, one)]
        if len(longer) == 1:
            longer[0].count += name.count
            longer[0].forms |= {name.text: None, **name.forms}
            kept.remove(name)
    return kept


def _is_part(name: _Name, other: _Name) -> bool:
    if name.kind != "person" or other.kind != "person":
        return False
    return len(name.words) < len(other.words) and {*name.words} <= {*other.words}


def _folded(text: str) -> str:
    return fold(text).lower()


def name_ids(entities_json: str | None) -> tuple[str, ...]:
    """Return the id of each name of an enrichment, in their order."""
    if not entities_json:
        return ()
    found = json.loads(entities_json)
    return tuple(name_id(one["kind"], one["name"]) for one in found)
